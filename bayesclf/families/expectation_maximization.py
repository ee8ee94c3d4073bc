"""Estimates of a multivariate Gaussian from rows with missing cells, by expectation and maximisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayesclf.errors import DoesNotExist
from bayesclf.families.covariance import submatrix
from bayesclf.families.scatters import Scatters
from bayesclf.typing import Array, Parameters

TOLERANCE = 1e-11
"""Largest change of an estimate in one step, in standard deviations, at which it has settled."""

STEPS = 20_000


@dataclass(frozen=True)
class Estimate:
    """Where expectation and maximisation arrived.

    Attributes
    ----------
    parameters
        μ and Σ, draw axis of length 1.
    settled
        Whether the last step changed nothing any more.
    """

    parameters: Parameters
    settled: bool


def estimate(
    statistics: Scatters, maximisation: Callable[[Scatters], Parameters], start: Callable[[], Parameters]
) -> Parameters:
    """Return the estimate, at once from complete rows; raises `DoesNotExist` where it does not settle."""
    if not statistics.missing():
        return maximisation(statistics)
    found = maximise(statistics, maximisation, start())
    if not found.settled:
        raise DoesNotExist(
            f"the estimate has not settled after {STEPS} steps of expectation and maximisation: too few rows have the "
            "same cells; use inference='nuts', or drop columns"
        )
    return found.parameters


def maximise(
    statistics: Scatters, maximisation: Callable[[Scatters], Parameters], start: Parameters, steps: int = STEPS
) -> Estimate:
    """Return the estimate from rows with missing cells; no step lowers its observed-data likelihood (times prior).

    Parameters
    ----------
    statistics
        Scatters of every pattern of missing cells.
    maximisation
        The estimate from complete rows.
    start
        Where to start; Σ is (draw, feature, other_feature) or (draw, outcome, feature, other_feature).
    steps
        Number of steps after which to give up.

    References
    ----------
    Dempster, Laird and Rubin (1977); Little and Rubin, *Statistical Analysis with Missing Data*, §11.2.
    """
    now = start
    for _ in range(steps):
        after = maximisation(expectation(statistics, now))
        change = _change(now, after)
        now = after
        if change < TOLERANCE:
            return Estimate(now, True)
    return Estimate(now, False)


def expectation(statistics: Scatters, parameters: Parameters) -> Scatters:
    """Return the expected scatters of the complete rows, given the seen cells and the parameters.

    Of the missing cells u given the seen s: mean μ_u + B(x_s − μ_s), covariance Σ_uu − BΣ_su, B = Σ_us Σ_ss⁻¹.
    """
    mu, Sigma = parameters["mu"][0], _of_label(parameters)
    features = mu.shape[1]
    total: Scatters | None = None
    for p, s in enumerate(statistics.seen):
        n, mean, scatter = statistics.n[p], statistics.mean[p], statistics.scatter[p]
        if not s.all():
            B = np.linalg.solve(submatrix(Sigma, s), Sigma[:, s][:, :, ~s]).swapaxes(1, 2)
            T = np.zeros((len(mu), features, int(s.sum())))
            T[:, s], T[:, ~s] = np.eye(int(s.sum())), B
            inside = np.zeros_like(scatter)
            inside[:, np.ix_(~s, ~s)[0], np.ix_(~s, ~s)[1]] = submatrix(Sigma, ~s) - B @ Sigma[:, s][:, :, ~s]
            mean = mu + np.einsum("kfs,ks->kf", T, mean[:, s] - mu[:, s])
            scatter = T @ submatrix(scatter, s) @ T.swapaxes(1, 2) + n[:, None, None] * inside
            mean = np.where(n[:, None] > 0, mean, 0.0)
        part = Scatters.complete(statistics.axes, n, mean, scatter)
        total = part if total is None else total + part
    assert total is not None
    return total


def observed_log_likelihood(statistics: Scatters, parameters: Parameters) -> float:
    """Return Σ log p(seen cells | y, μ, Σ) over all rows.

    Each pattern and class gives −(n/2) log|2πΣ_ss| − ½ tr Σ_ss⁻¹(S + n(x̄ − μ_s)(x̄ − μ_s)ᵀ).
    """
    mu, Sigma = parameters["mu"][0], _of_label(parameters)
    total = 0.0
    for p, s in enumerate(statistics.seen):
        n, deviation = statistics.n[p], (statistics.mean[p] - mu)[:, s]
        outer = deviation[:, :, None] * deviation[:, None, :] * n[:, None, None]
        covariance = submatrix(Sigma, s)
        squares = np.linalg.solve(covariance, submatrix(statistics.scatter[p], s) + outer)
        log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
        total -= 0.5 * float(np.sum(n * log_det) + np.trace(squares, axis1=1, axis2=2).sum())
    return total


def _of_label(parameters: Parameters) -> Array:
    """Return Σ (outcome, feature, other_feature), also where the classes share it."""
    mu, Sigma = parameters["mu"][0], parameters["Sigma"][0]
    return np.broadcast_to(Sigma, (len(mu), *Sigma.shape[-2:]))


def _change(before: Parameters, after: Parameters) -> float:
    """Return the largest change in units of the standard deviations."""
    Sigma = _of_label(after)
    sd = np.sqrt(np.diagonal(Sigma, axis1=1, axis2=2))
    of_mean = np.abs(after["mu"][0] - before["mu"][0]) / sd
    of_covariance = np.abs(Sigma - _of_label(before)) / (sd[:, :, None] * sd[:, None, :])
    return float(max(of_mean.max(), of_covariance.max()))
