"""Log densities of normal and t columns by products, against sums over cells."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from bayesclf.families import gaussian as normal_scores
from bayesclf.families.gaussian import NormalScores, StudentScores

RNG = np.random.default_rng(3)
MU = RNG.normal(size=(5, 3, 7)) * 4
X = RNG.normal(size=(40, 7)) * 3


def holed(cells):
    """Return cells of which some are missing, all of row 1."""
    holes = np.where(np.random.default_rng(0).random(cells.shape) < 0.3, np.nan, cells)
    holes[1] = np.nan
    return holes


@pytest.mark.parametrize("cells", [X, holed(X)], ids=["complete", "holes"])
@pytest.mark.parametrize("draws", [1, 5])
def test_normal(cells, draws, monkeypatch):
    monkeypatch.setattr(normal_scores, "CACHED_CELLS", 50)
    mu, sigma2 = MU[:draws], np.exp(MU[:draws])
    of_cells = stats.norm.logpdf(cells[None, :, None], mu[:, None], np.sqrt(sigma2[:, None]))
    expected = np.where(np.isnan(of_cells), 0.0, of_cells).sum(axis=3)
    found = NormalScores(mu, sigma2)(cells)
    assert found.shape == (draws, 40, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def t_cells(cells, nu, m, scale):
    """Return the log density of each cell, (row, outcome, feature), in extended precision."""
    wide = np.longdouble
    z2 = (cells.astype(wide)[:, None] - m.astype(wide)) ** 2 / scale.astype(wide)
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - 0.5 * np.log(scale)
    return constant - (nu.astype(wide) + 1) / 2 * np.log1p(z2 / nu)


@pytest.mark.parametrize("cells", [X, holed(X), X * 1e60], ids=["complete", "holes", "far"])
@pytest.mark.parametrize(
    "nu",
    [
        np.full((3, 7), 4.0),
        np.full((1, 7), 1e6),
        np.array([[3.0], [50.0], [1e7]]) * np.ones(7),
        np.array([[3.0, 9.0, 3.0, 5.0, 9.0, 3.0, 1e5]]) * np.ones((3, 1)),
        RNG.uniform(1, 9, size=(3, 7)),
    ],
    ids=["few", "many rows", "by class", "by feature", "by cell"],
)
def test_student(cells, nu, monkeypatch):
    monkeypatch.setattr(normal_scores, "CACHED_CELLS", 50)
    m, scale = MU[0], np.exp(MU[1])
    of_cells = t_cells(cells, np.broadcast_to(nu, m.shape), m, scale)
    expected = np.where(np.isnan(of_cells), 0.0, of_cells).sum(axis=2).astype(float)
    found = StudentScores(nu, m, scale)(cells)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11 if nu.max() > 1e3 else 1e-12)


def test_no_rows():
    assert NormalScores(MU, np.exp(MU))(X[:0]).shape == (5, 0, 3)
    assert StudentScores(np.full((1, 7), 4.0), MU[0], np.exp(MU[1]))(X[:0]).shape == (0, 3)
