"""Averages over families, against enumeration of all assignments of families to columns."""

import itertools

import numpy as np
import pandas as pd
import pytest
from helpers.cases import AVERAGES
from helpers.classifiers import CLOSED_FORM, assert_same_answers
from scipy.special import log_softmax, logsumexp

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.families import Averaged, Axes, LearntClassPrior
from bayesclf.families.by_evidence import CANDIDATES
from bayesclf.families.terms import Pair
from bayesclf.families.value_counts import ValueCounts
from bayesclf.models.base import Rows
from bayesclf.models.generative import Block, GenerativeModel

N = 150
LABELS = ("no", "maybe", "yes")
STANDARD_ERRORS = 5.0

every_average = pytest.mark.parametrize("case", AVERAGES, ids=[case.name for case in AVERAGES])


@pytest.fixture(scope="module")
def table():
    """Return columns that rows leave some families for, one with missing cells and one with zeros, and labels."""
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=N)
    columns = {
        "height": np.round(rng.normal(30.0 + 2 * y, 4.0), 1),
        "wait": np.round(rng.gamma(2.5, 2.0 + y), 2) + 0.01,
        "calls": rng.poisson(6.0 + 3.0 * y).astype(float),
        "gain": np.where(rng.random(N) < 0.5, 0.0, np.round(rng.gamma(2.0, 30.0 + 20 * y), 1)),
        "odd": np.round(np.where(rng.random(N) < 0.5, rng.normal(-4, 0.3, N), rng.normal(4.0 + y, 0.3)), 3),
        "constant": np.ones(N),
    }
    frame = pd.DataFrame(columns)
    frame.loc[::7, "wait"] = np.nan
    return frame, np.array(["no", "yes"])[y]


def average(**options):
    return bc.NaiveBayes(families="average", random_state=1, **{"inference": bc.Exact(draws=60), **options})


@pytest.fixture(scope="module")
def fitted(table):
    return average().fit(*table)


def averages(clf):
    return [block for block in clf.model_.blocks if isinstance(block.family, Averaged)]


# Against enumeration


def four_models(names, X, y, steps):
    """Return log P(families, D) of each pair of families of two columns, and the model, each column a block."""
    counts, found = np.bincount(y, minlength=3).astype(float), []
    for pair in itertools.product(names, repeat=2):
        blocks, log_joint = [], -len(pair) * np.log(len(names))
        for j, name in enumerate(pair):
            family, axes = CANDIDATES[name].family, Axes(LABELS, ("uv"[j],))
            statistics = family.statistics(X[:, [j]], y, axes)
            blocks.append(Block(family.resolve_prior(statistics), statistics, f"_{j}"))
            log_joint += CANDIDATES[name].log_evidence(ValueCounts.of(X[:, [j]], y, axes))[0]
            log_joint -= np.log(steps[j]) * np.isfinite(X[:, j]).sum()
        model = GenerativeModel(LABELS, LearntClassPrior(np.ones(3)), counts, tuple(blocks))
        found.append((pair, log_joint, model))
    return found


@pytest.mark.parametrize("names", [("Gaussian", "log-normal"), ("gamma", "exponential")])
def test_predictive_and_evidence_are_those_of_all_four_models(names, rng):
    y = rng.integers(3, size=30)
    X = np.round(rng.gamma(4.0, 1.0 + 0.3 * y[:, None], (30, 2)), 1) + 0.1
    X[::9, 1] = np.nan
    family, axes = Averaged(names, np.array([0.1, 0.1])), Axes(LABELS, ("u", "v"))
    statistics = family.statistics(X, y, axes)
    prior, models = family.resolve_prior(statistics), four_models(names, X, y, (0.1, 0.1))
    log_joints = np.array([log_joint for _, log_joint, _ in models])
    np.testing.assert_allclose(prior.log_evidence(statistics).sum(), logsumexp(log_joints), rtol=1e-12)

    new = np.round(rng.gamma(4.0, 1.3, (7, 2)), 1) + 0.1
    new[2, 0] = np.nan
    weights = log_softmax(log_joints)
    parts = [model.log_predictive(Rows((new[:, [0]], new[:, [1]]), 7)) for _, _, model in models]
    counts = np.bincount(y, minlength=3).astype(float)
    whole = GenerativeModel(LABELS, LearntClassPrior(np.ones(3)), counts, (Block(prior, statistics),))
    expected = logsumexp(np.array(parts) + weights[:, None, None], axis=0)
    np.testing.assert_allclose(whole.log_predictive(Rows((new,), 7)), expected, rtol=1e-10)

    of_column = np.zeros((len(names), 2))
    for (pair, _, _), weight in zip(models, np.exp(weights), strict=True):
        for j, name in enumerate(pair):
            of_column[names.index(name), j] += weight
    np.testing.assert_allclose(np.exp(prior.posterior(statistics).log_weights), of_column, rtol=1e-9)


def test_weights_are_those_of_models_with_one_family_each(table, fitted):
    """P(f | column) by the evidence of a classifier of that column alone; histograms as they are compared."""
    frame, y = table
    checked = 0
    for block in averages(fitted):
        posterior = block.family.posterior(block.statistics)
        for j, column in enumerate(posterior.axes.features):
            X, log_evidence = frame[[column]], []
            n, zeros = X[column].notna().sum(), (X[column] == 0).sum()
            for name in posterior.names:
                family = CANDIDATES[name].compared or CANDIDATES[name].family
                found = bc.NaiveBayes({column: family}, inference="map").fit(X, y).model_.log_evidence()
                dense = n * CANDIDATES[name].has_density - zeros * CANDIDATES[name].has_zeros
                log_evidence.append(found + dense * np.log(np.broadcast_to(posterior.steps, 6)[j]))
                checked += 1
            np.testing.assert_allclose(
                np.exp(posterior.log_weights[:, j]), np.exp(log_softmax(log_evidence)), rtol=1e-8, err_msg=column
            )
    assert checked > 8


def test_weights_are_those_that_are_shown(fitted):
    for block in averages(fitted):
        posterior = block.family.posterior(block.statistics)
        shown = fitted.families_.loc[list(posterior.axes.features), list(posterior.names)].to_numpy().T
        np.testing.assert_allclose(np.exp(posterior.log_weights), shown, rtol=1e-8, atol=1e-11)


# Draws and points


@every_average
def test_draws_have_each_family_as_often_as_its_weight(case, rng):
    posterior, draws = case.posterior, 4000
    parameters = posterior.draw(rng, draws)
    shares = np.stack([values for name, values in parameters.items() if name.startswith("is_")])
    np.testing.assert_array_equal(shares.sum(axis=0), 1.0)
    weights = np.exp(posterior.log_weights)
    error = np.sqrt(weights * (1 - weights) / draws)
    assert (np.abs(shares.mean(axis=1) - weights) <= STANDARD_ERRORS * error + 1e-12).all()
    assert (weights.max(axis=0) < 0.999).any()


@every_average
def test_draws_average_to_the_predictive(case, rng):
    posterior, draws = case.posterior, 20_000
    X = case.data(1, n=6)[0]
    density = np.exp(posterior.log_density(X, posterior.draw(rng, draws)))
    error = density.std(axis=0) / np.sqrt(draws)
    assert (np.abs(density.mean(axis=0) - np.exp(posterior.log_predictive(X))) < STANDARD_ERRORS * error + 1e-12).all()


@every_average
def test_a_hypothesis_has_the_density_of_its_families(case, rng):
    """Each draw, column by column, in the family that it has there; the mean is the mixture of all."""
    posterior = case.posterior
    X = case.data(1, n=9)[0]
    parameters = posterior.draw(rng, 40)
    mean = posterior.mean()
    expected, mixture = np.zeros((40, 9, 3)), np.zeros((9, 3))
    for j in range(3):
        cells = np.full_like(X, np.nan)
        cells[:, j] = X[:, j]
        terms = []
        for name, family in zip(posterior.names, posterior.families, strict=True):
            word = name.replace(" ", "_").replace("-", "_").lower()
            own = {key: parameters[f"{key}_{word}"] for key in family.dims()}
            possible = ~np.isnan(X[:, j]) & CANDIDATES[name].possible(X[:, j])
            some = np.where(possible[:, None], cells, np.nan)
            width = np.where(CANDIDATES[name].has_zeros & (X[:, j] == 0), np.log(posterior.steps[j]), 0.0)
            density = family.log_density(some, own) - width[:, None]
            expected += np.where(parameters[f"is_{word}"][:, j, None, None] > 0, density, 0.0)
            at_mean = family.log_density(some, {key: mean[f"{key}_{word}"] for key in family.dims()})[0]
            weight = np.log(mean[f"is_{word}"][0, j])
            missing = np.isnan(X[:, j]) | possible
            terms.append(np.where(missing[:, None], at_mean - width[:, None] + weight, -np.inf))
        mixture += logsumexp(terms, axis=0)
    np.testing.assert_allclose(posterior.log_density(X, parameters), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(posterior.log_density(X, mean)[0], mixture, rtol=1e-10, atol=1e-12)


def test_map_and_mle_are_those_of_the_chosen_families(table, fitted):
    """The second also where another family has none: counts of one class vary less than Poisson's."""
    chosen = bc.NaiveBayes(families="auto", random_state=1, inference="map").fit(*table)
    assert_same_answers(chosen, fitted, table[0], ("map", "mle"), 1e-12)


@every_average
def test_contributions_add_up_to_the_log_odds(case, rng):
    X, y = case.data(1, n=12)
    parameters = case.posterior.draw(rng, 5)
    pair = Pair(y, (y + 1) % 3)
    found = case.posterior.contributions(X, parameters, pair)
    total = np.zeros((5, len(y)))
    np.add.at(total, (slice(None), found.row), found.values)
    log_density, rows = case.posterior.log_density(X, parameters), np.arange(len(y))
    expected = log_density[:, rows, pair.outcome] - log_density[:, rows, pair.against]
    np.testing.assert_allclose(total, expected, rtol=1e-10, atol=1e-12)
    assert found.features == (("u",), ("v",), ("w",))


@every_average
def test_generated_cells_are_of_the_families(case):
    """One hypothesis has one family for each column; the mean has all, as often as their weights."""
    rng, posterior = np.random.default_rng(2), case.posterior
    drawn = {name: values[:1] for name, values in posterior.draw(rng, 1).items()}
    y = np.repeat([0, 1, 2], 3000)
    for parameters in (drawn, posterior.mean()):
        X = posterior.sample(parameters, y, rng)
        assert np.isfinite(X).all()
        low, high = np.quantile(X, [0.3, 0.6], axis=0)
        for j in range(3):
            grid = np.linspace(low[j], high[j], 400) + 1e-9
            cells = np.full((400, 3), np.nan)
            cells[:, j] = grid
            density = np.exp(posterior.log_density(cells, parameters)[0])
            expected = np.trapezoid(density, grid, axis=0)
            for k in range(3):
                own = X[y == k, j]
                found = ((own > grid[0]) & (own <= grid[-1])).mean()
                error = np.sqrt(expected[k] * (1 - expected[k]) / len(own))
                assert abs(found - expected[k]) < STANDARD_ERRORS * error + 0.01


# What families a column has left


def families_of(clf):
    """Return the families that each column has left, by column."""
    blocks = [(block.statistics.axes.features, getattr(block.family, "names", None)) for block in clf.model_.blocks]
    return {name: names for features, names in blocks for name in features}


def test_a_family_below_the_bound_is_left_out_and_missed_by_no_answer(table, fitted, monkeypatch):
    frame, y = table
    left = families_of(fitted)
    assert left["odd"] is None  # a plain histogram
    for name, names in left.items():
        weights = fitted.families_.loc[name]
        assert set(names or ["histogram"]) == set(weights.index[weights > 1e-12])
    monkeypatch.setattr("bayesclf.families.averaged_by_evidence.NEGLIGIBLE", 0.0)
    every = average().fit(frame, y)
    assert families_of(every)["odd"] == ("Gaussian", "histogram")
    assert_same_answers(fitted, every, frame, ("map", "predictive"), 1e-9)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_the_unit_of_a_column_with_zeros_changes_nothing(factor, rng):
    """Masses at zero and densities are mixed, so that the density must be that of a cell of the recorded step."""
    y = rng.integers(2, size=40)
    X = np.where(rng.random(40) < 0.15, 0.0, np.round(rng.gamma(3.0, 2.0 + y), 1))
    steps = np.array([0.1]) * factor
    names = ("Gaussian", "zero-inflated gamma", "zero-inflated exponential")

    def posterior(X, steps):
        family = Averaged(names, steps)
        statistics = family.statistics(X[:, None], y, Axes(("a", "b"), ("u",)))
        return family.resolve_prior(statistics).posterior(statistics)

    plain = posterior(X, 0.1)
    other = posterior(X * factor, steps)
    assert np.exp(plain.log_weights).max() < 0.9999
    np.testing.assert_allclose(np.exp(other.log_weights), np.exp(plain.log_weights), rtol=1e-7)
    new = np.array([[0.0], [0.4], [5.0]])
    found = other.log_predictive(new * factor) + np.log(factor)
    np.testing.assert_allclose(found, plain.log_predictive(new), rtol=1e-7)


def test_a_cell_that_a_family_cannot_have_rules_it_out():
    case = AVERAGES[0]
    posterior, cell = case.posterior, np.array([[-1.0, np.nan, np.nan]])
    log_weights = dict(zip(posterior.names, posterior.log_weights[:, 0], strict=True))
    terms = [
        log_weights[name] + posterior.families[posterior.names.index(name)].log_predictive(cell)
        for name in ("Gaussian", "histogram")
    ]
    np.testing.assert_allclose(posterior.log_predictive(cell), logsumexp(terms, axis=0), rtol=1e-12)
    positive = Averaged(("log-normal", "gamma"))
    statistics = positive.statistics(*case.data(), case.axes)
    positive = positive.resolve_prior(statistics).posterior(statistics)
    np.testing.assert_array_equal(positive.log_predictive(cell), 0.0)
    drawn = posterior.draw(np.random.default_rng(1), 200)
    impossible = (drawn["is_log_normal"] + drawn["is_gamma"])[:, 0] > 0
    assert impossible.any()
    np.testing.assert_array_equal(posterior.log_density(cell, drawn)[impossible], 0.0)


def test_a_cell_that_one_family_cannot_have_is_missing_from_the_statistics():
    case = AVERAGES[0]
    X, y = case.data()
    strange = X.copy()
    strange[4, 1] = -2.0
    X[4, 1] = np.nan
    for name, values in case.statistics(X, y).arrays().items():
        np.testing.assert_array_equal(case.statistics(strange, y).arrays()[name], values)


# Learning in parts, storage, display


@pytest.mark.slow
def test_parts_in_any_order_average_as_the_whole(table, fitted):
    frame, y = table
    by_parts = average()
    for rows in (slice(70, 150), slice(0, 3), slice(3, 70)):
        by_parts.partial_fit(frame[rows], y[rows], classes=["no", "yes"])
    pd.testing.assert_frame_equal(by_parts.families_, fitted.families_, rtol=1e-6, atol=1e-9)
    assert_same_answers(fitted, by_parts, frame, CLOSED_FORM, 1e-8)
    both = average().fit(frame[:80], y[:80]) + average().fit(frame[80:], y[80:])
    assert_same_answers(fitted, both, frame, CLOSED_FORM, 1e-8)
    batches = [frame[rows].assign(label=y[rows]) for rows in (slice(0, 90), slice(90, N))]
    assert_same_answers(fitted, average().fit_stream(batches, "label"), frame, CLOSED_FORM, 1e-8)


@pytest.mark.slow
def test_a_posterior_as_prior_keeps_the_weights(table, fitted):
    """Rows that change nothing but the weights of families: all of them again, in two steps and in one."""
    frame, y = table
    one = fitted.as_prior().fit(frame, y)
    two = fitted.as_prior().fit(frame[:60], y[:60]).as_prior().fit(frame[60:], y[60:])
    assert_same_answers(one, two, frame, ("map", "mean", "predictive"), 1e-9)
    before, after = averages(fitted)[0], averages(one)[0]
    posterior = before.family.posterior(before.statistics)
    np.testing.assert_allclose(after.family.log_weights, posterior.log_weights, rtol=1e-12)
    assert (after.family.posterior(after.statistics).log_weights != posterior.log_weights).any()


@pytest.mark.slow
def test_a_saved_average_goes_on(table, fitted, tmp_path):
    frame, y = table
    fitted.save(tmp_path / "model.nc")
    loaded = bc.load(tmp_path / "model.nc")
    pd.testing.assert_frame_equal(loaded.families_, fitted.families_)
    assert_same_answers(fitted, loaded, frame, (*CLOSED_FORM, "bayes-optimal"), 1e-12)
    loaded.partial_fit(frame[:20], y[:20])


@pytest.mark.slow
@pytest.mark.usefixtures("unwritten_figures")
def test_the_families_of_each_column_are_shown(fitted, tmp_path):
    wait = fitted.families_.loc["wait"].sort_values(ascending=False)
    said = f"wait: {wait.index[0]} {wait.iloc[0]:.2f}, {wait.index[1]} {wait.iloc[1]:.2f}".replace("0.", ".")
    (note,) = (note for note in fitted.notes_ if "wait:" in note)
    assert note.startswith(f"families averaged by evidence: {said}")
    assert any(one.startswith(said) for one in fitted.summary().attrs["families"])
    assert not any("constant:" in one for one in fitted.summary().attrs["families"])
    fitted.report(tmp_path / "page.html", refits=False)
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_priors_name_the_parameters_as_the_posterior_does(fitted):
    priors = fitted.prior_summary()
    assert set(priors["parameter"]) == set(fitted.posterior_["posterior"].data_vars)
    of_family = priors[priors["parameter"].str.startswith("is_")]
    assert of_family["prior"].str.fullmatch("1 with probability .*, else 0").all()
    assert any("Normal(mu_gaussian, sigma2_gaussian)" in sentence for sentence in priors.attrs["model"])


def test_the_prior_that_is_printed_depends_on_the_rows_no_further_than_it_says(table):
    """Other rows leave the probabilities of families and the words of histograms as they are, until these are prior."""
    frame, y = table
    first, other = (average().fit(frame[["wait"]].iloc[rows], y[rows]) for rows in (slice(0, 75), slice(75, 150)))
    lines = [clf.prior_summary().set_index("parameter")["prior"] for clf in (first, other)]
    fixed = ["is_log_normal", "is_gamma", "is_exponential", "is_histogram", "theta_histogram"]
    assert (lines[0][fixed] == lines[1][fixed]).all()
    share = f"1 with probability {1 / len(averages(first)[0].family.names):.4g}"
    assert lines[0]["is_gamma"] == f"{share}, else 0"
    assert lines[0]["is_histogram"] == f"{share}, weighed by its evidence at a = 1, else 0"
    assert any("equally probable before the rows" in said for said in first.prior_summary().attrs["model"])

    goes_on = first.as_prior().fit(frame[["wait"]].iloc[75:], y[75:])
    table = goes_on.prior_summary()
    lines = table.set_index("parameter")["prior"]
    weight = first.families_.loc["wait", "histogram"]
    assert lines["is_histogram"] == f"1 with probability {weight:.4g}, else 0"
    assert lines["theta_histogram"].endswith("given the rows of an earlier fit")
    assert not any("equally probable before the rows" in said for said in table.attrs["model"])


def test_a_model_in_pymc_is_refused(table, fitted):
    frame, y = table
    with pytest.raises(Refused, match="has no PyMC model; use inference='exact', or families='auto'"):
        average(inference="nuts").fit(frame, y)
    with pytest.raises(Refused, match="no PyMC model"):
        fitted.to_pymc(frame, y)


def test_rows_without_labels_are_refused(table):
    frame, y = table
    with pytest.raises(Refused, match=r"not for averages over .* families, .* or NaiveBayes\(families='auto'\)"):
        average(inference="auto").fit(frame, [None, *y[1:]])


@pytest.mark.parametrize("names", [(), ("Gaussian", "normal")])
def test_unknown_families_are_refused(names):
    with pytest.raises(InputError, match="names must"):
        Averaged(names)


def test_rows_without_a_label_are_refused():
    X = pd.DataFrame({"x": np.arange(8.0)})
    with pytest.raises(Refused, match="rows without a label are not for averages over structures or families"):
        bc.NaiveBayes(families="average").fit(X, ["a", "b", "a", "b", None, None, "a", "b"])
