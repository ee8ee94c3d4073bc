"""Networks drawn by the probabilities of their edges."""

import numpy as np
import pytest
from helpers.drawn import texts
from matplotlib.colors import to_hex

import bayesclf as bc
from bayesclf import plots
from bayesclf.errors import InputError, RefusedAttribute
from bayesclf.plots import dependence, style

CHOSEN = style.class_color(1)


def rows(rng, n=200):
    """Return five columns of which the second repeats the first and the fourth the third, and labels."""
    X = rng.integers(3, size=(n, 5))
    X[:, 1] = np.where(rng.random(n) < 0.9, X[:, 0], X[:, 1])
    X[:, 3] = np.where(rng.random(n) < 0.8, X[:, 2], X[:, 3])
    return X.astype(str), np.where(rng.random(n) < 0.5, "no $", "yes")


def lines(ax):
    """Return color and width of each line, by the columns that it joins."""
    dots = next(line for line in ax.lines if line.get_linestyle() == "None")
    place = {tuple(np.round(at, 6)): j for j, at in enumerate(zip(*dots.get_data(), strict=True))}
    found = {}
    for line in ax.lines:
        if line is not dots:
            i, j = (place[tuple(np.round(at, 6))] for at in zip(*line.get_data(), strict=True))
            found[i, j] = (to_hex(line.get_color()), line.get_linewidth())
    return found


def test_lines_are_as_wide_as_edges_are_probable(rng):
    clf = bc.BayesNetClassifier("all-trees", random_state=0).fit(*rows(rng))
    figure = plots.edge_probabilities(clf, least=0.01)
    (ax,) = figure.axes
    drawn, values = lines(ax), clf.edge_probabilities_.to_numpy()
    assert set(drawn) == {(i, j) for i in range(5) for j in range(i + 1, 5) if values[i, j] >= 0.01}
    for (i, j), (_, width) in drawn.items():
        assert width == pytest.approx(dependence.WIDEST * values[i, j])
    chosen = {frozenset((f"x{i}", f"x{j}")) for (i, j), (color, _) in drawn.items() if color == CHOSEN}
    assert chosen == set(map(frozenset, clf.edges_))
    assert {"x0", "x1", "x2", "x3", "x4"} <= set(texts(figure))


def test_what_cannot_be_drawn_is_refused(rng):
    X, y = rows(rng)
    with pytest.raises(RefusedAttribute, match="edge_probabilities_ is of structure='all-trees' or 'all-forests'"):
        plots.edge_probabilities(bc.BayesNetClassifier(random_state=0).fit(X, y))
    clf = bc.BayesNetClassifier("all-trees", random_state=0).fit(X, y)
    with pytest.raises(InputError, match="least must lie between 0 and 1"):
        plots.edge_probabilities(clf, least=2)
