"""Missing cells drawn given θ: their expected counts are those of the E step, however the sums are nested."""

import numpy as np
import pytest

from bayesclf.errors import Refused
from bayesclf.families import Axes, BayesianNetwork, JointTable
from bayesclf.families.networks import augmentation, row_counts
from bayesclf.families.networks.augmentation import circuit
from bayesclf.families.networks.row_counts import RowCounts

SIZES = (2, 3, 2, 4, 2)
NAMES = tuple("abcde")
AXES = Axes(("no", "yes"), NAMES, tuple(tuple(range(size)) for size in SIZES))
TREE = (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"))
GRAPH = (("a", "c"), ("b", "c"), ("c", "d"), ("b", "d"), ("d", "e"))
FAMILIES = {
    "tree": BayesianNetwork(edges=TREE),
    "graph": BayesianNetwork(edges=GRAPH),
    "joint": JointTable(),
}
DRAWS = 3000
FALSE_ALARM = 4.5
"""Standard errors by which one of the counts may be off."""


def rows_with_gaps(rng, n=60, share=0.35):
    X = np.column_stack([rng.integers(size, size=n) for size in SIZES])
    return np.where(rng.random(X.shape) < share, -1, X), rng.integers(2, size=n)


def drawable(family, rng):
    """Return counts of observed cells, and the circuit and sums of the same rows with gaps, with their θ."""
    statistics = RowCounts.of(*rows_with_gaps(rng), AXES)
    layout = family.layout(AXES)
    observed, keys, counts = row_counts.keyed(layout, statistics)
    theta = family.resolve_prior(statistics).draw(rng, 1)["theta"][0]
    return layout, observed, circuit(layout, keys, counts), row_counts.split(layout, statistics)[1], theta


@pytest.mark.parametrize("together", [1, 64], ids=["nested sums", "flat sums"])
@pytest.mark.parametrize("name", FAMILIES)
def test_expected_counts_are_those_of_the_e_step(name, together, rng, monkeypatch):
    monkeypatch.setattr(augmentation, "SUMMED_TOGETHER", together)
    _, _, drawn, sums, theta = drawable(FAMILIES[name], rng)
    nested = sum(len(layer.of) for layer in drawn.layers) > len(drawn.roots)
    assert nested == (together == 1 and name != "joint")
    log_theta = np.log(theta.ravel()[drawn.cells])
    counts = np.array([drawn.draw(log_theta, rng) for _ in range(DRAWS)])
    expected = row_counts.expected_counts(sums, theta).ravel()
    assert not np.delete(expected, drawn.cells).any()
    error = counts.std(axis=0) / np.sqrt(DRAWS)
    difference = np.abs(counts.mean(axis=0) - expected[drawn.cells])
    assert (difference <= FALSE_ALARM * error + 1e-9).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_each_row_has_one_cell_of_each_table(name, rng):
    """With the counts of tables without gaps, each table has as many rows as there are with a class."""
    layout, observed, drawn, sums, theta = drawable(FAMILIES[name], rng)
    counts = np.zeros(observed.size)
    counts[drawn.cells] = drawn.draw(np.log(theta.ravel()[drawn.cells]), rng)
    total = row_counts.expected_counts(sums, theta)
    tables = layout.starts
    np.testing.assert_allclose(
        np.add.reduceat(counts.reshape(observed.shape), tables, axis=1), np.add.reduceat(total, tables, axis=1)
    )
    np.testing.assert_array_equal(counts, np.round(counts))


def test_completions_of_one_row_are_drawn_jointly(rng):
    """A row without any cell but one: pairs of values have the probabilities of enumeration."""
    family = BayesianNetwork(edges=(("a", "b"), ("a", "c"), ("c", "d"), ("c", "e")))
    X = np.array([[-1, -1, 0, -1, 1]])
    statistics = RowCounts.of(np.repeat(X, 200, axis=0), np.zeros(200, dtype=int), AXES)
    theta = family.resolve_prior(statistics).draw(rng, 1)["theta"]
    layout = family.layout(AXES)
    _, keys, counts = row_counts.keyed(layout, statistics)
    drawn = circuit(layout, keys, counts)
    tables = [drawn.draw(np.log(theta[0].ravel()[drawn.cells]), rng) for _ in range(100)]
    own = layout.cells_of(np.array([[a, b, 0, 0, 1] for a in range(2) for b in range(3)]))
    # Only the cells of a and of c given a are in the sum: b and d have no observed descendants.
    a = theta[0, 0, own[[0, 3], 0]] * theta[0, 0, own[[0, 3], 2]]
    found = np.mean([counts[np.searchsorted(drawn.cells, own[[0, 3], 0])] for counts in tables], axis=0)
    np.testing.assert_allclose(found / 200, a / a.sum(), atol=4.5 * np.sqrt(0.25 / 20_000))
    assert not np.isin(own[:3, 1], drawn.cells).any()


def test_many_rows_cost_what_their_kinds_do(rng):
    X, y = rows_with_gaps(rng)
    layout = FAMILIES["tree"].layout(AXES)
    sizes = []
    for times in (1, 50):
        statistics = RowCounts.of(np.tile(X, (times, 1)), np.tile(y, times), AXES)
        _, keys, counts = row_counts.keyed(layout, statistics)
        sizes.append(circuit(layout, keys, counts).size)
    assert sizes[0] == sizes[1]


def test_long_gaps_take_elimination(rng):
    """40 missing cells of a chain have 2^40 completions, and a circuit of 40 small sums."""
    features = 42
    axes = Axes(("no",), tuple(map(str, range(features))), ((0, 1),) * features)
    family = BayesianNetwork(edges=tuple((str(j), str(j + 1)) for j in range(features - 1)))
    X = np.full((3, features), -1)
    X[:, [0, -1]] = rng.integers(2, size=(3, 2))
    statistics = RowCounts.of(X, np.zeros(3, dtype=int), axes)
    layout = family.layout(axes)
    with pytest.raises(Refused, match="completions × tables to be summed over"):
        row_counts.split(layout, statistics)
    _, keys, counts = row_counts.keyed(layout, statistics)
    drawn = circuit(layout, keys, counts)
    values = drawn.draw(np.full(len(drawn.cells), np.log(0.5)), rng)
    tables = np.add.reduceat(values, np.searchsorted(drawn.cells, layout.starts[1:]))
    np.testing.assert_array_equal(tables, 3)


def test_too_large_sums_are_refused(rng, monkeypatch):
    monkeypatch.setattr(augmentation, "LARGEST_CIRCUIT", 10)
    with pytest.raises(Refused, match=r"completions × tables to be summed over \(limit 10\); fit with missing='level'"):
        drawable(FAMILIES["graph"], rng)
