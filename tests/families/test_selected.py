"""Averaging over which features depend on the class, against enumeration of all sets of features."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import bayesclf as bc
from bayesclf.engines import Exact
from bayesclf.errors import InputError, Refused
from bayesclf.families import Axes, Categorical, Gaussian, Multinomial, Selected

LABELS = ("no", "maybe", "yes")
WORDS = ["ward", "smoker"]
CASES = {
    "categorical": (Categorical(), Axes(LABELS, ("u", "v", "w"), (("a", "b"), (1, 2, 3), (False, True)))),
    "class-feature": (Gaussian(), Axes(LABELS, ("u", "v", "w"))),
    "feature": (Gaussian("feature", m=0.3, kappa=0.5, a=2.5, b=2.0), Axes(LABELS, ("u", "v", "w"))),
}
INCLUSION = np.array([0.5, 0.2, 0.7])


def data(family, axes, seed=0, n=25):
    """Return rows of which the first feature depends on the class, with missing cells."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    if family.kind == "category":
        X = np.stack([rng.integers(size, size=n) for size in axes.sizes], axis=1)
        X[:, 0] = np.where(rng.random(n) < 0.6, y > 0, X[:, 0])
        return np.where(rng.random(X.shape) < 0.1, -1, X), y
    X = rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0.0, 0.3])
    return np.where(rng.random(X.shape) < 0.1, np.nan, X), y


def resolved(family, axes):
    X, y = data(family, axes)
    statistics = family.statistics(X, y, axes)
    return Selected(family, INCLUSION).resolve_prior(statistics), statistics, X, y


every_family = pytest.mark.parametrize(("family", "axes"), CASES.values(), ids=CASES)


def alone(prior, included, X, y, axes, new=None):
    """Return log p(D_j) for each feature by itself, or its predictive, by the family of the whole block."""
    absent = -1 if axes.levels else np.nan
    chosen = prior.family if included else prior.pooled
    labels = axes.labels if included else ("all",)
    codes = y if included else np.zeros_like(y)
    parts = []
    for j in range(3):
        others = np.arange(3) != j
        own = np.where(others, absent, X)
        statistics = chosen.statistics(own.astype(X.dtype), codes, Axes(labels, axes.features, axes.levels))
        if new is None:
            parts.append(chosen.log_evidence(statistics).sum())
        else:
            parts.append(chosen.posterior(statistics).log_predictive(np.where(others, absent, new).astype(X.dtype)))
    return parts


def all_sets(prior, X, y, axes):
    """Return all sets of features (set, feature), and log P(set) + log p(D | set) of each."""
    sets = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    included, excluded = (np.array(alone(prior, z, X, y, axes)) for z in (True, False))
    return sets, sets @ (np.log(INCLUSION) + included) + (1 - sets) @ (np.log1p(-INCLUSION) + excluded)


@every_family
def test_inclusion_evidence_and_predictive_are_those_of_all_sets_of_features(family, axes):
    prior, statistics, X, y = resolved(family, axes)
    posterior, new = prior.posterior(statistics), data(family, axes, seed=1, n=6)[0]
    sets, log_joint = all_sets(prior, X, y, axes)
    log_weights = log_joint - logsumexp(log_joint)
    np.testing.assert_allclose(posterior.inclusion, np.exp(log_weights) @ sets, rtol=1e-9)
    np.testing.assert_allclose(prior.log_evidence(statistics).sum(), logsumexp(log_joint), rtol=1e-12)
    of_class, pooled = (alone(prior, z, X, y, axes, new) for z in (True, False))
    terms = [
        sum(of_class[j] if included else np.repeat(pooled[j], 3, axis=1) for j, included in enumerate(chosen))
        for chosen in sets
    ]
    expected = logsumexp(np.array(terms) + log_weights[:, None, None], axis=0)
    np.testing.assert_allclose(posterior.log_predictive(new), expected, rtol=1e-9)


@every_family
def test_draws_average_to_predictive_mean_and_inclusion(family, axes, rng):
    prior, statistics, _, _ = resolved(family, axes)
    posterior, draws = prior.posterior(statistics), 20_000
    parameters = posterior.draw(rng, draws)
    new, _ = data(family, axes, seed=1, n=6)
    density = np.exp(posterior.log_density(new, parameters))
    error = density.std(axis=0) / np.sqrt(draws)
    assert (np.abs(density.mean(axis=0) - np.exp(posterior.log_predictive(new))) < 5 * error + 1e-12).all()
    for name, mean in posterior.mean().items():
        error = parameters[name].std(axis=0) / np.sqrt(draws)
        assert (np.abs(parameters[name].mean(axis=0) - mean[0]) < 5 * error).all(), name
    first = parameters["theta" if axes.levels else "mu"]
    starts = [0, 2, 5] if axes.levels else [0, 1, 2]
    included = (first[:, 0] != first[:, 1])[:, starts].mean(axis=0)
    assert (np.abs(included - posterior.inclusion) < 5 * np.sqrt(posterior.inclusion / draws)).all()


@every_family
def test_map_is_the_mode_given_the_most_probable_set(family, axes):
    prior, statistics, _, _ = resolved(family, axes)
    inclusion = prior.posterior(statistics).inclusion
    assert (inclusion > 0.5).any()
    assert (inclusion < 0.5).any()
    found, of_class = prior.map(statistics), prior.family.map(statistics)
    pooled = prior.pooled.map(statistics.pooled())
    for name, values in found.items():
        included = np.repeat(inclusion > 0.5, axes.sizes) if axes.levels else inclusion > 0.5
        for cell, kept in enumerate(included):
            source = of_class if kept else pooled
            np.testing.assert_array_equal(values[..., cell], np.broadcast_to(source[name], values.shape)[..., cell])


@every_family
@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_certain_inclusion_is_the_family_or_nothing(family, axes, certain):
    prior, statistics, X, _ = resolved(family, axes)
    sure = Selected(family, certain).resolve_prior(statistics).posterior(statistics)
    np.testing.assert_array_equal(sure.inclusion, certain)
    if certain:
        np.testing.assert_allclose(
            sure.log_predictive(X), prior.family.posterior(statistics).log_predictive(X), rtol=1e-10
        )
    else:
        np.testing.assert_allclose(np.ptp(sure.log_predictive(X), axis=1), 0.0, atol=1e-12)


def make(**options):
    return bc.NaiveBayes(select=True, random_state=1, inference=Exact(draws=50), **options)


def test_missing_indicators_are_selected_too(mixed_table):
    X, y = mixed_table
    inclusion = make(missing="level").fit(X, y).inclusion_
    assert {"age is missing", "dose is missing", "age", "ward"} <= set(inclusion.index)


def test_a_feature_left_out_has_a_logistic_weight_of_zero(rng):
    y = np.repeat([0, 1], 100)
    X = pd.DataFrame({"signal": rng.normal(size=200) + y, "noise": rng.normal(size=200)})
    clf = make(blocks={("signal", "noise"): Gaussian("feature")}).fit(X, y)
    weight = clf.to_logistic().posterior_["posterior"]["weight"].values
    zero = (weight[..., 1] == 0).mean()
    p = clf.inclusion_["noise"]
    assert abs(zero - (1 - p)) < norm.isf(1e-6) * np.sqrt(p * (1 - p) / weight[..., 1].size)
    assert (weight[..., 0] != 0).all()


@pytest.mark.parametrize(
    "family",
    ["conditional-gaussian", "joint", "multivariate-gaussian", Gaussian("class"), Gaussian("shared"), Multinomial()],
)
def test_columns_of_a_block_that_depend_on_each_other_are_refused(family, mixed_table):
    X, y = mixed_table
    names = {"conditional-gaussian": ["age", "ward"], "joint": ["ward", "smoker"]}.get(str(family), ["age", "dose"])
    complete = X[names].notna().all(axis=1)
    with pytest.raises(Refused, match=f"columns {names[0]!r}, {names[1]!r} have parameters in common"):
        make(blocks={tuple(names): family}).fit(X[complete], y[complete])


def test_inclusion_needs_selection(mixed_table):
    X, y = mixed_table
    with pytest.raises(AttributeError, match="select=True"):
        _ = bc.NaiveBayes(random_state=1).fit(X, y).inclusion_
    with pytest.raises(InputError, match=r"inclusion must be a number between 0 and 1, not 1\.5"):
        make(inclusion=1.5).fit(X, y)
    alpha = np.full((3, 5), 2.0)
    with pytest.raises(InputError, match="with selection all classes have one prior"):
        make(blocks={("ward", "smoker"): Categorical(alpha)}).fit(X[WORDS], y)
