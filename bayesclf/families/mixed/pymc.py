"""PyMC variables of linear regressions: coefficients, variances, and the observed moments or rows.

The regressions of all numbers with as many coefficients are one variable, those of all classes one of their own. The
coefficients are sampled in coordinates that the rows make independent of the variances and standard normal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

from bayesclf.arrays import Array
from bayesclf.families.base import Axes
from bayesclf.families.mixed.regressions import NormalInverseGamma, Regression, Sums, names
from bayesclf.families.pymc import ALL


class _Located(Transform):  # type: ignore[misc]
    """Coordinates w of coefficients: β = center + σFw, given σ² independent and standard normal in the posterior.

    σ², center, F and F⁻¹ are the last four of their six parameters.
    """

    name = "located"

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return w of β."""
        return _product(inputs[6], value - inputs[4]) / pt.sqrt(inputs[3])[..., None]

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return β of w."""
        return inputs[4] + pt.sqrt(inputs[3])[..., None] * _product(inputs[5], value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return log|σF|, F triangular."""
        return pt.log(_diagonal(inputs[5])).sum(axis=-1) + 0.5 * value.shape[-1] * pt.log(inputs[3])


@dataclass(frozen=True)
class Sized:
    """The regressions with the same number of coefficients, of each class or of all.

    Attributes
    ----------
    width
        Number of coefficients.
    class_free
        Whether they are those of all classes.
    numbers
        Positions, among the regressions of all numbers, of those that it has, one number after the other.
    """

    width: int
    class_free: bool
    numbers: tuple[int, ...]

    @property
    def suffix(self) -> str:
        """What is added to the names of its variables."""
        return f"_{self.width}_terms{'_shared' * self.class_free}"

    def joined(self, values: list[Array]) -> Array:
        """Return arrays (outcome, configuration, …) of all numbers as one of its own, (outcome or 1, regression, …)."""
        return np.concatenate(
            [values[number][: 1 if self.class_free else None] for number in self.numbers],
            axis=1,
        )

    def starts(self, regressions: tuple[Regression, ...]) -> Iterator[tuple[int, slice]]:
        """Yield the position of each number's regressions, and the place of these along its own axis."""
        start = 0
        for number in self.numbers:
            end = start + regressions[number].count
            yield number, slice(start, end)
            start = end


def sized(regressions: tuple[Regression, ...]) -> Iterator[Sized]:
    """Yield the groups of regressions."""
    kinds = [(own.width, own.class_free) for own in regressions]
    for kind in sorted(set(kinds)):
        yield Sized(*kind, tuple(number for number, own in enumerate(kinds) if own == kind))


def add_regressions(
    axes: Axes, prior: list[tuple[Regression, NormalInverseGamma]], sums: list[Sums], suffix: str
) -> list[tuple[Sized, Any, Any]]:
    """Add σ² ~ InvGamma(a, b) and β ~ Normal(m, σ²Λ⁻¹) to the open model, β0 at parents of 0, for each group.

    Parameters
    ----------
    axes
        Of the block.
    prior
        The regressions of each number, and their distribution.
    sums
        Of the training rows, for each number; they tell where the posterior is, and add nothing to the density.
    suffix
        What is added to the names.

    Returns
    -------
    list
        The group, β (outcome or 1, regression, term), and σ² (outcome or 1, regression).
    """
    model, out = pm.modelcontext(None), []
    regressions, priors = tuple(own for own, _ in prior), [part for _, part in prior]
    of_numbers = [names(axes, [own])[1] for own in regressions]
    posteriors = [part.updated(own) for part, own in zip(priors, sums, strict=True)]
    for group in sized(regressions):
        name = group.suffix + suffix
        axis, term = f"regression{name}", f"coefficient{name}"
        own_names = [one for number in group.numbers for one in of_numbers[number]]
        model.add_coords({axis: own_names, term: range(group.width), **({ALL: ["all"]} if group.class_free else {})})
        dims = (ALL if group.class_free else "outcome", axis)
        a, b = (pm.Data(f"sigma2_{of}{name}", group.joined([getattr(p, of) for p in priors])) for of in ("a", "b"))
        sigma2 = pm.InverseGamma(f"sigma2{name}", a, b, dims=dims)
        m, whiten = (group.joined(list(values)) for values in zip(*map(_location, priors), strict=True))
        center, inverse = (group.joined(list(values)) for values in zip(*map(_location, posteriors), strict=True))
        given = {"m": m, "whiten": whiten, "centre": center, "factor": np.linalg.inv(inverse), "inverse": inverse}
        data = {of: pm.Data(f"beta_{of}{name}", values) for of, values in given.items()}
        beta = pm.CustomDist(
            f"beta{name}",
            *(data["m"], data["whiten"], sigma2, data["centre"], data["factor"], data["inverse"]),
            logp=_normal_logp,
            dist=lambda m, whiten, sigma2, center, *factors: center,  # for its shape: NUTS draws none
            support_point=lambda rv, size, m, whiten, sigma2, center, *factors: center,
            signature="(t),(t,t),(),(t),(t,t),(t,t)->(t)",
            transform=_Located(),
            dims=(*dims, term),
        )
        out.append((group, beta, sigma2))
    _add_flat(regressions, len(axes.labels), out, suffix)
    return out


def _add_flat(
    regressions: tuple[Regression, ...], labels: int, variables: list[tuple[Sized, Any, Any]], suffix: str
) -> None:
    """Add β and σ² of all numbers on the flat axes of the posterior, those of all classes repeated."""
    found: dict[int, tuple[Any, Any]] = {}
    for group, *values in variables:
        beta, sigma2 = (pt.repeat(value, labels, axis=0) if group.class_free else value for value in values)
        for number, own in group.starts(regressions):
            found[number] = beta[:, own].reshape((labels, -1)), sigma2[:, own]
    for name, axis, place in (("beta", "term", 0), ("sigma2", "regression", 1)):
        parts = [found[number][place] for number in range(len(found))]
        if parts:
            pm.Deterministic(f"{name}{suffix}", pt.concatenate(parts, axis=1), dims=("outcome", f"{axis}{suffix}"))


def regressions_of(
    regressions: tuple[Regression, ...], labels: int, draws: Mapping[str, Array], suffix: str
) -> list[tuple[Array, Array]]:
    """Return β (draw, outcome, configuration, term) and σ² (draw, outcome, configuration) of each number from draws."""
    found: dict[int, tuple[Array, Array]] = {}
    for group in sized(regressions):
        beta, sigma2 = draws[f"beta{group.suffix}{suffix}"], draws[f"sigma2{group.suffix}{suffix}"]
        if group.class_free:
            beta, sigma2 = (np.repeat(values, labels, axis=1) for values in (beta, sigma2))
        for number, own in group.starts(regressions):
            found[number] = beta[:, :, own], sigma2[:, :, own]
    return [found[number] for number in range(len(found))]


def _location(part: NormalInverseGamma) -> tuple[Array, Array]:
    """Return the mean of β, from 0, and the upper triangular G with Λ = GᵀG, (outcome, configuration, …)."""
    from_zero = np.eye(part.m.shape[-1])
    from_zero[0, 1:] = part.centre
    return part.moved(part.m), np.linalg.cholesky(part.precision).swapaxes(-1, -2) @ from_zero


def _product(matrix: Any, vector: Any) -> Any:
    return (matrix * vector[..., None, :]).sum(axis=-1)


def _diagonal(matrix: Any) -> Any:
    return (matrix * pt.eye(matrix.shape[-1])).sum(axis=-1)


def _normal_logp(beta: Any, m: Any, whiten: Any, sigma2: Any, *reference: Any) -> Any:
    squares = (_product(whiten, beta - m) ** 2).sum(axis=-1) / sigma2
    log_det = pt.log(_diagonal(whiten)).sum(axis=-1)
    return log_det - 0.5 * (squares + beta.shape[-1] * pt.log(2 * np.pi * sigma2))


def observe_sums(variables: list[tuple[Sized, Any, Any]], sums: list[Sums], suffix: str) -> None:
    """Add the log likelihood −(n/2) log 2πσ² − Σ(x − βᵀz)²/2σ² of numbers, from their moments and their parents'."""
    for group, beta, sigma2 in variables:
        name = group.suffix + suffix
        n, mean, scatter = (group.joined([getattr(own, of) for own in sums]) for of in ("n", "mean", "scatter"))
        z = np.concatenate([np.ones((*mean.shape[:-1], 1)), mean[..., :-1]], axis=-1)
        within, cross = np.zeros((*mean.shape, mean.shape[-1])), np.zeros(mean.shape)
        within[..., 1:, 1:], cross[..., 1:] = scatter[..., :-1, :-1], scatter[..., :-1, -1]
        given = {"n": n, "z": z, "within": within, "cross": cross, "x": mean[..., -1], "square": scatter[..., -1, -1]}
        held = {of: pm.Data(f"x_{of}{name}", values) for of, values in given.items()}
        squares = held["square"] - 2 * (beta * held["cross"]).sum(axis=-1)
        squares += (beta * _product(held["within"], beta)).sum(axis=-1)
        squares += held["n"] * (held["x"] - (beta * held["z"]).sum(axis=-1)) ** 2
        pm.Potential(f"x{name}", (-0.5 * held["n"] * pt.log(2 * np.pi * sigma2) - 0.5 * squares / sigma2).sum())
