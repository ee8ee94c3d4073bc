"""Families chosen by evidence: evidences that compare, what is chosen, and that everything follows."""

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import assert_same_answers
from scipy import stats

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.families import Axes, LogNormal, Poisson
from bayesclf.families.by_evidence import CANDIDATES, ByEvidence
from bayesclf.families.cells import MOST_VALUES, REAL, ValueCounts

N = 400


@pytest.fixture(scope="module")
def table():
    """Return columns of known families, one with missing cells, and labels."""
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=N)
    columns = {
        "height": np.round(rng.normal(170 + 8 * y, 9.0), 1),
        "income": np.round(rng.lognormal(9 + 0.4 * y, 1.0), 2),
        "calls": rng.poisson(6.0 + 3.0 * y).astype(float),
        "gain": np.where(rng.random(N) < 0.7, 0.0, np.round(rng.lognormal(8 + y, 0.6))),
        "wait": np.round(rng.exponential(5.0 + 5.0 * y), 3),
        "odd": np.round(np.where(rng.random(N) < 0.5, rng.normal(-4, 0.3, N), rng.normal(4.0 + y, 0.3)), 3),
        "constant": np.ones(N),
    }
    frame = pd.DataFrame(columns)
    frame.loc[::7, "height"] = np.nan
    return frame, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def fitted(table):
    return bc.NaiveBayes(families="auto", random_state=1, inference=bc.engines.Exact(draws=80)).fit(*table)


def evidence(X, y, families=tuple(CANDIDATES)):
    """Return the log evidence of families of one column, by name."""
    axes = Axes(tuple(map(str, np.unique(y))), ("x",))
    choices = ByEvidence(families).chosen(ValueCounts.of(np.asarray(X, dtype=float)[:, None], y, axes))[0]
    return dict(zip(families, choices.log_evidence[0], strict=True))


def test_families_that_made_the_columns_are_chosen(fitted):
    chosen = fitted.families_.drop("constant").idxmax(axis=1)
    assert chosen.to_dict() == {
        "height": "Gaussian",
        "income": "log-normal",
        "calls": "Poisson",
        "gain": "zero-inflated log-normal",
        "wait": "exponential",
        "odd": "histogram",
    }
    assert fitted.families_.loc["constant"].isna().all()


@pytest.mark.slow
@pytest.mark.usefixtures("unwritten_figures")
def test_what_was_chosen_is_shown(fitted, tmp_path):
    probability = fitted.families_.loc["height", "Gaussian"]
    said = f"height: Gaussian (probability {probability:.2f})"
    assert any(note.startswith("families by evidence: ") and said in note for note in fitted.notes_)
    assert fitted.summary().attrs["families"][0] == said
    fitted.report(tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("factor", [1e-3, 0.1, 10.0])
def test_evidences_compare_whatever_the_units(factor, rng):
    """Dividing a column by 1,000 lets any density win over any mass, but no probability of a cell."""
    y = rng.integers(2, size=60)
    X = np.round(rng.gamma(4.0, 10.0, 60), 1) + 1
    one, other = evidence(X, y), evidence(np.round(X * factor, 6), y)
    ratios = {name: other[name] - one[name] for name in one if np.isfinite(one[name])}
    assert {"Gaussian", "log-normal", "gamma", "exponential", "histogram"} <= set(ratios)
    np.testing.assert_allclose(list(ratios.values()), 0.0, atol=1e-6)


@pytest.mark.parametrize(("name", "least"), [("Gaussian", -np.inf), ("exponential", 0.0)])
def test_evidence_of_a_density_is_that_of_its_cells(name, least, rng):
    """The product of one-step-ahead probabilities of cells, each an integral over the cell."""
    X, y = np.round(rng.normal(3.0, 1.0, 12), 1), np.zeros(12, dtype=int)
    X[3] = 0.0  # half of whose cell an exponential column can have
    family, axes = CANDIDATES[name].family, Axes(("0",), ("x",))
    now = family.resolve_prior(family.statistics(X[:, None], y, axes))
    total = 0.0
    for x in X:
        cell = np.linspace(max(x - 0.05, least), x + 0.05, 101)
        total += np.log(np.trapezoid(np.exp(now.log_predictive(cell[:, None])[:, 0]), cell))
        now = now.posterior(family.statistics(np.array([[x]]), y[:1], axes))
    np.testing.assert_allclose(evidence(X, y)[name], total, rtol=2e-3)


def test_evidence_of_a_mass_and_a_density_multiplies_both(rng):
    zero = rng.random(80) < 0.5
    X, y = np.where(zero, 0.0, np.round(rng.lognormal(3.0, 0.8, 80), 1)), np.zeros(80, dtype=int)
    q = zero.mean()
    of_zeros = (
        np.log(stats.betabinom.pmf(zero.sum(), 80, 1 + q, 2 - q))
        - np.log(stats.binom.pmf(zero.sum(), 80, 0.5))
        + 80 * np.log(0.5)
    )
    family, axes = LogNormal(), Axes(("0",), ("x",))
    others = family.statistics(X[~zero, None], y[~zero], axes)
    of_others = family.resolve_prior(others).log_evidence(others)[0] + (~zero).sum() * np.log(0.1)
    np.testing.assert_allclose(evidence(X, y)["zero-inflated log-normal"], of_zeros + of_others, rtol=1e-10)


def test_a_density_that_is_narrower_than_cells_is_no_candidate():
    """Counts at rate .02: their Gaussian density is far above 1."""
    X = (np.arange(1000) < 20).astype(float)
    found = evidence(X, np.zeros(1000, dtype=int))
    assert found["Gaussian"] == -np.inf
    np.testing.assert_allclose(found["Poisson"], -102, atol=5)


def test_a_density_of_exactly_one_step_is_a_candidate():
    """Of 0, 2, 0, 2 in one class the sd is 1, also with one pooled row more: one step is wide enough."""
    assert evidence(np.array([0.0, 2.0, 0.0, 2.0]), np.zeros(4, dtype=int))["Gaussian"] > -np.inf


@pytest.mark.parametrize("name", [name for name, candidate in CANDIDATES.items() if "zero-inflated" in name])
@pytest.mark.parametrize(
    ("values", "possible"),
    [([0.0, 1.0, 2.5], True), ([0.0, 1.0], False), ([1.0, 2.0, 3.0], False), ([-1.0, 0.0, 2.0], False), ([0.0], False)],
)
def test_a_mass_at_zero_needs_zeros_and_two_other_values(name, values, possible):
    assert CANDIDATES[name].supports(np.array(values)) is possible


def test_one_rounded_zero_is_no_mass_at_zero(rng):
    X, y = np.append(np.round(rng.exponential(5.0, 119) + 0.1, 1), 0.0), np.arange(120) % 2
    found = evidence(X, y)
    assert max(found, key=found.get) == "exponential"


def test_a_chosen_family_answers_as_if_it_had_been_named(table, fitted):
    frame, y = table
    blocks = {"height": "gaussian", "income": "log-normal", "calls": "poisson", "gain": bc.families.Hurdle(LogNormal())}
    named = bc.NaiveBayes({**blocks, "wait": "exponential", "odd": "histogram"}, random_state=1)
    named.fit(frame, y)
    assert_same_answers(fitted, named, frame, ("map", "predictive"), 1e-8)


def test_a_sum_of_parts_has_the_decimals_of_the_whole():
    """Fourteen decimals of a number below 1 are rounding beside a number of 5."""
    X, axes = np.array([[0.12345678901234], [5.5]]), Axes(("0",), ("x",))
    one, other = (ValueCounts.of(X[[row]], np.zeros(1, dtype=int), axes) for row in range(2))
    assert one.columns[0].decimals == 14
    assert (
        (one + other).columns[0].decimals == ValueCounts.of(X, np.zeros(2, dtype=int), axes).columns[0].decimals == REAL
    )


@pytest.mark.parametrize("limits", [{"MOST_VALUES": 50}, {"MOST_COUNTS": 100, "FEWEST_VALUES": 10}])
def test_many_values_are_rounded_the_same_in_any_order(limits, monkeypatch, rng):
    for name, most in limits.items():
        monkeypatch.setattr(f"bayesclf.families.cells.{name}", most)
    X = np.column_stack([rng.standard_cauchy(400), rng.standard_normal(400)])  # sorted, and counted in steps
    y = rng.integers(2, size=400)
    axes = Axes(("a", "b"), ("u", "v"))
    whole = ValueCounts.of(X, y, axes)
    parts = [ValueCounts.of(X[rows], y[rows], axes) for rows in np.array_split(rng.permutation(400), 5)]
    total = parts[3] + (parts[0] + parts[4]) + (parts[1] + parts[2])
    assert (whole.sizes <= 50).all()
    assert (whole.sizes > 20).all()
    for name, values in whole.arrays().items():
        np.testing.assert_allclose(total.arrays()[name], values, rtol=1e-12, err_msg=name)
    assert MOST_VALUES == 10**5


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([1.0, 20.0], 0),
        ([0.1, 0.2, 0.3], 1),
        ([0.1 + 0.2, 1.0], 1),
        ([1e-7, 1.0], 7),
        ([np.pi, 1.0], 16),
        ([1e20, 1.0], 16),
    ],
)
def test_decimals_are_those_that_numbers_are_recorded_with(values, decimals):
    X = np.array(values)[:, None]
    (found,) = ValueCounts.of(X, np.zeros(len(X), dtype=int), Axes(("k",), ("u",))).columns
    assert found.decimals == decimals
    assert found.step == (4 * np.spacing(max(values)) if decimals == REAL else 10.0 ** -max(decimals, 0))


@pytest.mark.parametrize("families", ["all", "categorical", (), ("Gaussian", "normal"), 3])
def test_unknown_families_are_refused(families, table):
    with pytest.raises(InputError, match="families must be 'auto'"):
        bc.NaiveBayes(families=families).fit(*table)


def test_cells_that_a_chosen_family_cannot_have_count_as_missing(table, fitted):
    frame, _ = table
    impossible = frame[:4].assign(income=[0.0, -1.0, 5.0, 6.0], calls=[1.5, 2.0, -1.0, 3.0], gain=[-5.0, 0.0, 1.0, 1.0])
    missing = impossible.mask(
        pd.DataFrame({"income": [1, 1, 0, 0], "calls": [1, 0, 1, 0], "gain": [1, 0, 0, 0]})
        .astype(bool)
        .reindex(columns=frame.columns, fill_value=False)
    )
    assert_same_answers(fitted, fitted, impossible, ("map", "predictive", "bayes-optimal"), 1e-12, missing)


def test_candidates_can_be_named(table):
    clf = bc.NaiveBayes(families=("gaussian", "Zero-inflated gamma", "histogram"), inference="map").fit(*table)
    assert list(clf.families_) == ["Gaussian", "zero-inflated gamma", "histogram"]
    assert not hasattr(bc.NaiveBayes(families="Gaussian", inference="map").fit(*table), "families_")
    assert Poisson().name not in {block.family.name for block in clf.model_.blocks}


FAR = np.array([[999998.9, 999998.8], [999998.9, 1000000.6], [1000002.6, 1000000.7]])
"""Numbers so far from 0 that a gamma cannot tell them apart in the first column."""


@pytest.mark.parametrize("families", ["auto", ["gamma", "Gaussian"]])
def test_a_family_that_cannot_be_set_by_a_column_is_no_candidate(families):
    clf = bc.NaiveBayes(families=families, random_state=1).fit(FAR, ["a", "b", "b"])
    assert not any("at most one value" in note for note in clf.notes_)
    assert sum(len(block.statistics.axes.features) for block in clf.model_.blocks) == 2
    answers = clf.predict_proba(FAR, rule="map")
    assert np.isfinite(answers).all()
    without = bc.NaiveBayes(families=families, random_state=1).fit(FAR[:, 1:], ["a", "b", "b"])
    assert np.abs(answers - without.predict_proba(FAR[:, 1:], rule="map")).max() > 0.01
