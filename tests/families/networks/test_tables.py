"""Joint tables and Bayesian networks against enumeration: every completion, every row, every hypothesis of a grid."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from scipy.special import logsumexp

import bayesclf as bc
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import Axes, BayesianNetwork, JointTable, dirichlet
from bayesclf.families.multivariate.groups import GroupedMoments
from bayesclf.families.networks import tables

SIZES = (2, 3, 2, 2)
NAMES = ("a", "b", "c", "d")
AXES = Axes(("no", "yes"), NAMES, tuple(tuple(range(size)) for size in SIZES))
CHAIN = (("a", "b"), ("b", "c"), ("c", "d"))
DIAMOND = (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
FULL = tuple(itertools.combinations(NAMES, 2))

FAMILIES = {
    "joint": JointTable(),
    "chain": BayesianNetwork(edges=CHAIN),
    "diamond": BayesianNetwork(edges=DIAMOND),
    "collider": BayesianNetwork(edges=(("a", "d"), ("b", "d"), ("c", "d"))),
    "backwards": BayesianNetwork(edges=(("d", "c"), ("c", "a"), ("d", "b"))),
    "full": BayesianNetwork(edges=FULL),
    "no edges": BayesianNetwork(edges=()),
}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def rows(rng, n=60, missing=0.0):
    y = rng.integers(2, size=n)
    X = np.stack([rng.integers(size, size=n) for size in SIZES], axis=1)
    X[:, 1] = np.where(rng.random(n) < 0.5, X[:, 0] + y, X[:, 1])
    X[rng.random(X.shape) < missing] = -1
    return X, y


def every_row(sizes=SIZES):
    return np.array(list(itertools.product(*(range(size) for size in sizes))))


def resolved(family, X, y, axes=AXES):
    statistics = family.statistics(X, y, axes)
    return family.resolve_prior(statistics), statistics


def assert_same_probabilities(one, other, tolerance=1e-12):
    np.testing.assert_allclose(np.exp(one), np.exp(other), rtol=0, atol=tolerance)


# Densities


@every_family
def test_missing_cells_are_summed_over_all_completions(family, rng):
    prior, _ = resolved(family, *rows(rng))
    parameters = prior.draw(rng, 3)
    complete = prior.log_density(every_row(), parameters)
    X = np.array(list(itertools.product(*(range(-1, size) for size in SIZES))))
    found = prior.log_density(X, parameters)
    for x, density in zip(X, np.moveaxis(found, 1, 0), strict=True):
        fits = ((every_row() == x) | (x < 0)).all(axis=1)
        np.testing.assert_allclose(density, logsumexp(complete[:, fits], axis=1), atol=1e-12)


def test_rows_of_any_number_share_one_pass_in_blocks(rng, monkeypatch):
    family = resolved(FAMILIES["diamond"], *rows(rng))[0]
    X, parameters = rows(rng, 50, 0.5)[0], family.draw(rng, 4)
    at_once = family.log_density(X, parameters)
    monkeypatch.setattr(tables, "WORK_BYTES", 1)
    np.testing.assert_allclose(family.log_density(X, parameters), at_once, rtol=1e-13)


def test_a_chain_of_many_missing_cells_is_summed_link_by_link():
    """P(x_100 | x_1) of a Markov chain is a power of its transition matrix."""
    names = tuple(f"x{j}" for j in range(100))
    axes = Axes(("k",), names, ((0, 1),) * 100)
    family = BayesianNetwork(edges=tuple(itertools.pairwise(names)), alpha=np.ones((1, 398)), axes=axes)
    transition = np.array([[0.9, 0.1], [0.3, 0.7]])
    theta = np.concatenate([[0.4, 0.6], np.tile(transition.ravel(), 99)])[None, None]
    X = np.full((4, 100), -1)
    X[:, [0, 99]] = [[0, 0], [0, 1], [1, 0], [1, 1]]
    expected = np.array([[0.4], [0.6]]) * np.linalg.matrix_power(transition, 99)
    np.testing.assert_allclose(np.exp(family.log_density(X, {"theta": theta}))[0, :, 0], expected.ravel(), rtol=1e-12)


def test_missing_cells_that_hang_together_by_too_many_are_refused(rng, monkeypatch):
    family = resolved(FAMILIES["diamond"], *rows(rng))[0]
    monkeypatch.setattr(tables, "LARGEST_TABLE", 4)
    with pytest.raises(Refused, match=r"columns 'a', 'b', 'c' takes a table of 12 combinations \(limit 4\)"):
        family.log_density(np.array([[-1, -1, -1, 0]]), family.draw(rng, 1))


def test_impossible_rows_have_density_zero_with_missing_cells_too():
    axes = Axes(("k",), ("a", "b"), ((0, 1), (0, 1)))
    X, y = np.array([[0, 0], [1, 0]]), np.zeros(2, dtype=int)
    for family in (JointTable(), BayesianNetwork(edges=(("a", "b"),))):
        prior, statistics = resolved(family, X, y, axes)
        found = prior.log_density(np.array([[-1, 1], [-1, 0], [0, 1]]), prior.mle(statistics))
        np.testing.assert_allclose(np.exp(found[0, :, 0]), [0.0, 1.0, 0.0])


# Identities


@pytest.mark.parametrize("n", [8, 300])
def test_maximum_likelihood_of_all_edges_is_that_of_the_joint_table(rng, n):
    X, y = rows(rng, n)
    (network, counted), (joint, same) = (resolved(FAMILIES[name], X, y) for name in ("full", "joint"))
    one, other = network.mle(counted), joint.mle(same)
    assert_same_probabilities(network.log_density(every_row(), one), joint.log_density(every_row(), other))


# Missing cells in training rows


def objective(family, statistics, prior=0.0):
    """Return the observed-data log likelihood with Σ prior log θ, of θ (outcome, cell), by the rows' own density."""

    def value(theta):
        with np.errstate(divide="ignore"):
            log_prior = np.sum(prior * np.log(theta)) if prior else 0.0
        X, counts = statistics.row_counts
        log_density = family.log_density(X, {"theta": theta[None]})[0]
        return float(np.sum(counts * np.where(counts > 0, log_density.T, 0.0)) + log_prior)

    return value


@pytest.mark.parametrize("family", [JointTable(), BayesianNetwork(edges=(("a", "b"),))], ids=["joint", "network"])
@pytest.mark.parametrize("estimate", ["mle", "map"])
def test_em_finds_the_optimum_of_a_tiny_table(family, estimate):
    X = np.array([[0, 0]] * 3 + [[0, 1]] + [[1, 1]] * 2 + [[1, 0]] + [[-1, 1]] * 3 + [[1, -1]] * 2)
    axes, y = Axes(("k",), ("a", "b"), ((0, 1), (0, 1))), np.arange(len(X)) % 2
    prior, statistics = resolved(family, X, 0 * y, axes)
    value = objective(prior, statistics, 1.0 if estimate == "map" else 0.0)
    simplexes = prior.layout(axes).simplexes

    def negative(logits):
        return -value(dirichlet.normalize(np.exp(logits)[None], simplexes))

    best = optimize.minimize(negative, np.zeros(sum(simplexes)), tol=1e-12)
    found = getattr(prior, estimate)(statistics)["theta"][0]
    np.testing.assert_allclose(value(found), -best.fun, rtol=1e-9)
    np.testing.assert_allclose(found, dirichlet.normalize(np.exp(best.x)[None], simplexes), atol=1e-4)
    if isinstance(family, BayesianNetwork):  # tables of all classes are those of all rows
        free, of_classes = resolved(replace(family, class_free=("a", "b")), X, y, replace(axes, labels=("k", "l")))
        np.testing.assert_allclose(getattr(free, estimate)(of_classes)["theta"][0], [found[0], found[0]], atol=1e-4)


def test_a_missing_cell_that_no_observed_one_depends_on_leaves_a_closed_form(rng):
    X, y = rows(rng)
    X[::3, 3] = -1
    family, statistics = resolved(FAMILIES["chain"], X, y)
    assert not family.not_conjugate(statistics)
    counts, sums = tables.split(family.layout(AXES), statistics)
    assert len(sums) == 0
    # Of d only the rows that have it count, of the others all.
    assert [counts[:, start:stop].sum() for start, stop in ((0, 2), (2, 8), (8, 14), (14, 18))] == [60, 60, 60, 40]


def test_too_many_completions_are_refused(rng, monkeypatch):
    family, statistics = resolved(FAMILIES["joint"], *rows(rng, 60, 0.3))
    monkeypatch.setattr(tables, "LARGEST_SUMS", 10)
    with pytest.raises(Refused, match=r"completions × tables to be summed over \(limit 10\); fit with missing='level'"):
        family.map(statistics)


# What does not exist, what is refused


def test_maximum_likelihood_of_a_configuration_without_rows():
    """c depends on a and b: the pair (1, 1) never occurs, but has probability 1/4 under independent parents."""
    axes = Axes(("k",), ("a", "b", "c"), ((0, 1),) * 3)
    X = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 0]])
    collider = BayesianNetwork(edges=(("a", "c"), ("b", "c")))
    with pytest.raises(DoesNotExist, match="class 'k' has no value in column 'c' where a=1, b=1"):
        collider.mle(collider.statistics(X, np.zeros(3, dtype=int), axes))
    full = BayesianNetwork(edges=(("a", "b"), ("a", "c"), ("b", "c")))
    family, statistics = resolved(full, X, np.zeros(3, dtype=int), axes)
    found = np.exp(family.log_density(every_row((2, 2, 2)), family.mle(statistics))[0, :, 0])
    np.testing.assert_allclose(found, [1 / 3, 0, 0, 1 / 3, 1 / 3, 0, 0, 0], atol=1e-15)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_mode_below_one_does_not_exist(rng, missing):
    family, statistics = resolved(JointTable(0.5), *rows(rng, 20, missing))
    with pytest.raises(DoesNotExist, match="class 'no' has no single most probable θ for 'a="):
        family.map(statistics)
    softmax, statistics = resolved(JointTable(0.5, "softmax"), *rows(rng, 20, missing))
    assert (softmax.map(statistics)["theta"] > 0).all()


def test_where_em_stays_at_a_saddle_no_mode_exists():
    """Cells that no row without a gap has, at θ alike: EM stays there, though the density grows to either side."""
    X, axes = np.array([[0, 0], [0, 1]] * 2 + [[1, -1]] * 6), Axes(("k",), ("a", "b"), ((0, 1),) * 2)
    family, statistics = resolved(JointTable(0.5), X, np.zeros(10, int), axes)
    with pytest.raises(DoesNotExist, match="class 'k' has no single most probable θ"):
        family.map(statistics)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_mode_under_a_flat_prior_is_the_maximum_of_likelihood_also_where_cells_are_never_seen(rng, missing):
    family, statistics = resolved(JointTable(1.0), *rows(rng, 20, missing))
    found = family.map(statistics)["theta"]
    np.testing.assert_allclose(found, family.mle(statistics)["theta"], atol=1e-6)
    assert (found < 1e-12).any()


def test_a_table_too_large_to_hold_is_refused():
    axes = Axes(("no", "yes"), tuple(f"x{j}" for j in range(16)), (("n", "y"),) * 16)
    X = np.zeros((2, 16), dtype=int)
    with pytest.raises(Refused, match=r"the joint table of 16 columns has 2 × 65,536 probabilities \(limit 32,768\)"):
        resolved(JointTable(), X, np.array([0, 1]), axes)
    edges = tuple((f"x{j}", "x15") for j in range(15))
    with pytest.raises(Refused, match=r"the network, the most of it in column 'x15' with 15 parents, has 2 × 65,566"):
        resolved(BayesianNetwork(edges=edges), X, np.array([0, 1]), axes)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("forest", "edges must be 'tan' or pairs of column names, .* not 'forest'"),
        ((("a", "b", "c"),), r"edges must be pairs of column names, \(parent, child\)"),
        ((("a", "b"), ("a", "b")), r"the edge \('a', 'b'\) is given twice; give each edge once"),
        ((("a", "b"), ("b", "c"), ("c", "a")), "the edges form a cycle, .*; leave one of them out"),
        ((("a", "a"),), "the edges form a cycle, 'a' → 'a'"),
    ],
)
def test_edges_are_checked(edges, message):
    with pytest.raises(InputError, match=message):
        BayesianNetwork(edges=edges)


def test_edges_of_unknown_columns_are_named(rng):
    family = BayesianNetwork(edges=(("a", "z"),))
    with pytest.raises(
        InputError, match=r"the edge \('a', 'z'\) names column 'z', but the table has 'a', 'b', 'c', 'd'"
    ):
        family.informative(family.statistics(*rows(rng), AXES))


# Row counts and layouts


def test_row_counts_of_many_features_do_not_overflow(rng):
    X = rng.integers(3, size=(50, 80))
    axes = Axes(("k",), tuple(map(str, range(80))), ((0, 1, 2),) * 80)
    counted = GroupedMoments.of(np.vstack([X, X[:10]]), np.zeros(60, dtype=int), axes)
    np.testing.assert_array_equal(counted.row_counts[0], np.unique(X, axis=0))
    assert counted.row_counts[1].sum() == 60


def test_a_configuration_is_possible_whatever_the_columns_outside_of_it():
    a, b, c = np.array([[0, 0, 0], [0, 0, 1]] * 2 + [[1, 0, 0], [1, 1, 1]]).T
    X = pd.DataFrame({"a": a, "b": b, "c": c}).astype(str)
    X.loc[4, "b"] = None  # the only row of class p with a = 1, which does not say what b is
    y = np.array(["p", "q", "p", "q", "p", "q"])
    clf = bc.NaiveBayes({("a", "b", "c"): BayesianNetwork(edges=(("a", "b"),))}, inference="mle", random_state=1)
    with pytest.raises(DoesNotExist, match="class 'p' has no value in column 'b' where a=1"):
        clf.fit(X, y).predict(X)
    X["d"] = X["e"] = ["0", "0", "1", "1", "1", "0"]
    X.loc[2, "d"] = None  # so that d's tables are estimated by EM
    clf = bc.BayesNetClassifier((("a", "b"), ("d", "e")), inference="mle", random_state=1)
    with pytest.raises(DoesNotExist, match="class 'p' has no value in column 'b' where a=1"):
        clf.fit(X, y).predict(X)
