"""PyMC variables that families share: distributions of statistics, cells of rows, and coordinates for NUTS.

The distributions of sufficient statistics have the log likelihood of the rows as their logp. Sampling then costs the
same for a thousand rows and for ten million. PyMC's own distributions of these statistics (Normal, Gamma and
Multinomial of mean, scatter and counts) are −∞ or raise for no rows, one row, a constant column or fractional weights;
the log likelihood of the rows themselves is defined in all these cases. Predictive sampling does draw from those
distributions, given the number of observed cells of each class, which must be whole.

Cells of rows are given the label of their row, which is a variable that picks their parameters. So labels and cells
both generate, and an extension of the model can replace either. A missing cell is no free variable: it is 0 in the data
and in what is drawn, and adds nothing to the log density.

Where a rate or a probability depends on a shape, their joint posterior is narrow along a curve. Given the shape, the
logarithm of the rate and the logit of the probability are about normal, with a mean and a standard deviation that
follow from the shape and the sums of the rows, and in these units they hardly depend on it. The density stays the same:
only the coordinates use the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import SimplexTransform, Transform
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor import TensorVariable

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.typing import Array

FRACTIONAL = (
    "statistics of rows with fractional weights have a likelihood, but no distribution to draw them from; fit without "
    "sample_weight, or sample the model of the rows, clf.to_pymc(X, y)"
)


def whole(n: Any) -> Any:
    """Return the numbers of rows; drawing raises `Refused` where weights make them fractional."""
    return CheckAndRaise(Refused, FRACTIONAL)(n, pt.all(pt.eq(n, pt.floor(n))))


def observe_counts(
    name: str, theta: TensorVariable, counts: Array, dims: tuple[str, ...] | None = None, weight: Array | None = None
) -> None:
    """Observe counts n of the cells of simplexes θ, (…, cell): log likelihood Σ n log θ, with 0 · log 0 = 0.

    It is the likelihood of the events in their order; those of a simplex count as often as `weight` (…) says.
    """
    given = [theta, pm.Data(f"{name}_n", np.asarray(counts.sum(axis=-1, keepdims=True)))]
    if weight is not None and not (weight == 1).all():
        given.append(pm.Data(f"{name}_weight", weight[..., None]))
    pm.CustomDist(
        name,
        *given,
        dist=lambda theta, n, *_: _counts_dist(theta, n[..., 0]),
        logp=_counts_logp,
        observed=pm.Data(f"{name}_data", counts, dims=dims),
        dims=dims,
    )


def observe_presences(suffix: str, theta: TensorVariable, n: Array, present: Array, dims: tuple[str, ...]) -> None:
    """Observe in how many of n rows features are present, and in how many absent: s log θ + (n − s) log(1 − θ)."""
    rows, absent = pm.Data(f"present_n{suffix}", n), n - present
    drawn = pm.CustomDist(
        f"present{suffix}",
        theta,
        rows,
        dist=lambda theta, n, size: pm.Binomial.dist(whole(n).astype("int64"), theta).astype("float64"),
        logp=_counts_logp,
        observed=pm.Data(f"present{suffix}_data", present, dims=dims),
        dims=dims,
    )
    pm.CustomDist(
        f"absent{suffix}",
        1 - theta,
        rows,
        drawn,
        dist=lambda theta, n, present, size: n - present,
        logp=lambda absent, theta, n, present: _counts_logp(absent, theta, n),
        observed=pm.Data(f"absent{suffix}_data", absent, dims=dims),
        dims=dims,
    )


def add_simplexes(
    alpha: Any, sizes: tuple[int, ...], names: Sequence[str], suffix: str, of_all: bool = False
) -> dict[int, Any]:
    """Add simplexes θ ~ Dirichlet(α), those of one size as one variable, and θ itself, (outcome, cell).

    Parameters
    ----------
    alpha
        Concentration of each cell, (outcome, cell): an array, or a variable where it is learned.
    sizes
        Number of cells of each simplex.
    names
        Name of each simplex.
    suffix
        What is added to the names.
    of_all
        Whether the simplexes are those of all classes, and the first axis has length 1.

    Returns
    -------
    dict
        θ by size, (outcome, simplex, cell).
    """
    by_size = {}
    for size, cells in dirichlet.cells_by_size(sizes).items():
        of_size = _add_axes(size, sizes, names, suffix, of_all)
        name = sized("theta", size, suffix)
        given = alpha[:, cells].reshape((alpha.shape[0], len(of_size), size))
        options = {"default_transform": PAIR} if of_all and (len(of_size), size) == (1, 2) else {}
        if isinstance(alpha, np.ndarray):
            given = pm.Data(f"theta_{size}_alpha{suffix}", given)
        by_size[size] = pm.Dirichlet(name, given, dims=_simplex_dims(size, suffix, of_all), **options)
    return by_size


class _PairTransform(SimplexTransform):  # type: ignore[misc]
    """PyMC's transform of simplexes for a single one of two cells, (1, 1, 2), to a vector of one number.

    PyTensor's Numba code of an array whose axes all have length 1 does not compile, where there are several.
    """

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the number."""
        return super().forward(value[0, 0], *inputs)

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the simplex."""
        return super().backward(value, *inputs)[None, None]

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log derivative."""
        return super().log_jac_det(value, *inputs)[None, None]


PAIR = _PairTransform()


_KEPT = "bayesclf_names_of_parameters"


def keep_names(parameters: Iterable[str]) -> None:
    """Keep the names of the parameters of all blocks, such as "theta_2" of a second block, in the open model."""
    setattr(pm.modelcontext(None), _KEPT, frozenset(parameters))


def sized(name: str, size: int, suffix: str) -> str:
    """Return the name of what belongs to the simplexes of one size in the open model: "theta_2" for those of 2 cells.

    Where a parameter of another block has the name that θ would have, it is "theta_of_2", as `simplexes_of` knows.
    """
    plain = dirichlet.sized("theta", size, suffix)
    taken = plain in getattr(pm.modelcontext(None), _KEPT, ())
    return dirichlet.sized(name, size, suffix, taken)


ALL = "all_outcomes"
"""Axis of length 1 of what is the same for all classes."""


def _simplex_dims(size: int, suffix: str, of_all: bool) -> tuple[str, str, str]:
    return ALL if of_all else "outcome", sized("simplex", size, suffix), sized("value", size, suffix)


def join_simplexes(by_size: dict[int, Any], sizes: tuple[int, ...], suffix: str, dim: str) -> Any:
    """Add θ (outcome, cell) above the simplexes of each size, its cells in the order of `posterior_`; return it."""
    return pm.Deterministic(
        f"theta{suffix}", flat_simplexes(by_size, sizes, suffix), dims=("outcome", f"{dim}{suffix}")
    )


def flat_simplexes(by_size: dict[int, Any], sizes: tuple[int, ...], suffix: str) -> Any:
    """Return θ (outcome, cell) of the simplexes of each size, one simplex after the other."""
    cells = list(dirichlet.cells_by_size(sizes).values())
    flat = [theta.reshape((theta.shape[0], len(own))) for theta, own in zip(by_size.values(), cells, strict=True)]
    if len(flat) == 1:
        return flat[0]
    return pt.concatenate(flat, axis=1)[:, pm.Data(f"cell_order{suffix}", np.argsort(np.concatenate(cells)))]


def split_simplexes(theta: Any, sizes: tuple[int, ...], names: Sequence[str], suffix: str) -> dict[int, Any]:
    """Return θ (outcome, cell) as `add_simplexes` does, whose axes of simplexes and cells it adds."""
    by_size = {}
    for size, cells in dirichlet.cells_by_size(sizes).items():
        of_size = _add_axes(size, sizes, names, suffix)
        by_size[size] = theta[:, cells].reshape((theta.shape[0], len(of_size), size))
    return by_size


def _add_axes(size: int, sizes: tuple[int, ...], names: Sequence[str], suffix: str, of_all: bool = False) -> list[str]:
    """Add the axes of the simplexes of one size to the open model; return the names of these."""
    of_size = [name for name, own in zip(names, sizes, strict=True) if own == size]
    dims = _simplex_dims(size, suffix, of_all)
    pm.modelcontext(None).add_coords({dims[1]: of_size, dims[2]: range(size), **({ALL: ["all"]} if of_all else {})})
    return of_size


def observe_simplexes(
    by_size: dict[int, Any], counts: Array, sizes: tuple[int, ...], suffix: str, of_all: bool = False
) -> None:
    """Observe the counts (outcome, cell) of simplexes that `add_simplexes` made."""
    for size, cells in dirichlet.cells_by_size(sizes).items():
        dims = _simplex_dims(size, suffix, of_all)
        name = sized("counts", size, suffix)
        observe_counts(name, by_size[size], counts[:, cells].reshape(len(counts), -1, size), dims)


def _counts_logp(counts: Any, theta: Any, n: Any, weight: Any = None) -> Any:
    # Where a count is 0 the logarithm is taken of 1, so that neither the value nor the gradient contains log 0.
    log_density = counts * pt.log(pt.switch(pt.eq(counts, 0), 1.0, theta))
    return log_density if weight is None else weight * log_density


def _counts_dist(theta: Any, n: Any) -> Any:
    # As numbers with a fraction: PyMC would convert observed counts of weighted rows to the type of what is drawn.
    return pm.Multinomial.dist(whole(n).astype("int64"), theta).astype("float64")


def observe_moments(
    suffix: str, mu: TensorVariable, sigma2: TensorVariable, moments: tuple[Array, Array, Array], dims: tuple[str, ...]
) -> None:
    """Observe (n, x̄, S) of rows that are Normal(μ, σ²): x̄ ~ Normal(μ, σ²/n) and S ~ σ² χ²(n − 1).

    Log likelihood −(n/2) log 2πσ² − (S + n(x̄ − μ)²)/(2σ²), for any real n ≥ 0 and S ≥ 0. All of it is the logp of
    x̄, and that of S is 0: the likelihood of rows has other constants than the densities of x̄ and S.
    """
    n, mean, scatter = moments
    rows, within = pm.Data(f"x_n{suffix}", n), pm.Data(f"x_scatter{suffix}_data", scatter, dims=dims)
    pm.CustomDist(
        f"x_mean{suffix}",
        mu,
        sigma2,
        rows,
        within,
        dist=_mean_dist,
        logp=_moments_logp,
        observed=pm.Data(f"x_mean{suffix}_data", np.where(n > 0, mean, 0.0), dims=dims),
        dims=dims,
    )
    pm.CustomDist(
        f"x_scatter{suffix}",
        sigma2,
        rows,
        dist=_scatter_dist,
        logp=lambda scatter, sigma2, n: pt.zeros_like(scatter),
        observed=within,
        dims=dims,
    )


def _mean_dist(mu: Any, sigma2: Any, n: Any, scatter: Any, size: Any) -> Any:
    return pm.Normal.dist(mu, pt.sqrt(sigma2 / pt.maximum(whole(n), 1.0))) * pt.gt(n, 0)


def _scatter_dist(sigma2: Any, n: Any, size: Any) -> Any:
    some = pt.gt(n, 1)
    return sigma2 * pm.ChiSquared.dist(pt.switch(some, whole(n) - 1, 1.0)) * some


def _moments_logp(mean: Any, mu: Any, sigma2: Any, n: Any, scatter: Any) -> Any:
    return -0.5 * n * pt.log(2 * np.pi * sigma2) - 0.5 * (scatter + n * (mean - mu) ** 2) / sigma2


def observe_sums(
    name: str,
    parameters: tuple[Any, ...],
    n: Array,
    sums: Mapping[str, Array],
    suffix: str,
    draw: Callable[..., tuple[Any, ...]],
    logp: Callable[..., Any],
    constants: Mapping[str, Array] | None = None,
) -> None:
    """Observe sums of functions of cells that are independent given parameters (outcome, feature).

    Sums that have no distribution of their own are drawn as those of n drawn cells.

    Parameters
    ----------
    name
        Name of the variable, without the suffix.
    parameters
        Those of the cells.
    n
        Weight of the cells, (outcome, feature).
    sums
        The sums by what each is of, (outcome, feature).
    suffix
        What is added to the names.
    draw
        Returns the functions of cells that it draws, given the parameters and a size.
    logp
        Returns the log likelihood (outcome, feature) given the sums (outcome, feature, sum), the parameters, n and the
        constants.
    constants
        What else the likelihood needs and is not generated, by name, (outcome, feature) or with one axis more.
    """
    fixed = {"n": n, **(constants or {})}

    def dist(*given: Any) -> Any:
        """Draw sums over as many rows as each cell has."""
        own, rows = given[: len(parameters)], given[len(parameters)]
        counted = pt.arange(pt.maximum(whole(rows).max(), 1).astype("int64"))[:, None, None]
        drawn = draw(*own, size=(counted.shape[0], *(rows.shape[axis] for axis in range(2))))
        return pt.stack([pt.switch(counted < rows, values, 0.0).sum(axis=0) for values in drawn], axis=-1)

    dims = ("outcome", f"feature{suffix}", f"sum{suffix}")
    pm.modelcontext(None).add_coords({dims[-1]: list(sums)})
    core = ["()"] * len(parameters) + ["(c)" if values.ndim > n.ndim else "()" for values in fixed.values()]
    pm.CustomDist(
        name + suffix,
        *parameters,
        *(pm.Data(f"{name}_{of}{suffix}", values) for of, values in fixed.items()),
        dist=dist,
        logp=logp,
        signature=f"{','.join(core)}->(s)",
        observed=pm.Data(f"{name}{suffix}_data", np.stack(list(sums.values()), axis=-1), dims=dims),
        dims=dims,
    )


def observe_tables(alpha: TensorVariable, counts: Array, sizes: tuple[int, ...], suffix: str) -> None:
    """Observe counts (outcome, cell) of tables whose θ ~ Dirichlet(α, …, α) is integrated out, α given by cell."""
    size = pm.Data(f"alpha_sizes{suffix}", np.repeat(sizes, sizes).astype(float))
    total = pm.Data(f"alpha_totals{suffix}", dirichlet.totals(counts, sizes))
    observed = pm.Data(f"alpha_counts_data{suffix}", counts)

    def dist(alpha: Any, of_size: Any, total: Any, size: Any) -> Any:
        """Draw counts of tables with the observed totals."""
        groups = dirichlet.cells_by_size(sizes)
        concentration = pt.broadcast_to(alpha, total.shape)
        drawn = []
        for width, cells in groups.items():
            shape = (total.shape[0], len(cells) // width, width)
            theta = pm.Dirichlet.dist(concentration[:, cells].reshape(shape))
            drawn.append(_counts_dist(theta, total[:, cells].reshape(shape)[..., 0]).reshape((shape[0], -1)))
        return pt.concatenate(drawn, axis=1)[:, np.argsort(np.concatenate(list(groups.values())))]

    pm.CustomDist(f"alpha_counts{suffix}", alpha, size, total, dist=dist, logp=_collapsed_logp, observed=observed)


def _collapsed_logp(counts: Any, alpha: Any, sizes: Any, totals: Any) -> Any:
    """Return log p(n | α) by cell, (outcome, cell): each has its share, 1/size, of its table's normalizer."""
    total_alpha = sizes * alpha
    normalizer = pt.gammaln(total_alpha) - pt.gammaln(total_alpha + totals)
    return pt.gammaln(alpha + counts) - pt.gammaln(alpha) + normalizer / sizes


class _Standardized(Transform):  # type: ignore[misc]
    """z = (u − mean)/sd, u the logarithm or the logit; mean and sd are the last two of a variable's four parameters."""

    name = "standardized"
    ndim_supp = 0

    def __init__(self, link: Any, inverse: Any, log_slope: Any) -> None:
        self._link, self._inverse, self._log_slope = link, inverse, log_slope

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return z."""
        return (self._link(value) - inputs[3]) / inputs[4]

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable from z."""
        return self._inverse(inputs[3] + inputs[4] * value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log derivative of the variable by z."""
        return self._log_slope(inputs[3] + inputs[4] * value) + pt.log(inputs[4])


LOG = _Standardized(pt.log, pt.exp, lambda u: u)
LOGIT = _Standardized(
    lambda value: pt.log(value) - pt.log1p(-value),
    pt.sigmoid,
    lambda u: -pt.softplus(u) - pt.softplus(-u),
)


def standardized_rate(name: str, prior: tuple[Any, Any], with_rows: tuple[Any, Any], dims: tuple[str, ...]) -> Any:
    """Add β ~ Gamma(a, b) to the open PyMC model; return it.

    Parameters
    ----------
    name
        Its name.
    prior
        a and b.
    with_rows
        The same after the rows that the model observes.
    dims
        Axis words.
    """
    a, b = with_rows
    return _add(name, pm.Gamma, prior, (pt.log(a) - pt.log(b), 1 / pt.sqrt(a)), LOG, dims)


def standardized_probability(
    name: str, prior: tuple[Any, Any], with_rows: tuple[Any, Any], dims: tuple[str, ...]
) -> Any:
    """Add θ ~ Beta(a, b) to the open PyMC model; return it. Parameters are those of `standardized_rate`."""
    a, b = with_rows
    return _add(name, pm.Beta, prior, (pt.log(a) - pt.log(b), pt.sqrt(1 / a + 1 / b)), LOGIT, dims)


def _add(
    name: str, distribution: Any, prior: tuple[Any, Any], units: tuple[Any, Any], transform: Any, dims: tuple[str, ...]
) -> Any:
    return pm.CustomDist(
        name,
        *prior,
        *units,
        dist=lambda a, b, mean, sd, size: distribution.dist(a, b, size=size),
        logp=lambda value, a, b, mean, sd: pm.logp(distribution.dist(a, b), value),
        support_point=lambda rv, size, a, b, mean, sd: transform.backward(pt.zeros_like(mean), size, a, b, mean, sd),
        signature="(),(),(),()->()",
        transform=transform,
        dims=dims,
    )
