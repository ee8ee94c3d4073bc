"""Shapes of the weights' prior with heavier tails than a normal's, as a user asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from bayesclf.constraints import Number, OrNone, require
from bayesclf.display import Concise

NORMAL = "normal"
SLAB_SCALE = 2.5
"""Scale of the largest weights under the horseshoe: that of a weight whose scale is given by default."""
EXPECTED_SHARE = 0.1
"""Share of the weights that the horseshoe expects to matter where this is not said; at least one, at most half."""


@dataclass(frozen=True, repr=False)
class StudentTWeights(Concise):
    """Weights that are Student-t given their scale s: a few may be several times as large as the others.

    w_j ~ N(0, s² λ_j²) with λ_j² ~ InvGamma(ν/2, ν/2), which is t with ν degrees of freedom, in units of s. The local
    scale λ_j of a column is the same for all outcomes, so that for more than two classes its weights are multivariate
    t together.

    Parameters
    ----------
    degrees : float
        ν, above 0: 1 is the Cauchy, and from 30 on hardly anything differs from a normal.

    Examples
    --------
    >>> import bayesclf as bc
    >>> bc.LearnedScale(shape=bc.StudentTWeights(degrees=7)).shape
    StudentTWeights(degrees=7)
    """

    degrees: float = 4.0

    def __post_init__(self) -> None:
        require(Number(above=0), degrees=self.degrees)


@dataclass(frozen=True, repr=False)
class HorseshoeWeights(Concise):
    """Weights of which few matter, by the regularized horseshoe.

    w_j ~ N(0, τ² λ̃_j²) with λ̃_j² = c² λ_j²/(c² + τ² λ_j²), λ_j ~ HalfCauchy(1), τ ~ HalfCauchy(τ₀) and
    c² ~ InvGamma(ν/2, ν a²/2). The global scale τ draws all weights toward 0, and half-Cauchy local scales λ_j let
    some escape; these have a slab for a prior, t with ν degrees of freedom and scale a, which also keeps weights finite
    that separate the classes. The local scale of a column is the same for all outcomes.

    τ₀ = p₀/(p − p₀) · 2/√n for p columns, p₀ expected nonzero ones and n rows. An indicator "… is missing" and each
    level of a category are columns of their own.

    Parameters
    ----------
    nonzero : float or None
        p₀, above 0 and below p, needs not be whole. None: a tenth of the columns, at least one, at most half of them.
        The posterior may have many more, or fewer.
    slab_scale : float
        a, above 0, per sd of a column.
    slab_degrees : float
        ν of the slab, above 0.

    References
    ----------
    Piironen and Vehtari (2017), Sparsity information and regularization in the horseshoe and other shrinkage priors,
    Electronic Journal of Statistics 11, doi:10.1214/17-EJS1337SI.

    Examples
    --------
    >>> import bayesclf as bc
    >>> bc.LearnedScale(shape=bc.HorseshoeWeights(nonzero=3)).shape
    HorseshoeWeights(nonzero=3)
    """

    nonzero: float | None = None
    slab_scale: float = SLAB_SCALE
    slab_degrees: float = 4.0

    def __post_init__(self) -> None:
        require(OrNone(Number(above=0)), nonzero=self.nonzero)
        require(Number(above=0), slab_scale=self.slab_scale, slab_degrees=self.slab_degrees)


type Shape = StudentTWeights | HorseshoeWeights

SHAPES: dict[str, type[Shape]] = {"student-t": StudentTWeights, "horseshoe": HorseshoeWeights}
"""Shapes by name; a normal has no settings."""
