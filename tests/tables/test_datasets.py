import json
from pathlib import Path

import pytest

from bayesclf.errors import InputError
from bayesclf.tables import datasets
from bayesclf.tables.datasets import available, load


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Point BAYESCLF_DATA at a folder of small tables."""
    root = tmp_path / "tables"
    (root / "news").mkdir(parents=True)
    (root / "birds.csv").write_text("size,class,place\n1,owl,barn\n2,tit,hedge\n")
    (root / "breast_cancer.csv").write_text("grade,outcome\n1,well\n3,ill\n")
    (root / "two.csv").write_text("a,class\n1,u\n")
    (root / "two.tsv").write_text("a\tclass\n1\tv\n")
    (root / "bad.csv").write_text("a,a\n1,2\n")
    (root / "README.md").write_text("no table\n")
    sentence = "a message of quite a few words"
    (root / "news" / "train.jsonl").write_text(
        "".join(json.dumps({"group": "g", "text": f"{sentence} {row}"}) + "\n" for row in range(4))
    )
    monkeypatch.setenv("BAYESCLF_DATA", str(root))
    return root


def refused(name: str | Path, **kwargs: object) -> str:
    with pytest.raises(InputError) as caught:
        load(name, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text


class TestOwn:
    def test_play_tennis(self):
        tennis = load("play_tennis")
        assert (tennis.name, tennis.target) == ("play_tennis", "play")
        assert tennis.X.columns.tolist() == ["outlook", "temperature", "humidity", "wind"]
        assert tennis.y.value_counts().to_dict() == {"yes": 9, "no": 5}
        assert "Mitchell" in tennis.source

    def test_an_installed_package_has_its_tables_inside(self, tmp_path, monkeypatch):
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "play_tennis.csv").write_text("wind,play\nweak,yes\n")
        monkeypatch.setattr(datasets.resources, "files", lambda package: tmp_path)
        assert load("play_tennis").frame.shape == (1, 2)


class TestShipped:
    @pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
    def test_size_and_words(self, name):
        info = next(info for info in available() if info.name == name)
        data = load(f"sklearn:{name}")
        assert data.frame.shape == (info.rows, info.columns)
        assert data.target == "target"
        assert all(isinstance(label, str) for label in data.y)

    def test_another_target_and_kinds(self):
        wine = load("wine", target="magnesium", kinds={"magnesium": "category"})
        assert wine.y.name == "magnesium"
        assert "127" in wine.y.cat.categories
        assert "target" in wine.X


class TestPaths:
    def test_a_file_needs_a_target(self, folder):
        text = refused(folder / "birds.csv")
        assert "target='COL'" in text
        assert "size, class, place" in text

    def test_a_file_with_target_and_kinds(self, folder):
        birds = load(str(folder / "birds.csv"), target="place", kinds={"size": "category"})
        assert birds.X["size"].tolist() == ["1", "2"]
        assert birds.source == str(folder / "birds.csv")

    def test_a_file_goes_before_a_set(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "iris").mkdir()
        assert load("iris").frame.shape == (150, 5)
        (tmp_path / "iris").rmdir()
        (tmp_path / "iris").write_text("a,b\n1,2\n")
        assert "ending" in refused("iris")

    def test_a_path_object_is_never_a_name(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "does not exist" in refused(Path("iris"))

    def test_a_missing_file_and_a_folder(self, tmp_path):
        assert "does not exist" in refused(str(tmp_path / "none.csv"))
        assert "is a folder" in refused(str(tmp_path))

    def test_an_unknown_target_lists_the_columns(self, folder):
        text = refused("birds", target="plaze")
        assert "no column 'plaze'" in text
        assert "did you mean 'place'" in text
        assert "size, class, place" in text

    def test_missing_labels_are_located(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a,y\n1,u\n2,\n3,v\n4,\n")
        text = refused(path, target="y", unlabeled="error")
        assert "label column 'y' has no value in rows 2, 4" in text
        assert "unlabeled='drop'" in text
        found = datasets.load(path, target="y")
        assert found.y.tolist() == ["u", "v"]
        assert found.notes == ("2 rows of 4 without a label left out (rows 2, 4)",)
        assert len(datasets.load(path, target="y", unlabeled="use").y) == 4
        path.write_text("a,y\n1,0\n2,\n3,1\n4,\n")
        assert [str(label) for label in datasets.load(path, target="y", unlabeled="use").y.dropna()] == ["0", "1"]

    def test_a_label_needs_features(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("y\nu\nv\n")
        assert "no column besides the label 'y'" in refused(path, target="y")


class TestFolder:
    def test_the_label_column(self, folder):
        assert load("birds").target == "class"
        assert load("folder:breast_cancer").target == "outcome"
        assert "target='COL'" in refused("news/train")
        assert load("news/train", target="group").X.columns.tolist() == ["text"]

    def test_two_places_with_one_name(self, folder):
        assert load("breast_cancer").frame.shape == (569, 31)
        own = load("folder:breast_cancer")
        assert own.y.tolist() == ["well", "ill"]

    def test_two_files_of_one_stem_keep_their_endings(self, folder):
        assert "did you mean" in refused("two")
        assert load("two.csv").y.tolist() == ["u"]
        assert load("folder:two.tsv").y.tolist() == ["v"]

    def test_listing(self, folder):
        infos = {info.name: info for info in available() if info.place == "folder"}
        assert set(infos) == {"bad", "birds", "folder:breast_cancer", "news/train", "two.csv", "two.tsv"}
        assert (infos["birds"].rows, infos["birds"].description) == (None, "the file birds.csv")
        assert all(load(name, "group" if name == "news/train" else None) for name in set(infos) - {"bad"})

    def test_a_name_cannot_leave_the_folder(self, folder):
        (folder.parent / "secret.csv").write_text("a,class\n1,u\n")
        assert "no data set called" in refused("folder:../secret")

    @pytest.mark.parametrize("value", [None, ""])
    def test_without_the_variable(self, monkeypatch, value):
        if value is None:
            monkeypatch.delenv("BAYESCLF_DATA", raising=False)
        else:
            monkeypatch.setenv("BAYESCLF_DATA", value)
        assert "set BAYESCLF_DATA" in refused("folder:adult")
        assert "no data set is called 'birds'" in refused("birds")
        assert {info.place for info in available()} == {"own", "sklearn", "openml"}

    def test_a_variable_that_does_not_name_a_folder(self, monkeypatch, tmp_path):
        monkeypatch.setenv("BAYESCLF_DATA", str(tmp_path / "none"))
        for name in ("birds", "folder:birds"):
            assert "none', which is not a folder" in refused(name)
        with pytest.raises(InputError, match="not a folder"):
            available()
        assert load("play_tennis").frame.shape == (14, 5)


class TestUnknown:
    @pytest.mark.parametrize(("name", "close"), [("irsi", "iris"), ("playtennis", "play_tennis"), ("bird", "birds")])
    def test_close_names_come_first(self, folder, name, close):
        text = refused(name)
        assert f"{name!r} (did you mean {close!r}?)" in text
        assert "play_tennis, adult, optdigits" in text
        assert "openml:NAME" in text

    @pytest.mark.parametrize("name", ["zzz", "other:iris", "sklearn", "x" * 5000, "a\0b"])
    def test_names_without_a_close_one(self, name):
        text = refused(name)
        assert "did you mean" not in text
        assert "known names are" in text
