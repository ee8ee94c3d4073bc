"""Files of an earlier format are read after a rename, an addition or a removal, given one line in a table."""

import json

import h5py
import numpy as np
import pytest
import xarray as xr
from helpers.stored import tamper

import bayesclf as bc
from bayesclf import storage
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.errors import InputError
from bayesclf.families import FAMILIES
from bayesclf.families.moments import Moments
from bayesclf.storage import formats
from bayesclf.storage.formats import Changes, classes

X, Y = np.array([[1.0, 2.0], [1.2, 2.5], [3.1, 0.5], [2.9, 0.1]]), np.array([0, 0, 1, 1])


@pytest.fixture(scope="module")
def clf():
    return bc.GaussianNB(inference=bc.Exact(draws=5, chains=2), random_state=1).fit(X, Y)


@pytest.fixture(scope="module")
def content(clf, tmp_path_factory):
    """Return the bytes of the classifier's file."""
    path = tmp_path_factory.mktemp("saved") / "model.nc"
    clf.save(path)
    return path.read_bytes()


@pytest.fixture
def earlier(content, tmp_path):
    """Return a function that writes the classifier's file as the first format would have, after an edit of its JSON."""

    def write(change):
        path = tmp_path / "model.nc"
        path.write_bytes(content)
        tamper(path, change)
        with h5py.File(path, "r+") as file:
            file[storage.GROUP].attrs["format_version"] = 1
        return path

    return write


def renamed(old, new):
    """Return an edit that writes another name wherever the JSON has one as a key or a class."""
    return lambda state: json.dumps(state).replace(f'"{old}"', f'"{new}"')


def without(part, name):
    return lambda state: state[part].pop(name) and None


def with_more(part, name, node):
    return lambda state: state[part].update({name: node})


CASES = {
    "class": (renamed("Moments", "Sums"), Changes(renamed={"Sums": "Moments"})),
    "classifier": (
        lambda state: state.update(classifier="Bell"),
        Changes(renamed={"Bell": "GaussianNB"}),
    ),
    "field": (renamed("scatter", "squares"), Changes(renamed={"Moments.squares": "scatter"})),
    "field of a renamed class": (
        lambda state: renamed("Moments", "Sums")(json.loads(renamed("scatter", "squares")(state))),
        Changes(renamed={"Sums": "Moments", "Sums.squares": "scatter"}),
    ),
    "parameter": (renamed("kappa", "k"), Changes(renamed={"GaussianNB.k": "kappa", "Gaussian.k": "kappa"})),
    "parameter of a base class": (
        renamed("class_concentration", "alpha"),
        Changes(renamed={"GenerativeClassifier.alpha": "class_concentration"}),
    ),
    "fitted attribute": (renamed("points_", "_modes"), Changes(renamed={"BayesClassifier._modes": "points_"})),
    "added parameter": (without("parameters", "unbiased"), Changes(added={"GaussianNB.unbiased": False})),
    "added parameter of a base class": (
        without("parameters", "missing"),
        Changes(added={"GenerativeClassifier.missing": "ignore", "LogisticRegression.missing": "error"}),
    ),
    "added fitted attribute": (
        without("fitted", "convergence_problems_"),
        Changes(added={"BayesClassifier.convergence_problems_": ()}),
    ),
    "removed parameter": (
        with_more("parameters", "flavor", {"tuple": [1, "a"]}),
        Changes(removed=frozenset({"GaussianNB.flavor"})),
    ),
    "removed fitted attribute": (
        with_more("fitted", "predict", 5),
        Changes(removed=frozenset({"BayesClassifier.predict"})),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_line_makes_an_earlier_file_readable(name, clf, earlier, monkeypatch):
    change, line = CASES[name]
    path = earlier(change)
    with pytest.raises(InputError, match=r"is damaged or was altered|another version"):
        bc.load(path)
    monkeypatch.setattr(formats, "CHANGES", {1: line})
    loaded = bc.load(path)
    assert loaded.get_params(deep=False).keys() == clf.get_params(deep=False).keys()
    assert {*vars(loaded)} == {*vars(clf)}
    np.testing.assert_array_equal(loaded.predict_log_proba(X), clf.predict_log_proba(X))
    np.testing.assert_array_equal(loaded.predict_log_proba(X, rule="map"), clf.predict_log_proba(X, rule="map"))


def test_an_added_parameter_has_the_value_of_then(earlier, monkeypatch):
    path = earlier(without("parameters", "unbiased"))
    monkeypatch.setattr(formats, "CHANGES", {1: Changes(added={"GaussianNB.unbiased": True})})
    assert bc.load(path).unbiased is True


def test_an_added_field_has_the_value_of_then(earlier, monkeypatch):
    def change(state):
        for node in (state["fitted"]["inference_"], state["parameters"]["inference"]):
            node["class"]["values"].pop("chains")

    path = earlier(change)
    monkeypatch.setattr(formats, "CHANGES", {1: Changes(added={"Exact.chains": 2})})
    assert bc.load(path).inference_ == bc.Exact(draws=5, chains=2)


def test_changes_add_up_over_versions(clf, earlier, monkeypatch):
    """Each table speaks in the words of its own version."""
    path = earlier(renamed("scatter", "squares"))
    first = Changes(renamed={"Moments.squares": "spread", "Moments": "Sums"}, added={"Moments.rows": 0})
    second = Changes(renamed={"Sums.spread": "scatter", "Sums": "Moments"}, removed=frozenset({"Sums.rows"}))
    monkeypatch.setattr(formats, "CHANGES", {1: first, 2: second})
    monkeypatch.setattr(formats, "VERSION", 3)
    np.testing.assert_array_equal(bc.load(path).predict_proba(X, rule="map"), clf.predict_proba(X, rule="map"))


def test_files_of_the_present_version_are_read_as_they_are(clf, content, tmp_path, monkeypatch):
    (tmp_path / "model.nc").write_bytes(content)
    monkeypatch.setattr(formats, "CHANGES", {1: Changes(renamed={"Moments": "Nothing"})})
    np.testing.assert_array_equal(bc.load(tmp_path / "model.nc").predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize(
    "changes",
    [Changes(renamed={"Exact.draws": "chains"}), Changes(added={"Exact.chains": 1})],
    ids=["renamed", "added"],
)
def test_two_values_of_one_member_are_refused(changes, earlier, monkeypatch):
    path = earlier(lambda state: None)
    monkeypatch.setattr(formats, "CHANGES", {1: changes})
    with pytest.raises(InputError, match="the Exact in it has a member twice"):
        bc.load(path)


def test_no_class_outside_the_list_becomes_one_by_a_rename(earlier, monkeypatch):
    path = earlier(renamed("Moments", "Sums"))
    monkeypatch.setattr(formats, "CHANGES", {1: Changes(renamed={"Sums": "Path"})})
    with pytest.raises(InputError, match="it names the class 'Sums', which a model file cannot contain"):
        bc.load(path)


@pytest.mark.parametrize("number", [0, -1])
def test_a_version_that_never_was_is_refused(number, earlier):
    path = earlier(lambda state: None)
    with h5py.File(path, "r+") as file:
        file[storage.GROUP].attrs["format_version"] = number
    with pytest.raises(InputError, match="is damaged or was altered"):
        bc.load(path)


def test_each_version_but_the_present_has_a_table():
    assert [*formats.CHANGES] == [*range(1, formats.VERSION)]


def test_the_tables_lead_to_names_of_today():
    """A class of the last table, once renamed, is one that a file may hold."""
    today = {*classes(), *(cls.__name__ for cls in CLASSIFIERS.values())}
    assert {new for old, new in formats.CHANGES[formats.VERSION - 1].renamed.items() if "." not in old} <= today


def test_a_family_brings_its_statistics(monkeypatch):
    class Marks(Moments):
        pass

    class Marked(FAMILIES["gaussian"]):
        statistics_type = Marks

    monkeypatch.setitem(FAMILIES, "marked", Marked)
    assert classes()["Marked"] is Marked
    assert classes()["Marks"] is Marks


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_statistics_are_of_the_class_that_a_family_names(family):
    axes = {"category": bc.families.Axes(("no", "yes"), ("a", "b"), (("u", "v"), ("u", "v")))}
    codes = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])
    cells = codes if family.kind == "category" else 1.0 + codes
    found = family().statistics(cells, Y, axes.get(family.kind, bc.families.Axes(("no", "yes"), ("a", "b"))))
    assert type(found) is family.statistics_type


def remove_members(state, members):
    """Delete a member of the objects of each class, wherever they are in a state."""
    if isinstance(state, list):
        for part in state:
            remove_members(part, members)
    elif isinstance(state, dict):
        values = state.get("values")
        if isinstance(values, dict):
            for member in members.get(state.get("name"), ()):
                values.pop(member, None)
        for part in state.values():
            remove_members(part, members)


def test_a_file_with_the_former_names_of_fitted_state_loads(saved):
    def former(state):
        fitted = state["fitted"]
        fitted.update(_draws=fitted.pop("draws_"), _points=fitted.pop("points_"))
        del fitted["target_name_"]  # which that format did not have, nor the next one
        del fitted["model_"]["class"]["values"]["posterior_given"]
        remove_members(state, {"Column": ["of_numbers"], "ColumnBlock": ["candidate"]})

    before = bc.load(saved)
    tamper(saved, former)
    with h5py.File(saved, "r+") as file:
        file[storage.GROUP].attrs["format_version"] = 1
    after = bc.load(saved)
    assert vars(after).keys() == vars(before).keys()
    xr.testing.assert_identical(after.posterior_draws(), before.posterior_draws())


@pytest.mark.parametrize("version", [1, formats.VERSION])
def test_what_was_added_without_a_new_version_may_be_lacking(version, tmp_path):
    ascent = bc.GradientAscent(passes=50_000)
    clf = bc.LogisticRegression(prior_scale=1.0, inference=bc.MAP(ascent), random_state=1).fit(X, Y)
    clf.save(tmp_path / "model.nc")

    def change(state):
        remove_members(state, {"GradientAscent": ["start"]})
        if version == 1:
            state["fitted"].pop("target_name_")
            state["parameters"].pop("prior")

    tamper(tmp_path / "model.nc", change)
    with h5py.File(tmp_path / "model.nc", "r+") as file:
        file[storage.GROUP].attrs["format_version"] = version
    assert bc.load(tmp_path / "model.nc").inference.optimiser == ascent


def test_what_was_added_without_a_new_version_has_a_default_of_its_own_class():
    owners = {**classes(), **{cls.__name__: cls for one in CLASSIFIERS.values() for cls in one.__mro__}}
    for key in formats.LATER:
        owner, _, name = key.partition(".")
        assert owner in owners
        if not formats.has_fitted_form(name):
            assert name in owners[owner].__dataclass_fields__


def test_learned_scales_of_0_2_0_had_neither_groups_nor_a_shape(tmp_path):
    clf = bc.LogisticRegression(prior_scale="learned", inference="map").fit(X, Y)
    clf.save(tmp_path / "model.nc")
    tamper(tmp_path / "model.nc", lambda state: remove_members(state, {"LearnedScale": ["groups", "shape"]}))
    assert bc.load(tmp_path / "model.nc").model_.prior.prior_scale == bc.LearnedScale(power=(0.0, 1.0))
