"""Tables from openml.org: what `sklearn.datasets.fetch_openml` returns, under the names of this package."""

from urllib.error import URLError

import pandas as pd
import pytest
from sklearn.utils import Bunch

from bayesclf.errors import InputError
from bayesclf.tables import datasets


def theirs(name, data_folder):
    """Return a table as openml.org has it: other names and labels, and digits that are categories."""
    own = pd.read_csv(data_folder / f"{name}.csv")
    frame = own.drop(columns="class").rename(columns=str.upper)
    if name == "pima":
        return own, frame.assign(**{"class": pd.Categorical("tested_" + own["class"])})
    price = own["class"].map({"low": 20.0, "high": 30.0})
    return own, frame.assign(CHAS=pd.Categorical(frame["CHAS"].astype(str)), MEDV=price.where(price > 20, 21.0))


@pytest.fixture
def fetched(monkeypatch):
    """Return a function that lets a table be what openml.org has."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)

    def give(frame):
        """Let openml.org have it."""
        monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: Bunch(frame=frame))

    return give


@pytest.mark.parametrize("name", datasets.KNOWN["openml"])
def test_a_named_table_is_fetched_and_renamed(name, data_folder, fetched):
    own, frame = theirs(name, data_folder)
    fetched(frame)
    data = datasets.load(name)
    pd.testing.assert_frame_equal(data.frame, own, check_dtype=False)
    assert (data.target, data.license) == ("class", "unclear")
    assert data.source == datasets.KNOWN["openml"][name].source


def test_without_a_network_the_sentence_says_what_else_there_is(monkeypatch):
    def down(**_):
        raise URLError("Name or service not known")

    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", down)
    with pytest.raises(
        InputError, match=r"boston does not ship .* cannot be fetched .* boston.csv, in a folder that BAY"
    ):
        datasets.load("boston")


def test_a_file_of_the_folder_goes_before_the_network(tmp_path, monkeypatch):
    (tmp_path / "pima.csv").write_text("age,class\n1,u\n2,v\n")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    assert datasets.load("pima").frame.shape == (2, 2)
    assert [info.place for info in datasets.available() if "pima" in info.name] == ["folder"]
