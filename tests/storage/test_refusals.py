"""What cannot be saved, and files that cannot be loaded, are refused in one sentence."""

import os

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.stored import NUMBERS, Y, forge, parts_of, tamper

import bayesclf as bc
from bayesclf import storage
from bayesclf.errors import InputError


class TestRefusalsToSave:
    def test_arguments_of_other_types(self, path):
        clf = bc.GaussianNB(class_prior=pd.Series([0.2, 0.3, 0.5])).fit(NUMBERS, Y)
        with pytest.raises(
            InputError, match=r"'class_prior' holds an object of type Series, .* fit with text, numbers"
        ):
            clf.save(path)
        assert not path.exists()

    def test_labels_of_other_types(self, path):
        clf = bc.GaussianNB(inference="map").fit(NUMBERS, Y)
        clf.classes_ = np.array([*"ab", RuntimeError()], dtype=object)
        with pytest.raises(InputError, match=r"'classes_\.2' holds an object of type RuntimeError"):
            clf.save(path)

    def test_arrays_of_complex_numbers(self, path):
        clf = bc.GaussianNB(inference="map").fit(NUMBERS, Y)
        clf.class_prior = np.ones(3, dtype=complex)
        with pytest.raises(InputError, match="'class_prior' is an array of complex128"):
            clf.save(path)

    def test_attributes_of_strangers(self, path):
        clf = bc.GaussianNB(inference="map").fit(NUMBERS, Y)
        clf.remark = "mine"
        with pytest.raises(InputError, match="'remark' is not part of a GaussianNB; delete it"):
            clf.save(path)

    def test_other_classes(self, path):
        class Mine(bc.GaussianNB):
            pass

        with pytest.raises(InputError, match="Mine cannot be saved; the classifiers that can are NaiveBayes, "):
            storage.save(Mine().fit(NUMBERS, Y), path)

    def test_names_that_hdf5_cannot_hold(self, path):
        clf = bc.GaussianNB(inference="map").fit(NUMBERS.rename(columns={"u": "u\0v"}), Y)
        with pytest.raises(InputError, match="cannot be written"):
            clf.save(path)
        assert list(path.parent.iterdir()) == []

    def test_places_that_cannot_be_written(self, gnb, tmp_path):
        with pytest.raises(InputError, match="is a folder; give the name of a file in it"):
            gnb.save(tmp_path)
        with pytest.raises(InputError, match=r"there is no folder .*nowhere; create it first"):
            gnb.save(tmp_path / "nowhere" / "model.nc")
        with pytest.raises(InputError, match="has too long a name; choose a shorter one"):
            gnb.save(tmp_path / ("m" * 300))
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_without_the_right_to_write(self, gnb, tmp_path, monkeypatch):
        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "replace", refuse)
        with pytest.raises(InputError, match=r"model\.nc cannot be written \(Permission denied\)"):
            gnb.save(tmp_path / "model.nc")


class TestRefusalsToLoad:
    def test_paths_that_are_not_files(self, tmp_path):
        with pytest.raises(InputError, match=r"nothing\.nc does not exist; check the path"):
            bc.load(tmp_path / "nothing.nc")
        with pytest.raises(InputError, match="is a folder; give the path of a model in it"):
            bc.load(tmp_path)
        for table in ("iris", "sklearn:iris"):
            with pytest.raises(InputError, match=rf"no saved model {table}; .*bc\.datasets\.load"):
                bc.load(table)

    def test_a_file_that_cannot_be_read(self, saved, monkeypatch):
        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
        with pytest.raises(InputError, match=r"model\.nc may not be read; ask its owner"):
            bc.load(saved)

    @pytest.mark.parametrize(("content", "message"), [(b"", "is empty"), (b"a,b\n1,2\n", "is not a model")])
    def test_other_files(self, content, message, path):
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"model\.nc {message}; give a file that save wrote"):
            bc.load(path)

    def test_other_netcdf_files(self, path):
        xr.Dataset({"a": 1}).to_netcdf(path, engine="h5netcdf")
        with pytest.raises(
            InputError, match=r"is not a model file, .*no end of a model file.* give a file that save wrote"
        ):
            bc.load(path)

    def test_files_that_are_cut_off(self, saved):
        content = saved.read_bytes()
        for length in np.linspace(8, len(content) - 1, 25).astype(int):
            saved.write_bytes(content[:length])
            with pytest.raises(InputError, match=r"model\.nc is not a model file, or it is damaged.*copy it again"):
                bc.load(saved)

    @pytest.mark.parametrize("number", [99, 0, -1])
    def test_another_version_of_the_format(self, number, saved):
        forge(saved, lambda head: head.update(format_version=number, libraries={"bayesclf": "7.8.9"}))
        own = rf"reads format {storage.VERSION}; load"
        with pytest.raises(InputError, match=rf"by bayesclf 7\.8\.9 in format {number}, .* {own}"):
            bc.load(saved)

    def test_versions_are_written(self, saved):
        head = parts_of(saved)[-1]
        assert head["format_version"] == storage.VERSION
        assert set(head["libraries"]) == {"bayesclf", "pymc", "arviz", "numpy"}

    @pytest.mark.parametrize(
        "name", ["os.system", "subprocess.Popen", "bayesclf.cli.main", "Path", "GaussianNB", "Rows"]
    )
    def test_classes_outside_the_list(self, name, saved):
        def change(state):
            state["parameters"]["rule"] = {"class": {"name": name, "values": {"args": "true"}}}

        tamper(saved, change)
        with pytest.raises(InputError, match=f"the file names the class '{name}', which a model file cannot contain"):
            bc.load(saved)

    @pytest.mark.parametrize("name", ["os.system", "BayesClassifier", "Gaussian", ["GaussianNB"], None])
    def test_classifiers_outside_the_registry(self, name, saved):
        tamper(saved, lambda state: state.update(classifier=name))
        with pytest.raises(InputError, match=r"model\.nc was written by another version of bayesclf, or was altered"):
            bc.load(saved)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda s: s.update(code="import os"), "has an unknown 'code'"),
            (lambda s: s.pop("fitted"), "lacks 'fitted'"),
            (lambda s: s["parameters"].update(surprise=1), "has an unknown 'surprise'"),
            (lambda s: s["parameters"].pop("m"), "the GaussianNB in it lacks 'm'"),
            (lambda s: s["fitted"].update(predict=1), "has an unknown 'predict'"),
            (lambda s: s["fitted"].update(posterior_=1), "has an unknown 'posterior_'"),
            (lambda s: s["fitted"].update(__class__="os.system"), "has an unknown '__class__'"),
            (lambda s: s["fitted"].pop("seed_"), "lacks 'seed_'"),
            (lambda s: s["fitted"].pop("_kept"), "the fitted state in it lacks '_kept'"),
            (lambda s: s["fitted"]["inference_"]["class"]["values"].update(hook=1), "the Exact .*an unknown 'hook'"),
            (lambda s: s["fitted"]["inference_"]["class"]["values"].pop("draws"), "lacks 'draws'"),
            (
                lambda s: s["fitted"]["inference_"]["class"]["values"].update(draws=0),
                "must be a whole number of at least 1",
            ),
            (lambda s: s["fitted"]["inference_"]["class"]["values"].update(draws="many"), ""),
            (lambda s: s["fitted"]["inference_"]["class"].update(module="os"), ""),
            (lambda s: s["fitted"]["classes_"]["items"].update(dtype="V8"), "an array of 'V8', which no model has"),
            (lambda s: s["fitted"].update(model_=5), ""),
            (lambda s: s["fitted"].update(notes_={"tuple": ["a"]}), "its GaussianNB has an impossible 'notes_'"),
            (lambda s: s["fitted"].update(seed_="1"), "its GaussianNB has an impossible 'seed_'"),
            (lambda s: s["fitted"]["inference_"]["class"]["values"].update(draws=2.5), "draws"),
            (lambda s: s["fitted"].update(draws_={"tuple": []}), ""),
            (lambda s: s["fitted"]["draws_"]["class"]["values"].update(chains=3), "10 draws in 3 chains"),
            (lambda s: s["fitted"].update(notes_={"pickle": "gASV"}), "an entry of no known kind"),
            (lambda s: s["fitted"].update(notes_={}), "an entry of no known kind"),
            (lambda s: s["fitted"].update(notes_={"group": "nothing"}), ""),
            (lambda s: s["fitted"].update(notes_={"dict": [[[], 1]]}), ""),
            (lambda s: s["fitted"].update(notes_={"scalar": ["O", 1]}), "an array of 'O'"),
            (lambda s: s["fitted"].update(notes_={"items": {"dtype": "V8", "shape": [], "items": []}}), "of 'V8'"),
        ],
    )
    def test_altered_states(self, change, message, saved):
        tamper(saved, change)
        with pytest.raises(
            InputError,
            match=rf"model\.nc was written by another version of bayesclf, or was altered.*{message}.*fit the",
        ):
            bc.load(saved)

    @pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", "3", '"state"', "\N{SNOWMAN}"])
    def test_json_of_nothing_that_was_written(self, text, saved):
        forge(saved, lambda head: text)
        with pytest.raises(InputError, match=r"model\.nc is not a model file, or it is damaged"):
            bc.load(saved)

    @pytest.mark.parametrize("name", ["state", "libraries", "format_version", "arrays"])
    def test_missing_entries(self, name, saved):
        forge(saved, lambda head: head.pop(name) and None)
        with pytest.raises(
            InputError,
            match=r"model\.nc was written by another version of bayesclf, or was altered.*; fit the model again",
        ):
            bc.load(saved)
