"""Each classifier as a page of plain PyMC: what it assumes, from the prior to the rows.

`gaussian_nb`, the first one, shows how all of them are made: of `labels` and, given these, of columns. Behind each
classifier are the functions that it takes. They add variables to the open model: first those of a prior, such as
`normals`, then the cells given the class of each row, such as `cells`. Classifiers take a table, or an array with
columns x0, x1, …, and labels. They return a `pymc.Model` with the priors of the classifier's defaults, or those given.
``clf.to_pymc(X, y)`` calls the same functions with the hyperparameters of the fitted classifier. Its free variables are
those of ``clf.posterior_``, by the same names.

The second and later blocks of a mixed table have a `name`, which is added to the names of their variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.transforms import log, logodds
from pymc.logprob.transforms import Transform

from bayesclf.arrays import Array, Integers
from bayesclf.tables.columns import to_frame
from bayesclf.wording import in_names

__all__ = [
    "Columns",
    "bartlett",
    "bayes_net",
    "bernoulli_nb",
    "categorical_nb",
    "category",
    "cells",
    "codes",
    "covariance",
    "documents",
    "events",
    "gammas",
    "gaussian_discriminant_analysis",
    "gaussian_nb",
    "joint",
    "joint_bayes",
    "labels",
    "logistic_regression",
    "multinomial_nb",
    "multivariate_normals",
    "naive_bayes",
    "negative_binomials",
    "normals",
    "number",
    "rates",
    "regression",
    "tempered",
    "wide_categories",
    "wide_codes",
    "words",
]

_LEARNED = "learned"


def gaussian_nb(
    X: Any, y: Any, *, m: Any = None, kappa: float = 1.0, a: float = 1.5, b: Any = None, alpha: float = 1.0
) -> pm.Model:
    """Gaussian naive Bayes, with a variance for each class and column.

    ::

        π ~ Dirichlet(α),  σ²_kj ~ InvGamma(a, b_j),  μ_kj | σ²_kj ~ Normal(m_j, σ²_kj/κ)
        y ~ Categorical(π),  x_j ~ Normal(μ_yj, σ²_yj)

    Parameters
    ----------
    X : table of shape (row, feature)
        Numbers; a missing cell is left out.
    y : array of shape (row,)
        Labels.
    m, kappa, a, b, alpha : float or array of shape (feature,)
        Hyperparameters; None takes the column's mean for m, and for b what makes E[σ²] its variance.

    Returns
    -------
    pymc.Model
        Free variables ``pi`` (outcome), ``sigma2`` and ``mu`` (outcome, feature).
    """
    X = to_frame(X)
    model, row = labels(y, alpha)
    with model:
        model.add_coord("feature", list(X.columns))
        own_m = X.mean().to_numpy() if m is None else m
        own_b = (a - 1) * X.var(ddof=0).to_numpy() if b is None else b
        mu, sigma = normals(own_m, kappa, a, own_b, ("outcome", "feature"))
        cells(pm.Normal, X.to_numpy(dtype=float), row, mu, sigma)
    return model


def labels(y: Any, alpha: Any = 1.0, pi: Any = None, classes: Any = None) -> tuple[pm.Model, Any]:
    """π ~ Dirichlet(α), y ~ Categorical(π): a model of labels, and the class of each row, to add columns to.

    Parameters
    ----------
    y : array of shape (row,)
        Labels.
    alpha : float or array of shape (outcome,)
        Concentration.
    pi : array of shape (outcome,) or None
        π where it is known.
    classes : array of shape (outcome,) or None
        All labels in order; None takes those of `y`.
    """
    classes = np.unique(y) if classes is None else np.asarray(classes)
    with pm.Model(coords={"outcome": list(classes)}, model=None) as model:  # never a part of a model that is open
        observed = pm.Data("labels", pd.Index(classes).get_indexer(np.asarray(y)), dims="row")
        if pi is None:
            pi = pm.Dirichlet("pi", np.broadcast_to(alpha, len(classes)), dims="outcome")
        else:
            pi = pm.Data("pi", pi, dims="outcome")
        return model, pm.Categorical("y", pi, observed=observed, dims="row")


def normals(m: Any, kappa: Any, a: Any, b: Any, dims: tuple[str, ...], name: str = "") -> tuple[Any, Any]:
    """σ² ~ InvGamma(a, b), μ | σ² ~ Normal(m, σ²/κ): return μ and σ, each (outcome, feature).

    Parameters
    ----------
    m, kappa
        (outcome, feature), or what broadcasts to it.
    a, b
        In the shape of σ².
    dims : tuple of str
        Axes of σ²: ``("outcome", "feature")``, fewer where it is shared over classes or columns, or none.
    """
    both = ("outcome", f"feature{name}")
    sigma2 = pm.InverseGamma(f"sigma2{name}", _plain(a), _plain(b), dims=dims)
    of_each = sigma2[:, None] if dims == ("outcome",) else sigma2  # the other shapes broadcast as they are
    mu = pm.Normal(f"mu{name}", _plain(m), (of_each / _plain(kappa)) ** 0.5, dims=both)
    return mu, pt.broadcast_to(of_each**0.5, mu.shape)


def cells(distribution: Any, X: Array, row: Any, *parameters: Any, name: str = "", variable: str = "x") -> None:
    """x_ij ~ distribution(parameters of the class of row i and of column j), for each cell that is not missing.

    Parameters
    ----------
    distribution : class
        Of PyMC, such as `pymc.Normal`.
    X : array of shape (row, feature)
        Cells; NaN is missing, and then there is one observed cell a line, along the axis ``cell``.
    row : tensor of shape (row,)
        The class of each row, as `labels` returns it.
    *parameters : tensors
        Each (outcome, feature).
    name : str
        Of the block, see above.
    variable : str
        What the observed variable is called.
    """
    seen, of_cells = ~np.isnan(X), f"{variable}{name}"
    values = X if distribution not in _DISCRETE else np.where(seen, X, 0).astype(np.int64)
    data = f"X{name}" if variable == "x" else f"{of_cells}_data"
    if seen.all():
        dims = ("row", f"feature{name}")
        own = [parameter[row] for parameter in parameters]
        distribution(of_cells, *own, observed=pm.Data(data, values, dims=dims), dims=dims)
        return
    of_row, column = np.nonzero(seen)
    own = [parameter[row[of_row], column] for parameter in parameters]
    dim = "cell" if of_cells == "x" else f"{of_cells}_cell"
    distribution(of_cells, *own, observed=pm.Data(data, values[seen], dims=dim), dims=dim)


def _plain(values: Any) -> Any:
    """Return one number where all are equal: `pymc.Model.str_repr` shows it, and an array as "<constant>"."""
    fixed = isinstance(values, np.ndarray | float | int) and np.size(values) > 0
    return float(np.ravel(values)[0]) if fixed and np.all(values == np.ravel(values)[0]) else values


_DISCRETE = (pm.Bernoulli, pm.Poisson, pm.NegativeBinomial)
"""Distributions of whole numbers."""


def categorical_nb(X: Any, y: Any, *, concentration: float = 2.0, alpha: float = 1.0) -> pm.Model:
    """Naive Bayes of categories: π ~ Dirichlet(α), θ_kj ~ Dirichlet(concentration), x_j ~ Categorical(θ_yj).

    Parameters
    ----------
    X : table of shape (row, feature)
        Categories; a missing cell is left out.
    y : array of shape (row,)
        Labels.
    concentration, alpha : float
        Hyperparameters.

    Returns
    -------
    pymc.Model
        Free variables ``pi`` (outcome), and ``theta_<column>`` (outcome, <column>_level) of each column.
    """
    return bayes_net(X, y, (), concentration=concentration, alpha=alpha)


def bayes_net(
    X: Any,
    y: Any,
    edges: Sequence[tuple[str, str]],
    *,
    concentration: float = 2.0,
    alpha: float = 1.0,
) -> pm.Model:
    """A belief network in which every column depends on the class, and on the columns that `edges` point from.

    Parameters
    ----------
    X : table of shape (row, feature)
        Categories, each after those on which it depends; no column may depend on a missing cell.
    y : array of shape (row,)
        Labels.
    edges : sequence of (str, str)
        Pairs of parent and child.
    concentration, alpha : float
        Of the Dirichlet priors of θ and π.

    Returns
    -------
    pymc.Model
        Free variables ``pi`` (outcome), and ``theta_<column>`` (outcome, <parent>_level, …, <column>_level).
    """
    X = to_frame(X)
    model, row = labels(y, alpha)
    found: dict[str, Any] = {}
    levels: dict[str, Any] = {}
    with model:
        for column in [str(name) for name in X.columns]:
            own, levels[column] = pd.factorize(X[column], sort=True)
            given = [parent for parent, child in edges if child == column]
            shape = (len(model.coords["outcome"]), *(len(levels[one]) for one in (*given, column)))
            theta = category(column, levels[column], np.full(shape, concentration), given)
            found[column] = codes(column, theta, own, row, {parent: found[parent] for parent in given})
    return model


def category(column: str, levels: Sequence[Any], alpha: Any, given: Sequence[str] = (), of_all: bool = False) -> Any:
    """θ ~ Dirichlet(α) for each class and combination of the columns `given`, on which the column depends: return θ.

    Parameters
    ----------
    column : str
        Its name.
    levels : sequence
        Names of its levels.
    alpha : array of shape (outcome, level of given, …, level)
        Concentration.
    given : sequence of str
        Names of the columns on which it depends, added before.
    of_all : bool
        Whether θ is the same for all classes, and has no axis of them.
    """
    name = in_names(column)
    pm.modelcontext(None).add_coord(f"{name}_level", list(levels))
    dims = (*(() if of_all else ("outcome",)), *(f"{in_names(parent)}_level" for parent in given), f"{name}_level")
    return pm.Dirichlet(f"theta_{name}", alpha, dims=dims)


def codes(
    column: str, theta: Any, X: Integers, row: Any, given: Mapping[str, Any] | None = None, of_all: bool = False
) -> Any:
    """x ~ Categorical(θ of the row's class and of the columns given): return the column.

    Parameters
    ----------
    column : str
        Its name.
    theta : tensor
        As `category` returns it.
    X : array of shape (row,)
        Level codes; −1 is missing.
    row : tensor of shape (row,)
        The class of each row.
    given : mapping from str to array of shape (row,), or None
        The columns on which it depends, by name.
    of_all : bool
        As for `category`.
    """
    return _observed(column, pm.Categorical, (theta,), X, X >= 0, row, given or {}, of_all)


def _observed(
    column: str,
    distribution: Any,
    parameters: tuple[Any, ...],
    X: Any,
    seen: NDArray[np.bool_],
    row: Any,
    given: Mapping[str, Any],
    of_all: bool,
    expected: Any = None,
) -> Any:
    """Observe the cells of a column that are not missing, with the parameters of their class and given columns."""
    place = [pt.zeros_like(row) if of_all else row, *given.values()]
    place = place if seen.all() else [values[seen] for values in place]
    own = [(values[None] if of_all else values)[tuple(place)] for values in parameters]
    own = own if expected is None else expected(*own)
    name = in_names(column)
    dim = "row" if seen.all() else f"{name}_cell"
    drawn = distribution(f"x_{name}", *own, observed=pm.Data(f"X_{name}", X[seen], dims=dim), dims=dim)
    return drawn if seen.all() else pt.as_tensor(np.where(seen, X, 0))


def naive_bayes(X: Any, y: Any, *, concentration: float = 2.0, alpha: float = 1.0) -> pm.Model:
    """Naive Bayes of a table of numbers, which are Gaussian, and of other columns, which are categories.

    It is ``NaiveBayes(families="gaussian", alpha=2)``: the default classifier chooses the family of each number by its
    evidence, and learns the concentration of columns of ten levels or more.

    Parameters
    ----------
    X : table of shape (row, feature)
        Numbers and categories; a missing cell is left out.
    y : array of shape (row,)
        Labels.
    concentration, alpha : float
        Of the Dirichlet priors of θ and π.

    Returns
    -------
    pymc.Model
        Free variables of `gaussian_nb` and `categorical_nb`.
    """
    X = to_frame(X)
    numbers, others = X.select_dtypes("number"), X.select_dtypes(exclude="number")
    model, _ = labels(y, alpha)
    if not others.empty:
        model = categorical_nb(others, y, concentration=concentration, alpha=alpha)
    if numbers.empty:
        return model
    with model:
        model.add_coord("feature", list(numbers.columns))
        b = 0.5 * numbers.var(ddof=0).to_numpy()
        mu, sigma = normals(numbers.mean().to_numpy(), 1.0, 1.5, b, ("outcome", "feature"))
        cells(pm.Normal, numbers.to_numpy(dtype=float), model["y"], mu, sigma)
    return model


def wide_categories(columns: Sequence[str], levels: int, alpha: Any, name: str = "") -> Any:
    """θ ~ Dirichlet(α) of many columns with the same number of levels, (outcome, column, level), as one variable."""
    of = f"of_{levels}{name}"
    pm.modelcontext(None).add_coords({f"column_{of}": list(columns), f"level_{of}": range(levels)})
    return pm.Dirichlet(f"theta_{of}", alpha, dims=("outcome", f"column_{of}", f"level_{of}"))


def wide_codes(levels: int, theta: Any, X: Integers, row: Any, name: str = "") -> None:
    """x_ij ~ Categorical(θ_j of the row's class) of the columns of one θ, for codes (row, column); −1 is missing."""
    of, seen = f"of_{levels}{name}", X >= 0
    of_row, column = np.nonzero(seen)
    if seen.all():
        dims: tuple[str, ...] = ("row", f"column_{of}")
        pm.Categorical(f"x_{of}", theta[row], observed=pm.Data(f"X_{of}", X, dims=dims), dims=dims)
    else:
        observed = pm.Data(f"X_{of}", X[seen], dims=f"cell_{of}")
        pm.Categorical(f"x_{of}", theta[row[of_row], column], observed=observed, dims=f"cell_{of}")


def joint_bayes(X: Any, y: Any, *, concentration: float = 2.0, alpha: float = 1.0) -> pm.Model:
    """The unrestricted Bayes classifier: one table of all combinations of levels for each class.

    Parameters
    ----------
    X : table of shape (row, feature)
        Categories without missing cells.
    y : array of shape (row,)
        Labels.
    concentration, alpha : float
        Of the Dirichlet priors of θ and π.

    Returns
    -------
    pymc.Model
        Free variables ``pi`` (outcome) and ``theta`` (outcome, cell).
    """
    X = to_frame(X)
    coded = [pd.factorize(X[column], sort=True) for column in X]
    sizes = [len(levels) for _, levels in coded]
    model, row = labels(y, alpha)
    with model:
        names = [
            ", ".join(f"{c}={v}" for c, v in zip(X, values, strict=True)) for values in product(*(n for _, n in coded))
        ]
        model.add_coord("cell", names)
        theta = pm.Dirichlet("theta", np.full(len(names), concentration), dims=("outcome", "cell"))
        joint(theta, np.ravel_multi_index([own for own, _ in coded], sizes), row)
    return model


def joint(theta: Any, X: Integers, row: Any, name: str = "") -> Any:
    """x ~ Categorical(θ of the row's class): the combination of levels of each row."""
    observed = pm.Data(f"joint{name}_data", X, dims="row")
    return pm.Categorical(f"joint{name}", theta[row], observed=observed, dims="row")


def bernoulli_nb(X: Any, y: Any, *, a: float = 1.0, b: float = 1.0, alpha: float = 1.0) -> pm.Model:
    """Naive Bayes of events: π ~ Dirichlet(α), θ_kj ~ Beta(a, b), x_j ~ Bernoulli(θ_yj).

    Parameters
    ----------
    X : table of shape (row, feature)
        Whether each event is there; a missing cell is left out.
    y : array of shape (row,)
        Labels.
    a, b, alpha : float
        Hyperparameters.

    Returns
    -------
    pymc.Model
        Free variables ``pi`` (outcome) and ``theta`` (outcome, feature).
    """
    X = to_frame(X)
    model, row = labels(y, alpha)
    with model:
        model.add_coord("feature", list(X.columns))
        cells(pm.Bernoulli, X.to_numpy(dtype=float), row, events(a, b))
    return model


def events(alpha: Any, beta: Any, name: str = "") -> Any:
    """θ ~ Beta(α, β), (outcome, feature): the probability of an event."""
    return pm.Beta(f"theta{name}", _plain(alpha), _plain(beta), dims=("outcome", f"feature{name}"))


def multinomial_nb(X: Any, y: Any, *, concentration: float = 1.0, alpha: float = 1.0) -> pm.Model:
    """Naive Bayes of word counts: π ~ Dirichlet(α), θ_k ~ Dirichlet(concentration), x ~ Multinomial(n, θ_y).

    Parameters
    ----------
    X : table of shape (row, feature)
        How often each word occurs in each document.
    y : array of shape (row,)
        Labels.
    concentration, alpha : float
        Hyperparameters.

    Returns
    -------
    pymc.Model
        Free variables ``pi`` (outcome) and ``theta`` (outcome, word).
    """
    X = to_frame(X)
    model, row = labels(y, alpha)
    with model:
        model.add_coord("word", list(X.columns))
        documents(words(np.full(X.shape[1], concentration)), X.to_numpy(), row)
    return model


def words(alpha: Any, name: str = "") -> Any:
    """θ ~ Dirichlet(α), (outcome, word): the probability of each word."""
    return pm.Dirichlet(f"theta{name}", alpha, dims=("outcome", f"word{name}"))


def documents(theta: Any, X: Array, row: Any, name: str = "") -> None:
    """x_i ~ Multinomial(number of words of document i, θ of its class), for counts (row, word)."""
    data = pm.Data(f"words{name}_data", X.astype(np.int64), dims=("row", f"word{name}"))
    pm.Multinomial(f"words{name}", data.sum(axis=1), theta[row], observed=data, dims=("row", f"word{name}"))


def rates(a: Any, b: Any, name: str = "") -> Any:
    """λ ~ Gamma(a, b), (outcome, feature): of a Poisson or an exponential distribution."""
    return pm.Gamma(f"rate{name}", _plain(a), _plain(b), dims=("outcome", f"feature{name}"))


def gammas(median: Any, spread: Any, kappa: Any, m: Any, name: str = "") -> tuple[Any, Any]:
    """α ~ LogNormal(log median, spread²), β | α ~ Gamma(1 + κα, κm): return shape α and rate β."""
    dims = ("outcome", f"feature{name}")
    shape = pm.LogNormal(f"shape{name}", np.log(_plain(median)), _plain(spread), dims=dims)
    a = 1 + kappa * shape
    return shape, pm.Gamma(f"rate{name}", a, kappa * m, default_transform=_PerShape(log), dims=dims)


def negative_binomials(median: Any, spread: Any, kappa: Any, m: Any, name: str = "") -> tuple[Any, Any]:
    """r ~ LogNormal(log median, spread²), θ | r ~ Beta(1 + κr, 1 + κm): return r and θ.

    The mean is r(1 − θ)/θ.
    """
    dims = ("outcome", f"feature{name}")
    r = pm.LogNormal(f"dispersion{name}", np.log(_plain(median)), _plain(spread), dims=dims)
    a = 1 + kappa * r
    return r, pm.Beta(f"theta{name}", a, 1 + kappa * m, default_transform=_PerShape(logodds), dims=dims)


class _PerShape(Transform):  # type: ignore[misc]
    """Coordinates for NUTS: z = √a log θ/a, or with the logit, a = 1 + κs: its prior hardly depends on the shape s."""

    name = "standardized"
    ndim_supp = 0

    def __init__(self, transform: Transform) -> None:
        self._transform = transform

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the coordinate."""
        return pt.sqrt(inputs[2]) * (self._transform.forward(value) - pt.log(inputs[2]))

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return θ."""
        return self._transform.backward(value / pt.sqrt(inputs[2]) + pt.log(inputs[2]))

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log derivative of θ."""
        own = value / pt.sqrt(inputs[2]) + pt.log(inputs[2])
        return self._transform.log_jac_det(own) - pt.log(inputs[2]) / 2


def regression(
    column: str, on: Sequence[str], prior: tuple[Any, Any, Any, Any], given: Sequence[str] = (), of_all: bool = False
) -> tuple[Any, Any]:
    """σ² ~ InvGamma(a, b), β | σ² ~ Normal(m, σ²/λ) of a number: return β and σ².

    There is one of each for each class and combination of the categories `given`.

    Parameters
    ----------
    column : str
        Its name.
    on : sequence of str
        Names of the numbers on which it depends: β has an intercept, where these have their means, and a slope for
        each.
    prior : tuple of four arrays
        m and λ in the shape of β, and a and b in the shape of σ².
    given, of_all
        As for `category`.
    """
    m, precision, a, b = prior
    name, levels = in_names(column), [f"{in_names(parent)}_level" for parent in given]
    term, dims = f"{name}_term", (*(() if of_all else ("outcome",)), *levels)
    pm.modelcontext(None).add_coord(term, ["intercept", *on])
    sigma2 = pm.InverseGamma(f"sigma2_{name}", a, b, dims=dims)
    beta = pm.Normal(f"beta_{name}", m, (sigma2[..., None] / precision) ** 0.5, dims=(*dims, term))
    return beta, sigma2


def number(
    column: str,
    parameters: tuple[Any, Any],
    X: Array,
    row: Any,
    centered: Sequence[Any] = (),
    given: Mapping[str, Any] | None = None,
    of_all: bool = False,
) -> Any:
    """x ~ Normal(β0 + Σ β_i (x_i − mean_i), σ²): return the column.

    Parameters
    ----------
    column : str
        Its name.
    parameters : tuple of two tensors
        As `regression` returns them.
    X : array of shape (row,)
        Cells; NaN is missing.
    row : tensor of shape (row,)
        The class of each row.
    centered : sequence of array of shape (row,)
        Columns of numbers on which it depends, less their means.
    given, of_all
        As for `codes`.
    """
    seen = ~np.isnan(X)

    def moments(beta: Any, sigma2: Any) -> tuple[Any, Any]:
        """Return mean and sd of the observed cells."""
        return beta[:, 0] + sum(beta[:, 1 + i] * values[seen] for i, values in enumerate(centered)), sigma2**0.5

    return _observed(column, pm.Normal, parameters, X, seen, row, given or {}, of_all, moments)


def gaussian_discriminant_analysis(X: Any, y: Any, *, alpha: float = 1.0) -> pm.Model:
    """Discriminant analysis with one covariance, whose degrees of freedom ν are learned.

    ::

        π ~ Dirichlet(α),  log(ν − d − 1) ~ Normal(log d, 1),  Σ ~ InvWishart(ν, (ν − d − 1) diag(s²))
        μ_k | Σ ~ Normal(x̄, Σ),  y ~ Categorical(π),  x ~ Normal(μ_y, Σ)

    with s² the variances within the classes, beside which those of the pooled rows count for two rows.

    Parameters
    ----------
    X : table of shape (row, feature)
        Numbers.
    y : array of shape (row,)
        Labels.
    alpha : float
        Concentration.

    Returns
    -------
    pymc.Model
        Free variables ``pi`` (outcome), ``c`` = ν − d − 1, ``squares`` (feature) and ``above`` (pair) of Bartlett's
        factor, and ``mu`` (outcome, feature); ``nu`` and ``Sigma`` follow.
    """
    X = to_frame(X)
    d, groups = X.shape[1], X.groupby(np.asarray(y))
    within = sum((own.var(ddof=0) * len(own) for _, own in groups), start=2 * X.var(ddof=0))
    scale = (within / (len(X) - len(groups) + 2)).to_numpy()
    model, row = labels(y, alpha)
    with model:
        model.add_coords({"feature": list(X.columns), "other_feature": list(X.columns)})
        c = pm.LogNormal("c", np.log(d), 1.0)
        nu = pm.Deterministic("nu", c + d + 1)
        chol = covariance(nu, c, np.diag(np.sqrt(scale)))
        mu = pm.MvNormal("mu", X.mean().to_numpy(), chol=chol, dims=("outcome", "feature"))
        multivariate_normals(mu, chol, X.to_numpy(dtype=float), row)
    return model


def bartlett(nu: Any, c: Any, size: int, dims: tuple[str, ...] = (), name: str = "") -> tuple[Any, Any]:
    """A_ii² ~ Gamma((ν − d + 1 + i)/2, c/2), i from 0, A_ij ~ Normal(0, 1/c) above the diagonal: return A_ii² and A.

    A is upper triangular and AAᵀ ~ Wishart(ν, I/c).

    Parameters
    ----------
    nu, c
        Of one covariance, or of each class.
    size : int
        d, the number of features.
    dims : tuple of str
        ``("outcome",)`` for a covariance of each class.

    References
    ----------
    Anderson (2003), *An introduction to multivariate statistical analysis*, theorem 7.2.1.
    """
    upper, pairs = np.triu_indices(size, 1), f"pair{name}"
    pm.modelcontext(None).add_coord(pairs, [f"{i}, {j}" for i, j in zip(*upper, strict=True)])
    freedom = pt.as_tensor(nu)[..., None] - np.arange(size)[::-1]
    squares = pm.Gamma(f"squares{name}", freedom / 2, c[..., None] / 2, dims=(*dims, f"feature{name}"))
    above = pm.Normal(f"above{name}", 0.0, c[..., None] ** -0.5, dims=(*dims, pairs))
    A = pt.sqrt(squares)[..., None] * np.eye(size)
    return squares, pt.set_subtensor(A[..., upper[0], upper[1]], above)


def covariance(nu: Any, c: Any, root: Array, dims: tuple[str, ...] = (), name: str = "") -> Any:
    """Σ ~ InvWishart(ν, c RRᵀ): return R A⁻ᵀ, the Cholesky factor of Σ, with Bartlett's factor A.

    Parameters
    ----------
    nu, c, dims
        As for `bartlett`.
    root : array
        R, lower triangular, of one covariance, or of each class with its axis as the first.
    """
    _, A = bartlett(nu, c, root.shape[-1], dims, name)
    return root @ pt.linalg.inv(A).mT


def multivariate_normals(mu: Any, chol: Any, X: Array, row: Any, name: str = "") -> None:
    """x ~ Normal(μ_y, Σ_y), with LLᵀ = Σ of all or of each class.

    Parameters
    ----------
    mu : tensor of shape (outcome, feature)
        Means of the classes.
    chol : tensor
        L.
    X : array of shape (row, feature)
        Cells; NaN is missing, and rows with the same missing cells are one variable.
    row : tensor of shape (row,)
        The class of each row.
    """
    of_class = chol.ndim == 3
    pm.Deterministic(
        f"Sigma{name}",
        chol @ chol.mT,
        dims=(*(("outcome",) if of_class else ()), f"feature{name}", f"other_feature{name}"),
    )
    patterns, of_row = np.unique(~np.isnan(X), axis=0, return_inverse=True)
    for number, seen in enumerate(patterns):
        if not seen.any():
            continue
        rows, whole = np.flatnonzero(of_row.ravel() == number), bool(seen.all())
        of = name if whole else f"_{number}{name}"
        dims = ("row" if len(patterns) == 1 else f"row_{of}", f"feature{name}" if whole else f"seen{of}")
        part = chol[..., seen, :]
        options = {"chol": chol} if whole else {"cov": part @ part.mT}
        options = {key: value[row[rows]] if of_class else value for key, value in options.items()}
        observed = pm.Data(f"X{of}", X[np.ix_(rows, seen)], dims=dims)
        pm.MvNormal(f"x{of}", mu[row[rows]][:, seen], **options, observed=observed, dims=dims)


class Columns(NamedTuple):
    """How the columns of logistic regression are standardized, and the directions along which weights are independent.

    Attributes
    ----------
    center, scale
        Origin and unit of each column, (feature).
    directions, variances
        U (feature, direction) and e (direction) of C = U diag(e) Uᵀ. C is the covariance of the standardized columns,
        scaled to an average variance of 1.
    """

    center: Array
    scale: Array
    directions: Array
    variances: Array

    @classmethod
    def of(cls, table: pd.DataFrame, numbers: NDArray[np.bool_]) -> Columns:
        """Return mean, sd (1 for the 0/1 column of a level) and directions of columns, of which some are numbers."""
        center, scale = table.mean().to_numpy(), np.where(numbers, table.std(ddof=0), 1.0)
        C = np.atleast_2d(np.cov((table.to_numpy() - center) / scale, rowvar=False, ddof=0))
        variances, directions = np.linalg.eigh(C / np.diag(C).mean())
        return cls(center, scale, directions, np.maximum(variances, 0))


def logistic_regression(
    X: Any,
    y: Any,
    prior_scale: str | float = _LEARNED,
    correlation: str | float = _LEARNED,
    *,
    median: float = 1.0,
    spread: float = 1.5,
    prior_mean: float | Array = 0.0,
    intercept_mean: float = 0.0,
    intercept_scale: float = 5.0,
    symmetric: bool = True,
    given: Array | None = None,
    columns: Columns | None = None,
    classes: Any = None,
) -> pm.Model:
    """Logistic regression: normal weights of a scale s and a correlation ρ that are learned.

    ::

        log s ~ Normal(log median, spread²)
        ρ ~ Uniform(0, 1)
        w | s, ρ ~ Normal(0, s² [(1 − ρ) I + ρ C])
        b ~ Normal(intercept_mean, intercept_scale²)
        η = b + (x − center) · w,   y ~ Categorical(logit_p = η)

    A learned s and the weights form a funnel: give ``pm.sample`` a ``target_accept`` of 0.99.

    Weights are per sd of a number, and per unit of the 0/1 columns of levels; ``weight`` is per unit of all. For two
    classes w and b are log-odds of the second. For more, each class has its own, which add up to 0, and the prior is
    that of the difference of any two.

    Parameters
    ----------
    X : table of shape (row, feature)
        Numbers without missing cells, and categories.
    y : array of shape (row,)
        Labels.
    prior_scale : "learned" or float
        s, or a given one; given, the weights are independent unless `correlation` is a number.
    correlation : "learned" or float
        ρ.
    median, spread, intercept_mean, intercept_scale : float
        Of the priors.
    prior_mean : float or array of shape (feature,)
        Of the weights, per sd of a number.
    symmetric : bool
        Whether each of more than two classes has weights; if not, the last has none, and the others' are independent.
    given : array of shape (direction,) or None
        Scales that are not s, NaN where they are.
    columns : Columns or None
        Standardization and directions; None takes those of the rows.
    classes : array of shape (class,) or None
        All labels, in order; None takes those of the rows.

    Returns
    -------
    pymc.Model
        Free variables ``log_prior_scale`` and ``prior_correlation`` where learned, ``epsilon`` (direction, outcome) and
        ``intercept`` (outcome); ``prior_scale``, ``weight`` (outcome, feature) and ``eta`` (row, outcome) follow.
    """
    X = X if isinstance(X, pd.DataFrame) else to_frame(X)  # a model can be without rows
    table = pd.get_dummies(X, dtype=float)  # a 0/1 column for each level
    center, scale, directions, variances = columns or Columns.of(table, table.columns.isin(X.columns))
    classes = np.unique(y) if classes is None else np.asarray(classes)
    of_rows = pd.Index(classes).get_indexer(np.asarray(y))
    two, every = len(classes) == 2, symmetric and len(classes) > 2
    outcomes = classes if every else classes[1:] if two else classes[:-1]
    coords = {"outcome": outcomes, "feature": table.columns, "direction": range(len(variances))}

    with pm.Model(coords=coords, model=None) as model:
        data = pm.Data("X", table.to_numpy(), dims=("row", "feature"))
        observed = pm.Data("labels", of_rows, dims="row")
        s: Any = prior_scale
        rho: Any = 0.0 if correlation == _LEARNED else correlation
        if prior_scale == _LEARNED:
            s = pm.Deterministic("prior_scale", pt.exp(pm.Normal("log_prior_scale", np.log(median), spread)))
            learned = correlation == _LEARNED
            rho = pm.Uniform("prior_correlation") if learned else pm.Data("prior_correlation", float(correlation))
        sd = s * pt.sqrt(1 - rho + rho * variances)
        sd = sd if given is None else pt.where(np.isnan(given), sd, given)
        if every:  # one vector for each class; the difference of any two has the sd of the prior
            epsilon = pm.ZeroSumNormal("epsilon", 1 / np.sqrt(2), dims=("direction", "outcome"))
            intercept = pm.ZeroSumNormal("intercept", intercept_scale / np.sqrt(2), dims="outcome")
        else:
            epsilon = pm.Normal("epsilon", dims=("direction", "outcome"))
            intercept = pm.Normal("intercept", intercept_mean, intercept_scale, dims="outcome")
        w = directions @ (sd[:, None] * epsilon)
        weight = pm.Deterministic("weight", (prior_mean + w.T) / scale, dims=("outcome", "feature"))
        eta = pm.Deterministic("eta", intercept + (data - center) @ weight.T, dims=("row", "outcome"))
        if two:
            pm.Bernoulli("y", logit_p=eta[:, 0], observed=observed, dims="row")
        else:
            logit_p = eta if every else pt.concatenate([eta, pt.zeros_like(eta[:, :1])], axis=1)
            pm.Categorical("y", logit_p=logit_p, observed=observed, dims="row")
    return model


def tempered(L: Array, y: Any, pi: Any, classes: Any = None, columns: Sequence[str] = ()) -> pm.Model:
    """y_i ~ Categorical(softmax(log π + b + T·L_i)), log T ~ Normal(0, 1), b ~ ZeroSumNormal(1).

    With `columns`, T·L_i is Σ_j T_j L_ij with T_j = T exp(τ z_j), z_j ~ Normal(0, 1), τ ~ HalfNormal(1).

    Parameters
    ----------
    L : array of shape (row, outcome) or (row, outcome, column)
        Log density of each left-out row under a generative model, log p(x_i | k, all rows but i), up to a constant of
        each row; or that of each column.
    y : array of shape (row,)
        Labels.
    pi : array of shape (outcome,)
        Probabilities of the classes.
    classes : array of shape (outcome,) or None
        All labels in order; None takes 0, 1, ….
    columns : sequence of str
        Names of columns with weights of their own.
    """
    classes = np.arange(len(pi)) if classes is None else np.asarray(classes)
    coords = {"outcome": list(classes)} | ({"column": list(columns)} if columns else {})
    with pm.Model(coords=coords, model=None) as model:
        data = pm.Data("L", L, dims=("row", "outcome", "column")[: L.ndim])
        observed = pm.Data("labels", pd.Index(classes).get_indexer(np.asarray(y)), dims="row")
        T = pm.LogNormal("T", 0.0, 1.0)
        b = pm.ZeroSumNormal("b", 1.0, dims="outcome")
        evidence = T * data
        if columns:
            tau = pm.HalfNormal("tau", 1.0)
            z = pm.Normal("z", 0.0, 1.0, dims="column")
            evidence = data @ pm.Deterministic("T_column", T * pt.exp(tau * z), dims="column")
        pm.Categorical("y", logit_p=np.log(pi) + b + evidence, observed=observed, dims="row")
    return model


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
