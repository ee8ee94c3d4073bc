"""The priors of weights with heavier tails than a normal's, in numbers: normal given a scale of each column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesclf.errors import InputError
from bayesclf.families.prior_lines import PriorLine
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_scale import EXPECTED_SHARE, HorseshoeWeights, LearnedScale, StudentTWeights
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior, WeightPrior
from bayesclf.models.logistic.scale_prior import ScaledWeightPrior
from bayesclf.typing import Array, Parameters

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

PSEUDO_SD = 2.0
"""σ of the normal distribution that tells as much of a weight as a label of probability ½ does, (½ · ½)^(−1/2)."""
UNSEEN_STREAM = 4
"""Number of the random stream from which local scales of unseen levels are drawn."""


@dataclass(frozen=True, eq=False)
class ShapedWeightPrior(ABC):
    """A scale of all weights, local scales of the columns, and given them the normal prior of θ = (intercept, weights).

    Attributes
    ----------
    settings
        What the user says of the scale.
    unit
        The prior of θ where all scales are 1.
    learned
        Whether the sd of a column's weights is proportional to its scale, (1 + column), the intercept first.
    unseen_slope
        How much the sd of an unseen level's weight increases with its scale, (outcome, category).
    """

    settings: LearnedScale
    unit: WeightPrior
    learned: NDArray[np.bool_]
    unseen_slope: Array

    def __len__(self) -> int:
        """Return the number of columns with a local scale."""
        return int(self.learned.sum())

    @property
    @abstractmethod
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Axis words of the scales."""

    @abstractmethod
    def draw_scales(self, rng: np.random.Generator, draws: int, columns: int) -> Parameters:
        """Draw the scales, with local ones of a number of columns."""

    @abstractmethod
    def log_densities(self, scales: Parameters) -> dict[str, Array]:
        """Return the log densities (draw) of the logarithms of the scales."""

    @abstractmethod
    def times(self, scales: Mapping[str, Any]) -> Any:
        """Return what the sds at scale 1 are multiplied by, (draw, column), of arrays or of PyTensor's variables."""

    @abstractmethod
    def words(self) -> tuple[list[PriorLine], str, tuple[str, ...]]:
        """Return the priors of the scales, what a weight's sd is, and as clauses what symbols in that are."""

    @abstractmethod
    def pymc(self) -> TensorVariable:
        """Add the scales to the PyMC model, and return what the sds are multiplied by, (column)."""

    @abstractmethod
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the scales from draws (draw, …) of the PyMC model's free variables."""

    def flat(self) -> Parameters:
        """Return the scales (draw axis of length 1) of a flat prior: infinite, but for local ones of 1."""
        return {**{name: np.full(1, np.inf) for name in self.dims}, "local_scale": np.ones((1, len(self)))}

    def of_columns(self, times: Array) -> Array:
        """Return the multiples of all sds, (draw, 1 + column), from those of the columns with a local scale."""
        every = np.ones((len(times), len(self.learned)))
        every[:, self.learned] = times
        return every

    def log_density(self, theta: Array, scales: Parameters) -> Array:
        """Return log p(θ | scales), (draw), of θ (draw, outcome, 1 + column)."""
        times = self.times(scales)
        squares = self.unit.squares(theta)[:, self.learned]
        less = len(self.unit.mean) * np.log(times) + 0.5 * (times**-2.0 - 1) * squares
        return np.asarray(self.unit.log_density(theta) - less.sum(axis=1))

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Parameters]:
        """Draw θ (draw, outcome, 1 + column) and the scales."""
        scales = self.draw_scales(rng, draws, len(self))
        unit = replace(self.unit, shift=np.zeros_like(self.unit.shift)).draw(rng, draws)
        theta = unit * self.of_columns(self.times(scales))[:, None, :]
        theta[:, :, 0] += theta[:, :, 1:] @ self.unit.shift
        return theta, scales

    def unseen(self, scales: Parameters) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, each with a local scale drawn from its prior."""
        draws, categories = len(scales["prior_scale"]), self.unit.unseen_scale.shape[1]
        rng = np.random.default_rng([draws, UNSEEN_STREAM])
        fresh = self.draw_scales(rng, draws, categories)["local_scale"]
        times = self.times({**scales, "local_scale": fresh})[:, None, :]
        return replace(self.unit.unseen, scale=self.unit.unseen_scale + (times - 1) * self.unseen_slope)


@dataclass(frozen=True, eq=False)
class StudentTPrior(ShapedWeightPrior):
    """The numbers of `StudentTWeights`; log s ~ N(log median, spread²).

    Attributes
    ----------
    degrees
        ν.
    """

    degrees: float

    @property
    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Axis words of the scales."""
        return {"prior_scale": (), "local_scale": ("scaled_feature",)}

    @override
    def draw_scales(self, rng: np.random.Generator, draws: int, columns: int) -> Parameters:
        """Draw the scales, with local ones of a number of columns."""
        local = np.sqrt(self.degrees / rng.chisquare(self.degrees, (draws, columns)))
        return {"prior_scale": self.settings.draw(rng, draws), "local_scale": local}

    @override
    def log_densities(self, scales: Parameters) -> dict[str, Array]:
        """Return the log densities (draw) of the logarithms of the scales."""
        of_local = _log_root_inverse_gamma(scales["local_scale"], self.degrees, 1.0).sum(axis=1)
        return {"prior_scale": self.settings.log_density(np.log(scales["prior_scale"])), "local_scale": of_local}

    @override
    def times(self, scales: Mapping[str, Any]) -> Any:
        """Return s λ."""
        return scales["prior_scale"][..., None] * scales["local_scale"]

    @override
    def words(self) -> tuple[list[PriorLine], str, tuple[str, ...]]:
        """Return the priors of the scales, and what a weight's sd is."""
        of_scale = {"median": float(self.settings.median), "spread": float(self.settings.spread)}
        lines = [
            PriorLine("prior_scale", "", "", "LogNormal(log {median}, {spread})", of_scale),
            _root_inverse_gamma("local_scale", self.degrees, 1.0),
        ]
        return lines, "(prior_scale·local_scale)", ()

    @override
    def pymc(self) -> TensorVariable:
        """Add prior_scale, local_variance and its root, local_scale."""
        import pymc as pm

        median = pm.Data("prior_scale_log_median", np.log(self.settings.median))
        s = pm.LogNormal("prior_scale", median, pm.Data("prior_scale_spread", float(self.settings.spread)))
        half = pm.Data("local_half_degrees", self.degrees / 2)
        local = pm.InverseGamma("local_variance", half, half, dims="scaled_feature", shape=(len(self),))
        return self.times({"prior_scale": s, "local_scale": _root("local_scale", local, dims="scaled_feature")})

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the scales from draws (draw, …) of the PyMC model's free variables."""
        return {"prior_scale": draws["prior_scale"], "local_scale": np.sqrt(draws["local_variance"])}


@dataclass(frozen=True, eq=False)
class HorseshoePrior(ShapedWeightPrior):
    """The numbers of `HorseshoeWeights`.

    Attributes
    ----------
    shape
        What the user says of the slab.
    global_scale
        τ₀.
    """

    shape: HorseshoeWeights
    global_scale: float

    @property
    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Axis words of the scales."""
        return {"prior_scale": (), "local_scale": ("scaled_feature",), "slab_scale": ()}

    @override
    def draw_scales(self, rng: np.random.Generator, draws: int, columns: int) -> Parameters:
        """Draw the scales, with local ones of a number of columns."""
        degrees = self.shape.slab_degrees
        return {
            "prior_scale": self.global_scale * np.abs(rng.standard_cauchy(draws)),
            "local_scale": np.abs(rng.standard_cauchy((draws, columns))),
            "slab_scale": self.shape.slab_scale * np.sqrt(degrees / rng.chisquare(degrees, draws)),
        }

    @override
    def log_densities(self, scales: Parameters) -> dict[str, Array]:
        """Return the log densities (draw) of the logarithms of the scales."""
        return {
            "prior_scale": _log_half_cauchy(scales["prior_scale"], self.global_scale),
            "local_scale": _log_half_cauchy(scales["local_scale"], 1.0).sum(axis=1),
            "slab_scale": _log_root_inverse_gamma(scales["slab_scale"], self.shape.slab_degrees, self.shape.slab_scale),
        }

    @override
    def times(self, scales: Mapping[str, Any]) -> Any:
        """Return τ λ̃ = (1/(τ λ)² + 1/c²)^(−1/2)."""
        free = scales["prior_scale"][..., None] * scales["local_scale"]
        return (free**-2.0 + scales["slab_scale"][..., None] ** -2.0) ** -0.5

    @override
    def words(self) -> tuple[list[PriorLine], str, tuple[str, ...]]:
        """Return the priors of the scales, what a weight's sd is, and what the symbol in that is."""
        lines = [
            PriorLine("prior_scale", "", "", "HalfCauchy({scale})", {"scale": self.global_scale}),
            PriorLine("local_scale", "", "", "HalfCauchy({scale})", {"scale": 1.0}),
            _root_inverse_gamma("slab_scale", self.shape.slab_degrees, self.shape.slab_scale),
        ]
        return lines, "S", ("S is 1/√(1/(prior_scale·local_scale)² + 1/slab_scale²) of the column",)

    @override
    def pymc(self) -> TensorVariable:
        """Add prior_scale, local_scale, slab_variance and its root, slab_scale."""
        import pymc as pm

        half = pm.Data("slab_half_degrees", self.shape.slab_degrees / 2)
        b = pm.Data("slab_b", self.shape.slab_degrees / 2 * self.shape.slab_scale**2)
        scales = {
            "prior_scale": pm.HalfCauchy("prior_scale", pm.Data("global_scale", self.global_scale)),
            "local_scale": pm.HalfCauchy("local_scale", 1.0, dims="scaled_feature", shape=(len(self),)),
            "slab_scale": _root("slab_scale", pm.InverseGamma("slab_variance", half, b)),
        }
        return self.times(scales)

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the scales from draws (draw, …) of the PyMC model's free variables."""
        own = {name: draws[name] for name in ("prior_scale", "local_scale")}
        return {**own, "slab_scale": np.sqrt(draws["slab_variance"])}


def shaped_prior(prior: LogisticPrior, design: LogisticDesign, vectors: int, rows: float) -> ShapedWeightPrior:
    """Resolve settings for the columns of a design, a number of weight vectors, and a weight of all rows.

    Raises
    ------
    InputError
        For as many expected nonzero weights as there are columns, or more.
    """
    one = ScaledWeightPrior.of(prior, design, vectors)
    settings, shape = one.settings, one.settings.of_weights
    common = (settings, one.unit, one.learned, one.unseen_slope)
    if isinstance(shape, StudentTWeights):
        return StudentTPrior(*common, shape.degrees)
    assert isinstance(shape, HorseshoeWeights)
    return HorseshoePrior(*common, shape, global_scale(shape, int(one.learned.sum()), rows))


def global_scale(shape: HorseshoeWeights, columns: int, rows: float) -> float:
    """Return τ₀ = p₀/(p − p₀) · 2/√n of a number of columns, and a weight of all rows."""
    expected = shape.nonzero
    if expected is None:
        expected = min(max(EXPECTED_SHARE * columns, 1.0), columns / 2)
    if not expected < columns:
        raise InputError(
            f"nonzero={expected:g} must be below the number of columns whose scale is learned, and there are "
            f"{columns}; take fewer, or None for a tenth of them"
        )
    return float(expected / (columns - expected) * PSEUDO_SD / np.sqrt(max(rows, 1.0)))


def _root_inverse_gamma(name: str, degrees: float, scale: float) -> PriorLine:
    """Return the prior of a scale whose square is inverse gamma."""
    return PriorLine(name, "", "", "√InvGamma({a}, {b})", {"a": degrees / 2, "b": degrees / 2 * scale**2})


def _root(name: str, variance: TensorVariable, **dims: str) -> TensorVariable:
    """Add the root of a variance to the PyMC model."""
    import pymc as pm

    return pm.Deterministic(name, variance**0.5, **dims)


def _log_half_cauchy(x: Array, scale: float) -> Array:
    """Return the log density of log x of a half-Cauchy x."""
    return np.asarray(np.log(2 / np.pi) + np.log(x / scale) - np.log1p((x / scale) ** 2))


def _log_root_inverse_gamma(x: Array, degrees: float, scale: float) -> Array:
    """Return the log density of log x where x² ~ InvGamma(ν/2, ν scale²/2)."""
    half, ratio = degrees / 2, degrees / 2 * (scale / x) ** 2
    return np.asarray(np.log(2) + half * np.log(ratio) - ratio - gammaln(half))
