"""Saved and loaded again, a classifier answers as before to the last bit; bad files are refused in one sentence."""

import copy
import json
import math
import os
import stat
import subprocess
import sys
import warnings
from dataclasses import fields, is_dataclass
from pathlib import Path

import arviz as az
import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bayesclf as bc
from bayesclf import storage
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, PredictionWarning, Refused
from bayesclf.families import Categorical, Gaussian
from bayesclf.rules import RULES
from bayesclf.storage.encoding import Decoder, Encoder
from bayesclf.storage.formats import classes
from bayesclf.storage.netcdf import compression

RNG = np.random.default_rng(3)
N = 30
Y = np.array(["no", "perhaps", "yes"])[np.arange(N) % 3]
NUMBERS = pd.DataFrame({"u": RNG.normal(size=N) + (Y == "yes"), "v": RNG.gamma(2, size=N), "w": RNG.normal(size=N)})
WORDS = pd.DataFrame({"wind": RNG.choice(["strong", "weak"], N), "sky": RNG.choice(["rain", "sun", "überzogen"], N)})
MIXED = pd.concat([NUMBERS[["u", "v"]], WORDS], axis=1).mask(RNG.random((N, 4)) < 0.1)

COUNTS = pd.DataFrame({"calls": RNG.poisson(2, N), "visits": RNG.poisson(1 + np.arange(N) % 3)}).astype(float)
TEXTS = pd.DataFrame({"message": [" ".join(row) for row in WORDS.to_numpy()]})
OF_COUNTS = {"BernoulliNB": COUNTS, "MultinomialNB": COUNTS, "TextNB": TEXTS}

TABLES = OF_COUNTS | {
    "NaiveBayes": MIXED,
    "CategoricalNB": WORDS,
    "GaussianNB": NUMBERS,
    "GaussianDiscriminantAnalysis": NUMBERS,
    "BayesNetClassifier": WORDS,
    "JointBayes": WORDS,
    "LogisticRegression": MIXED,
}
"""A training table for each classifier of the registry; one without an entry fails."""

VARIANTS = {
    **{
        cls.__name__: cls(random_state=1, inference="laplace" if cls is bc.LogisticRegression else "auto")
        for cls in CLASSIFIERS.values()
    },
    "map": bc.GaussianNB(inference="map"),
    "mle": bc.CategoricalNB(inference=bc.MLE(), class_prior="uniform"),
    "default rule": bc.GaussianNB(rule=bc.Gibbs(draw="label", given="data and x"), random_state=4),
    "hyperparameters": bc.GaussianNB(
        "feature",
        m=np.array([0.0, 1.0, 2.0]),
        kappa=[[0.5], [1], [2]],
        a=np.float64(2),
        b=0.5,
        class_prior="empirical",
        random_state=6,
    ),
    "one variance": bc.GaussianNB("shared", inference=bc.Exact(draws=7, chains=np.int64(2)), random_state=np.int64(5)),
    "softmax": bc.CategoricalNB(
        0.5, basis="softmax", unseen="error", random_state=7, class_prior={"no": 0.5, "perhaps": 0.2, "yes": 0.3}
    ),
    "blocks": bc.NaiveBayes(
        {("u", "v"): Gaussian("feature"), "sky": Categorical(3)}, missing="level", class_concentration=2, random_state=2
    ),
    "weights": bc.LogisticRegression(
        prior_scale={"u": 1.0}, intercept_scale=math.inf, prior_form="reference", inference="map"
    ),
}

GENERATIVE = [name for name, clf in VARIANTS.items() if hasattr(clf, "partial_fit")]


def table(clf):
    return TABLES[type(clf).__name__]


@pytest.fixture(scope="module", params=VARIANTS)
def fitted(request):
    clf = VARIANTS[request.param]
    return clf.fit(table(clf), Y)


@pytest.fixture(scope="module")
def gnb():
    return bc.GaussianNB(inference=bc.Exact(draws=5, chains=2), random_state=1).fit(NUMBERS, Y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.nc"


def reloaded(clf, path):
    clf.save(path)
    return bc.load(path)


def answers(clf, X):
    """Return everything a classifier says of rows, by question; a refusal is an answer too."""
    questions = {
        **{rule: lambda rule=rule: clf.predict_log_proba(X, rule=rule) for rule in RULES},
        "gibbs given x": lambda: clf.predict(X, rule=bc.Gibbs(draw="label", given="data and x")),
        "labels": lambda: clf.predict(X),
        "base rates": lambda: clf.predict_proba(X, class_prior=np.arange(1, 4) / 6),
        "interval": lambda: clf.predict_interval(X),
        "epistemic": lambda: clf.uncertainty(X).epistemic,
        "likelihood": lambda: clf.log_likelihood(X[: len(Y)], Y[: len(X)]).conditional,
        "rows": lambda: clf.sample(5)[0].to_numpy(),
    }
    if not hasattr(clf, "sample"):
        del questions["rows"]
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionWarning)
        for name, question in questions.items():
            try:
                found[name] = question()
            except (DoesNotExist, Refused) as reason:
                found[name] = np.array(str(reason))
    return found


def assert_equal(mine, theirs):
    """Compare values of any depth, types and dtypes included; NaN equals NaN."""
    assert type(mine) is type(theirs)
    if isinstance(mine, np.ndarray):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        assert_equal(mine.ravel().tolist(), theirs.ravel().tolist())
    elif isinstance(mine, list | tuple):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert_equal(one, other)
    elif isinstance(mine, dict):
        assert_equal(list(mine.items()), list(theirs.items()))
    elif is_dataclass(mine):
        for field in fields(mine):
            assert_equal(getattr(mine, field.name), getattr(theirs, field.name))
    elif isinstance(mine, xr.Dataset):
        xr.testing.assert_identical(mine, theirs)
    elif isinstance(mine, DoesNotExist):
        assert str(mine) == str(theirs)
    else:
        assert mine == theirs or (mine != mine and theirs != theirs)


class TestRoundTrip:
    def test_every_answer_is_the_same(self, fitted, path):
        X = table(fitted).copy()
        X.iloc[0, 0] = 0.0 if type(fitted) is bc.MultinomialNB else np.nan
        assert_equal(answers(reloaded(fitted, path), X), answers(fitted, X))

    def test_state_is_the_same(self, fitted, path):
        loaded = reloaded(fitted, path)
        assert_equal(loaded.get_params(deep=False), fitted.get_params(deep=False))
        hidden = ("posterior_", "pymc_model_")
        mine, theirs = ({k: v for k, v in vars(clf).items() if k not in hidden} for clf in (fitted, loaded))
        assert_equal({name: theirs[name] for name in mine}, mine)
        assert len(theirs) == len(mine)

    def test_arviz_finds_the_groups_of_the_posterior(self, fitted, path):
        fitted.save(path)
        tree = az.from_netcdf(path)
        assert set(tree.children) == {*fitted.posterior_.children, storage.GROUP}
        for name, group in fitted.posterior_.children.items():
            xr.testing.assert_identical(tree[name].to_dataset(), group.to_dataset())
        tree.close()

    def test_a_loaded_classifier_can_be_saved_again(self, fitted, path, tmp_path):
        loaded = reloaded(fitted, path)
        again = reloaded(loaded, tmp_path / "again.nc")
        assert_equal(answers(again, table(fitted)), answers(fitted, table(fitted)))

    @pytest.mark.parametrize("fitted", GENERATIVE, indirect=True)
    def test_learning_goes_on(self, fitted, path):
        X, loaded = table(fitted), reloaded(fitted, path)
        mine, theirs = (clf.as_prior().fit(X, Y) for clf in (fitted, loaded))
        assert_equal(theirs.predict_proba(X), mine.predict_proba(X))
        again = reloaded(theirs, path)
        assert_equal(again.prior, mine.prior)
        assert_equal(again.predict_proba(X), mine.predict_proba(X))
        mine = copy.deepcopy(fitted).partial_fit(X, Y)
        assert_equal(loaded.partial_fit(X, Y).predict_proba(X), mine.predict_proba(X))

    def test_nuts(self, path):
        clf = bc.LogisticRegression(inference=bc.NUTS(draws=20, tune=30, chains=2), random_state=1)
        with pytest.warns(ConvergenceWarning):
            clf.fit(NUMBERS, Y)
        loaded = reloaded(clf, path)
        assert loaded.convergence_problems_ == clf.convergence_problems_ != ()
        xr.testing.assert_identical(loaded.draws_.stats, clf.draws_.stats)
        assert_equal(answers(loaded, NUMBERS), answers(clf, NUMBERS))

    def test_pymc_model(self, gnb, path):
        loaded = reloaded(gnb, path)
        point = gnb.pymc_model_.initial_point()
        logp = [clf.pymc_model_.compile_logp(mode="FAST_COMPILE")(point) for clf in (gnb, loaded)]
        assert logp[0] == logp[1]

    def test_a_point_that_does_not_exist_keeps_its_reason(self, path):
        clf = bc.CategoricalNB(1.0).fit([["a"], ["b"], [None]], [0, 1, 2])
        loaded = reloaded(clf, path)
        with pytest.raises(DoesNotExist, match="class '2' has no value in column 'x0'"):
            loaded.predict([["a"]], rule="mle")
        assert loaded.posterior_["mle"].attrs == clf.posterior_["mle"].attrs != {}

    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["a", "日本語"]),
            np.array(["a", "b"], dtype=object),
            np.array([False, True]),
            np.array([-1, 2**40]),
            np.array([3, 7], dtype=np.int8),
            np.array([0.0, 1.0]),
        ],
        ids=lambda labels: str(labels.dtype),
    )
    def test_labels_keep_their_type(self, labels, path):
        clf = bc.GaussianNB(random_state=1).fit(NUMBERS, labels[np.arange(N) % 2])
        loaded = reloaded(clf, path)
        assert_equal(loaded.classes_, clf.classes_)
        assert_equal(loaded.predict(NUMBERS), clf.predict(NUMBERS))

    def test_levels_of_any_plain_type(self, path):
        X = pd.DataFrame({"a/b": pd.Series([1, "1", 2.5, None] * 3, dtype=object), "c d": [True, False] * 6})
        clf = bc.CategoricalNB(random_state=1, missing="level").fit(X, [0, 1, 1] * 4)
        loaded = reloaded(clf, path)
        assert_equal(loaded._learnt.columns, clf._learnt.columns)
        assert_equal(loaded.predict_proba(X), clf.predict_proba(X))

    @pytest.mark.parametrize(
        "random_state", [np.random.default_rng(1), np.random.RandomState(1), np.random.SeedSequence(1)], ids=type
    )
    def test_a_generator_is_stored_as_the_seed_it_gave(self, random_state, path):
        clf = bc.GaussianNB(random_state=random_state).fit(NUMBERS, Y)
        loaded = reloaded(clf, path)
        assert loaded.random_state == loaded.seed_ == clf.seed_
        assert_equal(answers(loaded.fit(NUMBERS, Y), NUMBERS), answers(clf, NUMBERS))

    def test_large_arrays_are_compressed(self, path):
        X = pd.DataFrame({"digit": (np.arange(3000) % 7).astype(str), "number": np.arange(3000.0)})
        clf = bc.LogisticRegression(inference="map").fit(X, np.arange(3000) % 2)
        clf.save(path)
        assert path.stat().st_size < clf.model_.X.nbytes


numbers = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
dtypes = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes()
    | hnp.unsigned_integer_dtypes()
    | hnp.floating_dtypes(sizes=(16, 32, 64))
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=3))
texts = hnp.arrays(hnp.unicode_string_dtypes(max_len=3), hnp.array_shapes(max_dims=2, max_side=3))
objects = st.lists(numbers).map(lambda items: np.array([*items, None], dtype=object))
scalars = arrays.filter(lambda array: array.size > 0).map(lambda array: array.ravel()[0])
keys = st.recursive(numbers, lambda inner: st.lists(inner, max_size=2).map(tuple), max_leaves=3)
values = st.recursive(
    numbers | arrays | arrays.map(np.transpose) | texts | objects | scalars | texts.map(lambda array: array.ravel()[0]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


class TestEncoding:
    @given(values)
    @settings(deadline=None)
    def test_what_is_encoded_is_decoded(self, value):
        encoder = Encoder({})
        encoded = json.loads(json.dumps(encoder.encode(value, "value"), allow_nan=False))
        groups = {storage.GROUP: xr.Dataset(encoder.variables)}
        assert_equal(Decoder(groups).decode(encoded), value)

    @given(st.lists(arrays, max_size=4))
    @settings(deadline=None, max_examples=25)
    def test_arrays_go_through_the_file(self, given):
        encoder = Encoder({})
        tree = xr.DataTree.from_dict({f"/{storage.GROUP}": xr.Dataset(encoder.variables)})
        encoded = encoder.encode(given, "value")
        tree = xr.DataTree.from_dict({f"/{storage.GROUP}": xr.Dataset(encoder.variables)})
        content = bytes(tree.to_netcdf(engine="h5netcdf", encoding=compression(tree)))
        with xr.open_datatree(content, engine="h5netcdf") as read:
            groups = {storage.GROUP: read[storage.GROUP].to_dataset().load()}
        assert_equal(Decoder(groups).decode(encoded), given)

    @pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    def test_the_layout_in_memory_is_kept(self, axes):
        array = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
        encoder = Encoder({})
        encoded = encoder.encode(array, "value")
        groups = {storage.GROUP: xr.Dataset(encoder.variables)}
        assert Decoder(groups).decode(encoded).strides == array.strides

    def test_one_array_is_written_once(self):
        array = np.ones(3)
        encoder = Encoder({})
        encoder.encode([array, {"a": array}], "value")
        assert len(encoder.variables) == 1

    def test_every_listed_class_is_frozen_and_its_name_its_own(self):
        for name, cls in classes().items():
            assert cls.__name__ == name
            assert cls.__dataclass_params__.frozen


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

    def test_levels_that_are_intervals(self, path):
        clf = bc.CategoricalNB().fit(pd.DataFrame({"age": pd.cut(np.arange(N), 3)}), Y)
        with pytest.raises(InputError, match=r"columns\.age\.levels\.0' holds an object of type Interval"):
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
        with pytest.raises(InputError, match="is a folder; name a file in it"):
            gnb.save(tmp_path)
        with pytest.raises(InputError, match=r"there is no folder .*nowhere to save in"):
            gnb.save(tmp_path / "nowhere" / "model.nc")
        with pytest.raises(InputError, match=r"cannot be written \(File name too long\)"):
            gnb.save(tmp_path / ("m" * 300))
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_without_the_right_to_write(self, gnb, tmp_path, monkeypatch):
        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "replace", refuse)
        with pytest.raises(InputError, match=r"model\.nc cannot be written \(Permission denied\)"):
            gnb.save(tmp_path / "model.nc")


class TestWriting:
    @pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=type)
    def test_an_existing_file_survives_a_failure(self, error, gnb, path, monkeypatch):
        def fail(self, filepath, **settings):
            filepath.write_bytes(b"half")
            raise error

        path.write_text("precious")
        monkeypatch.setattr(xr.DataTree, "to_netcdf", fail)
        with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else InputError):
            gnb.save(path)
        assert path.read_text() == "precious"
        assert list(path.parent.iterdir()) == [path]

    def test_a_file_is_replaced_and_a_link_followed(self, gnb, path, tmp_path):
        path.write_text("old")
        link = tmp_path / "link.nc"
        link.symlink_to(path)
        gnb.save(link)
        assert link.is_symlink()
        assert_equal(bc.load(str(path)).classes_, gnb.classes_)
        assert {entry.name for entry in tmp_path.iterdir()} == {"model.nc", "link.nc"}

    def test_rights_are_those_of_any_new_file(self, gnb, path):
        path.with_name("other").touch()
        gnb.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(path.with_name("other").stat().st_mode)


@pytest.fixture(scope="module")
def content(gnb, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.nc"
    gnb.save(path)
    return path.read_bytes()


@pytest.fixture
def saved(content, path):
    path.write_bytes(content)
    return path


def tamper(path, change):
    """Rewrite the JSON of a file; `change` edits it, or returns another text."""
    with h5py.File(path, "r+") as file:
        group = file[storage.GROUP]
        state = json.loads(group.attrs["state"])
        text = change(state)
        group.attrs["state"] = text if isinstance(text, str) else json.dumps(state)


def test_a_file_with_the_former_names_of_fitted_state_loads(saved):
    before = bc.load(saved)
    tamper(saved, lambda s: s["fitted"].update(_draws=s["fitted"].pop("draws_"), _points=s["fitted"].pop("points_")))
    with h5py.File(saved, "r+") as file:
        file[storage.GROUP].attrs["format_version"] = 1
    after = bc.load(saved)
    assert vars(after).keys() == vars(before).keys()
    xr.testing.assert_identical(after.posterior_draws(), before.posterior_draws())


class TestRefusalsToLoad:
    def test_what_is_no_file(self, tmp_path):
        with pytest.raises(InputError, match=r"there is no file .*nothing\.nc; check the path"):
            bc.load(tmp_path / "nothing.nc")
        with pytest.raises(InputError, match="is a folder; give the file that save wrote"):
            bc.load(tmp_path)

    def test_a_file_that_cannot_be_read(self, saved, monkeypatch):
        def refuse(path, mode):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(InputError, match=r"model\.nc cannot be read \(Permission denied\); check"):
            bc.load(saved)

    @pytest.mark.parametrize(("content", "message"), [(b"", "is empty"), (b"a,b\n1,2\n", "is not a model")])
    def test_other_files(self, content, message, path):
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"model\.nc {message}; give a file that save wrote"):
            bc.load(path)

    def test_other_netcdf_files(self, path):
        xr.Dataset({"a": 1}).to_netcdf(path, engine="h5netcdf")
        with pytest.raises(InputError, match="is not a model; give a file that save wrote"):
            bc.load(path)

    def test_files_that_are_cut_off(self, saved):
        content = saved.read_bytes()
        for length in np.linspace(8, len(content) - 1, 25).astype(int):
            saved.write_bytes(content[:length])
            with pytest.raises(InputError, match=r"model\.nc is cut off or damaged; copy it again"):
                bc.load(saved)

    def test_a_newer_format(self, saved):
        with h5py.File(saved, "r+") as file:
            file[storage.GROUP].attrs["format_version"] = 99
            file[storage.GROUP].attrs["libraries"] = json.dumps({"bayesclf": "7.8.9"})
        with pytest.raises(InputError, match=r"written by bayesclf 7\.8\.9 in format 99, .* upgrade bayesclf"):
            bc.load(saved)

    def test_versions_are_written(self, saved):
        with h5py.File(saved) as file:
            attributes = dict(file[storage.GROUP].attrs)
        assert attributes["format"] == storage.FORMAT
        assert attributes["format_version"] == storage.VERSION
        assert set(json.loads(attributes["libraries"])) == {"bayesclf", "pymc", "arviz", "numpy"}

    @pytest.mark.parametrize(
        "name", ["os.system", "subprocess.Popen", "bayesclf.cli.main", "Path", "GaussianNB", "Rows"]
    )
    def test_classes_outside_the_list(self, name, saved):
        def change(state):
            state["parameters"]["rule"] = {"class": {"name": name, "values": {"args": "true"}}}

        tamper(saved, change)
        with pytest.raises(InputError, match=f"it names the class '{name}', which a model file cannot contain"):
            bc.load(saved)

    @pytest.mark.parametrize("name", ["os.system", "BayesClassifier", "Gaussian", ["GaussianNB"], None])
    def test_classifiers_outside_the_registry(self, name, saved):
        tamper(saved, lambda state: state.update(classifier=name))
        with pytest.raises(InputError, match=r"model\.nc is damaged or was altered"):
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
            (lambda s: s["fitted"].pop("_kept"), "the group 'bayesclf' in it has an unknown '_kept.0'"),
            (lambda s: s["fitted"]["inference_"]["class"]["values"].update(hook=1), "the Exact .*an unknown 'hook'"),
            (lambda s: s["fitted"]["inference_"]["class"]["values"].pop("draws"), "lacks 'draws'"),
            (lambda s: s["fitted"]["inference_"]["class"]["values"].update(draws=0), "must be at least 1"),
            (lambda s: s["fitted"]["inference_"]["class"]["values"].update(draws="many"), ""),
            (lambda s: s["fitted"]["inference_"]["class"].update(module="os"), ""),
            (lambda s: s["fitted"]["classes_"]["items"].update(dtype="V8"), "an array of 'V8', which no model has"),
            (lambda s: s["fitted"].update(model_=5), ""),
            (lambda s: s["fitted"].update(draws_={"tuple": []}), ""),
            (lambda s: s["fitted"].update(notes_={"pickle": "gASV"}), "an entry of no known kind"),
            (lambda s: s["fitted"].update(notes_={}), "an entry of no known kind"),
            (lambda s: s["fitted"].update(notes_={"group": "nothing"}), ""),
            (lambda s: s["fitted"].update(notes_={"dict": [[[], 1]]}), ""),
            (lambda s: s["fitted"].update(notes_={"scalar": ["O", 1]}), "an array of 'O'"),
            (lambda s: s["fitted"].update(notes_={"items": {"dtype": "V8", "shape": [], "items": []}}), "of 'V8'"),
            (lambda s: "[" * 100_000, ""),
            (lambda s: "{", "Expecting property name"),
            (lambda s: "[]", ""),
        ],
    )
    def test_altered_states(self, change, message, saved):
        tamper(saved, change)
        with pytest.raises(InputError, match=rf"model\.nc is damaged or was altered.*{message}.*save the model again"):
            bc.load(saved)

    @pytest.mark.parametrize("name", ["state", "libraries", "format_version"])
    def test_missing_attributes(self, name, saved):
        with h5py.File(saved, "r+") as file:
            del file[storage.GROUP].attrs[name]
        with pytest.raises(InputError, match=r"model\.nc is damaged or was altered, .*; save the model again"):
            bc.load(saved)


def test_importing_it_loads_nothing_heavy():
    heavy = ["xarray", "h5netcdf", "h5py", "sklearn", "pymc", "arviz", "pandas"]
    code = f"import sys, bayesclf.storage; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.strip() == "[]"
