"""The template of a family of single cells: it says what one cell is, and everything else follows.

With sums T(x) over the cells of a class and feature, log p(x | θ) = Σ_s η_s(θ) T_s(x) − A(θ) + log h(x). A conjugate
prior of θ is worth such sums too: its state. The posterior is the state after the sums of the rows, and what these add
to its log normalizer, `gain`, is their evidence; that of one row is its predictive, and that of one row after the
others is its leave-one-out density.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.families import cells
from bayesclf.families.base import LOST, Axes, Family, Statistics, in_numbers, require_positive
from bayesclf.families.dirichlet import class_sums, countable, logs, summed
from bayesclf.families.terms import LinearDesign, LinearTerms

TINY = np.finfo(float).tiny
"""The smallest number above 0 of full precision."""

NUMPY = SimpleNamespace(log=logs, log1p=np.log1p, gammaln=gammaln)
"""The functions of `CellFamily.natural`, of arrays."""


def pytensor_functions() -> SimpleNamespace:
    """Return the same functions of PyTensor's variables."""
    import pytensor.tensor as pt

    # A rate that underflows has a finite logarithm, so that no sum of 0 is multiplied by an infinite one.
    return SimpleNamespace(log=lambda x: pt.log(pt.maximum(x, TINY)), log1p=pt.log1p, gammaln=pt.gammaln)


@dataclass(frozen=True)
class CellSums(Statistics):
    """Sums over the observed cells of each class and feature.

    `n`: Weight of the cells, (outcome, feature). `sums`: Σ T(x), (outcome, feature, sum). `log_base`: Σ log h(x), which
    the evidence needs and no estimate does, (outcome, feature).
    """

    axes: Axes
    n: Array
    sums: Array
    log_base: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Add up what cells say: whether they are observed, their T(x), and log h(x), each (row, feature)."""
        n, log_base, *sums = (class_sums(part, y, len(axes.labels), sample_weight) for part in X)
        return cls(axes, n, np.stack(sums, axis=-1), log_base)

    def rows(self) -> tuple[Array, ...]:
        """Return n and each of the sums, (outcome, feature)."""
        return self.n, *np.moveaxis(self.sums, -1, 0)

    def centre(self) -> Array:
        """Return the pooled means."""
        return self.mean()

    def mean(self) -> Array:
        """Return the mean of x, the first of T(x), over the rows of all classes, (feature); 0 without any."""
        pooled = self.pooled()
        return np.asarray((pooled.sums[..., 0] / np.maximum(pooled.n, 1))[0])


class CellFamily(Family[CellSums]):
    """A family of independent cells; a subclass says what its first methods do.

    Attributes
    ----------
    parameters
        Names of the parameters of a cell, (outcome, feature) each.
    distribution
        Name of PyMC's distribution of a cell.
    linear
        Whether log-odds are linear in x, as they are where T(x) and log h(x) are all there is and T(x) is x alone.
    """

    kind: ClassVar[str] = "number"
    parameters: ClassVar[tuple[str, ...]]
    distribution: ClassVar[str]
    linear: ClassVar[bool] = False
    statistics_type: ClassVar[type[Statistics]] = CellSums

    def terms(self, x: Array) -> tuple[Array, ...]:
        """Return T(x), the first of which is x."""
        return (x,)

    def log_h(self, x: Array) -> Array:
        """Return log h(x)."""
        return np.zeros_like(x)

    @abstractmethod
    def natural(self, m: Any, *parameters: Any) -> tuple[tuple[Any, ...], Any]:
        """Return η and A by the functions `m`, those of arrays or of PyTensor's variables."""

    @abstractmethod
    def state(self) -> tuple[Array, ...]:
        """Return what these hyperparameters are worth in sums, (outcome, feature) each."""

    @abstractmethod
    def after(self, state: tuple[Array, ...], n: Any, *sums: Array) -> tuple[Array, ...]:
        """Return the state after sums over n cells; those of a cell that is taken away are negative."""

    @abstractmethod
    def gain(self, state: tuple[Array, ...], n: Any, *sums: Array) -> Array:
        """Return log ∫ exp(Σ η T − n A) p(θ | state) dθ of sums over n cells."""

    def prior_numbers(self) -> tuple[Array, ...]:
        """Return the numbers of the prior that `pymc_parameters` takes, (outcome, feature) each."""
        return self.state()

    @abstractmethod
    def pymc_parameters(self, suffix: str, *prior: Any) -> tuple[Any, ...]:
        """Add the parameters to the open PyMC model by `bayesclf.pymc_models`; return them in their order.

        The numbers of the prior are arrays or variables.
        """

    def arguments(self, *parameters: Any) -> tuple[Any, ...]:
        """Return the arguments of PyMC's `distribution`, which are the parameters themselves by default."""
        return parameters

    def given(self, parameters: Parameters) -> tuple[Array, ...]:
        """Return the parameters in their order."""
        return tuple(parameters[name] for name in self.parameters)

    def observed(self, X: Array, axes: Axes) -> tuple[Array, Array, tuple[Array, ...]]:
        """Return whether cells are observed, log h(x) and T(x), the last two 0 where they are not."""
        seen, x = self.support.read(X, axes, self.name)
        return seen, seen * self.log_h(x), tuple(seen * term for term in self.terms(x))

    def resolved(self, statistics: CellSums, **default: Any) -> Self:
        """Return the prior with hyperparameters (outcome, feature): what was given, else the defaults."""
        own: Any = self
        return cast("Self", replace(own, **in_numbers(self, statistics.n.shape, **default), axes=statistics.axes))

    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> CellSums:
        """Return the sums over rows `X` (row, feature), NaN where a cell is missing."""
        seen, log_base, terms = self.observed(X, axes)
        return CellSums.of((seen, log_base, *terms), y, axes, sample_weight)

    def pymc(self, statistics: CellSums, suffix: str) -> None:
        """Add the parameters, with the log likelihood of the sums."""
        import pymc as pm

        held = (pm.Data(f"prior_{place}{suffix}", part) for place, part in enumerate(self.prior_numbers()))
        own = self.pymc_parameters(suffix, *held)
        names = ("n", "x", "log_base")
        n, sums, log_base = (
            pm.Data(f"sum_{name}{suffix}", values)
            for name, values in zip(names, (statistics.n, statistics.sums, statistics.log_base), strict=True)
        )
        etas, normalizer = self.natural(pytensor_functions(), *own)
        of_sums = sum(eta * sums[..., place] for place, eta in enumerate(etas))
        pm.Potential(f"sums{suffix}", (of_sums - n * normalizer + log_base).sum())

    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add the parameters, observing the cells given the class of each row."""
        import pymc as pm

        from bayesclf import pymc_models

        own = self.arguments(*self.pymc_parameters(suffix, *self.prior_numbers()))
        pymc_models.cells(getattr(pm, self.distribution), X, row, *own, name=suffix)

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return Σ_i log p(x_i | θ_ik) over the observed cells, (draw, row, outcome)."""
        return np.asarray(self.log_density_given(parameters)(X))

    def log_density_given(self, parameters: Parameters) -> Callable[[Array], Array]:
        """Return the function from rows to `log_density`, with η and A computed once."""
        etas, normalizer = self.natural(NUMPY, *self.given(parameters))
        factors = np.concatenate([normalizer, *map(countable, etas)], axis=2)

        def log_density(X: Array) -> Array:
            """Return it, (draw, row, outcome)."""
            seen, log_base, terms = self.observed(X, self.axes)
            columns = np.concatenate([-seen, *terms[: len(etas)]], axis=1)
            density = summed(cells.products(columns, factors))
            return np.asarray(density + log_base.sum(axis=1)[:, None])

        return log_density

    def log_predictive(self, X: Array) -> Array:
        """Return the gain of each cell, summed over the observed cells, (row, outcome)."""
        seen, log_base, terms = self.observed(X, self.axes)
        own = (self.gain(tuple(part[k] for part in self.state()), seen, *terms) for k in range(len(self.axes.labels)))
        return np.stack([(part + log_base).sum(axis=1) for part in own], axis=1)

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Return the gain of each cell after the others; NaN where no digits of a state are left without it."""
        seen, log_base, terms = self.observed(X, self.axes)
        state = tuple(part[y] for part in self.state())
        others = self.after(state, -seen, *(-term for term in terms))
        lost = np.zeros(len(y), dtype=bool)
        if not self.support.whole:  # sums of whole numbers lose no digits
            lost = np.any([(now <= LOST * part).any(axis=1) for now, part in zip(others, state, strict=True)], axis=0)
            others = tuple(np.where(lost[:, None], part, now) for now, part in zip(others, state, strict=True))
        out = self._with_own(X, y, (self.gain(others, seen, *terms) + log_base).sum(axis=1))
        out[lost] = np.nan
        return out

    def log_evidence(self, statistics: CellSums) -> Array:
        """Return the gain of all rows, (feature)."""
        return np.asarray((self.gain(self.state(), *statistics.rows()) + statistics.log_base).sum(axis=0))

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """η x − A = η z + η c − A with z = x − c."""
        if not self.linear:
            return super().linear_terms(parameters, design)
        (eta,), normalizer = self.natural(NUMPY, *self.given(parameters))
        return LinearTerms(eta, np.where(design.centre == 0, 0.0, eta * design.centre) - normalizer)

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of the parameters."""
        return dict.fromkeys(self.parameters, ("outcome", "feature"))


@dataclass(frozen=True, repr=False)
class ConjugateFamily(CellFamily):
    """A family with one parameter, whose conjugate prior has two numbers a and b, which are its state.

    `a`, `b`: Above 0, which broadcast to (outcome, feature). `axes`: Set by `resolve_prior`.
    """

    a: float | Array | None = None
    b: float | Array | None = None
    axes: Axes = field(default=Axes((), ()), repr=False)

    def __post_init__(self) -> None:
        require_positive(a=self.a, b=self.b)

    def state(self) -> tuple[Array, Array]:
        """Return a and b."""
        return np.asarray(self.a), np.asarray(self.b)

    def posterior(self, statistics: CellSums) -> Self:
        """Return the prior with a and b after the sums of the rows."""
        a, b = self.after(self.state(), *statistics.rows())
        return replace(self, a=a, b=b)
