"""Predictive checks for classes: data sets that the model makes, next to the observed one.

For each draw of the parameters, labels are drawn given the rows, y_i ~ P(y | x_i, θ). A generative model also draws
labels from the class prior, and cells given the observed labels, with the same cells missing. The data sets are
compared by class counts, level shares, and the mean, sd, maximum and shape of numbers by class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.classifiers.base import FITTED, BayesClassifier
from bayesclf.classifiers.inputs import checked_labels, seed_of
from bayesclf.constraints import Flag, Whole, require, require_number
from bayesclf.engines.inference import parameter_count
from bayesclf.errors import Refused
from bayesclf.families.dirichlet import canonical
from bayesclf.models import Model
from bayesclf.models.generative import Block
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.tables.columns import Rows

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["p_value_table", "predictive_check"]

MOST_ROWS = 2_000
"""Rows that are replicated at most."""

MOST_CELLS = 200_000
"""Cells of a replicated table at most; a wider table has fewer rows, but never below `LEAST_ROWS`."""

LEAST_ROWS = 50

STREAM = 4
"""Number of the random stream, in addition to those of the classifier."""

AXIS_OF = {"mean": "feature", "sd": "feature", "max": "feature", "shape": "feature", "share": "level"}
"""Second axis of each statistic, after the class axis."""


def predictive_check(
    classifier: BayesClassifier, X: Any, y: Any, draws: int = 200, random_state: Any = None, prior: bool = True
) -> xr.DataTree:
    """Replicate labelled rows under prior and posterior, and compare them with the observed ones.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted, with a posterior.
    X, y
        Training rows; of a larger table a random subset of `MOST_ROWS`.
    draws : int
        Replicated data sets.
    random_state : int, Generator or None
        Seed; if None, the seed of the fit.
    prior : bool
        Whether to replicate data under the prior as well.

    Returns
    -------
    DataTree
        ``posterior_predictive``, ``prior_predictive``: label codes ``y`` (chain, draw, row) given each row's x;
        ``observed_data``: the observed ones (row). `arviz.plot_ppc_pava` takes them (``data_type="categorical"`` for
        more than two classes), and for more than two `arviz.plot_ppc_rootogram` and, where the codes' order has a
        meaning, `arviz.plot_ppc_pit`.
        ``posterior_statistics``, ``prior_statistics`` (chain, draw, …), ``observed_statistics``: of each data set
        ``class_count_given_x`` and ``class_count`` (outcome), ``mean``, ``sd``, ``max`` and ``shape`` (outcome,
        feature) and ``share`` (outcome, level). The shape is the Cramér–von Mises distance of a column's values from a
        normal distribution with their mean and sd.
        ``p_value``: P(T(replicated) > T(observed)) + ½P(=) under the posterior, near 0 or 1 where the model does not
        make such data; ``adjusted_p_value``: two-sided and over all statistics at once, by the largest studentized
        deviation of each replicated data set. For a prior that cannot be drawn from there are no groups, and
        ``attrs["no_prior"]`` says why.

    Raises
    ------
    Refused
        Without a posterior, or where its draws are too large to keep in memory.

    References
    ----------
    Gelman, Meng, Stern (1996), Posterior predictive assessment of model fitness, Statistica Sinica 6. Westfall, Young
    (1993), Resampling-based multiple testing (the adjusted p-values, maxT).

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> tree = bc.GaussianNB(random_state=1).fit(X, y).predictive_check(X, y)
    >>> tree["observed_statistics"]["mean"].values.ravel()
    array([2.5, 1.5])
    """
    require(FITTED, classifier=classifier)
    check_is_fitted(classifier, "classes_")
    require(Whole(1), draws=draws)
    require(Flag(), prior=prior)
    require_number(16 * parameter_count(classifier.model_), draws=draws)
    rows = classifier.rows(X)
    codes = classifier.known_codes(checked_labels(y, len(rows)))
    posterior = classifier.hypotheses("posterior")
    if not isinstance(posterior, Hypotheses):
        raise Refused(
            f"{len(posterior)} draws of this posterior are too large to keep in memory, so no data can be replicated"
        )
    rng = np.random.default_rng([classifier.seed_ if random_state is None else seed_of(random_state), STREAM])
    chosen = _some_rows(rows, rng)
    observed = _Observed(classifier.model_, rows[chosen], codes[chosen], chosen)
    import xarray as xr

    groups = observed.observed()
    groups |= observed.replicated("posterior", posterior.take(rng.integers(len(posterior), size=draws)), rng)
    attributes: dict[str, Any] = {"rows": len(chosen), "of_rows": len(rows)}
    if prior:
        try:
            model: Any = classifier.model_
            hypotheses = Hypotheses(model, model.prior_draw(rng, draws))
            groups |= observed.replicated("prior", hypotheses, rng)
        except Refused as refusal:
            attributes["no_prior"] = str(refusal)
    p_value, adjusted = _p_values(groups["posterior_statistics"], groups["observed_statistics"])
    tree = xr.DataTree.from_dict({**groups, "p_value": p_value, "adjusted_p_value": adjusted})
    tree.attrs |= attributes
    return tree


def _some_rows(rows: Rows, rng: np.random.Generator) -> Integers:
    """Return the positions of the rows to replicate, in increasing order."""
    cells = sum(part.shape[1] for part in rows.parts if not sparse.issparse(part))
    most = min(len(rows), MOST_ROWS, max(MOST_CELLS // max(cells, 1), LEAST_ROWS))
    return np.sort(rng.choice(len(rows), most, replace=False))


@dataclass(frozen=True, eq=False)
class _Observed:
    """The observed rows, which are replicated and compared with."""

    model: Model
    rows: Rows
    y: Integers
    numbers: Integers

    @cached_property
    def summaries(self) -> list[Summary]:
        """Statistics of each block of columns; documents have none, as the model does not say how long they are."""
        if not self.model.generative:
            return []
        return [
            Summary(block, part, self.y, bool(kind))
            for block, part in zip(self.model.blocks, self.rows.parts, strict=True)
            if block.family.kind != "count" and not sparse.issparse(part)
            for kind in np.unique(_are_categories(block))
        ]

    def observed(self) -> dict[str, xr.Dataset]:
        """Return the groups of the observed data."""
        import xarray as xr

        counts = np.bincount(self.y, minlength=len(self.model.labels)).astype(float)
        statistics = {"class_count_given_x": counts}
        if self.model.generative:
            statistics |= {"class_count": counts} | _joined([summary.observed() for summary in self.summaries])
        one = self._dataset({name: values[None] for name, values in statistics.items()})
        return {
            "observed_data": xr.Dataset({"y": ("row", self.y)}, coords={"row": self.numbers}),
            "observed_statistics": one.isel(chain=0, draw=0, drop=True),
        }

    def replicated(self, source: str, hypotheses: Hypotheses, rng: np.random.Generator) -> dict[str, xr.Dataset]:
        """Return the groups of replicated data, one data set per hypothesis."""
        import xarray as xr

        blocks = averaging.blocks(hypotheses, self.rows)
        y = np.concatenate([drawn_labels(hypotheses, self.rows[block], rng) for block in blocks])
        labels = len(self.model.labels)
        given_x = np.stack([np.bincount(of_draw, minlength=labels) for of_draw in y.T]).astype(float)
        statistics: dict[str, Array] = {"class_count_given_x": given_x}
        if self.model.generative:
            pi = np.broadcast_to(np.exp(hypotheses.log_class_prior()), (len(hypotheses), labels))
            statistics["class_count"] = rng.multinomial(len(self.y), pi).astype(float)
            made = [
                _joined([summary.replicated(one.parameters, rng) for summary in self.summaries])
                for one in (hypotheses.take(np.array([number])) for number in range(len(hypotheses)))
            ]
            statistics |= {name: np.stack([values[name] for values in made]) for name in made[0]}
        data = xr.Dataset({"y": (("chain", "draw", "row"), y.T[None])}, coords={"row": self.numbers})
        return {f"{source}_predictive": data, f"{source}_statistics": self._dataset(statistics)}

    def _dataset(self, statistics: Mapping[str, Array]) -> xr.Dataset:
        """Return statistics (draw, outcome) or (draw, outcome, feature or level) with their names."""
        import xarray as xr

        coords = {"outcome": list(self.model.labels)}
        for summary in self.summaries:
            coords[summary.axis] = coords.get(summary.axis, []) + summary.names
        variables = {
            name: (("chain", "draw", "outcome", *([AXIS_OF[name]] if name in AXIS_OF else [])), values[None])
            for name, values in statistics.items()
        }
        return xr.Dataset(variables, coords=coords)


def drawn_labels(hypotheses: Hypotheses, rows: Rows, rng: np.random.Generator) -> Integers:
    """Draw a label for each row under each hypothesis, (row, draw)."""
    cumulative = np.cumsum(np.exp(averaging.conditional(hypotheses, rows).log_proba), axis=1)
    position = rng.random((len(rows), 1, len(hypotheses))) * cumulative[:, -1:]
    return np.asarray((position >= cumulative[:, :-1]).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Summary:
    """Statistics of the cells of one block: of numbers, of the levels of categories, or of events.

    Attributes
    ----------
    block
        A block of the model.
    X
        The observed cells (row, feature).
    y
        Label codes (row).
    of_categories
        Whether the statistics are those of its categories, or of its other columns.
    """

    block: Block
    X: NDArray[Any]
    y: Integers
    of_categories: bool

    @property
    def axis(self) -> str:
        """Name of the second axis, after the class."""
        return "level" if self.of_categories or self._threshold is not None else "feature"

    @property
    def names(self) -> list[str]:
        """Names along that axis."""
        axes = self.block.statistics.axes.select(_are_categories(self.block) == self.of_categories)
        if self.of_categories:
            pairs = zip(axes.features, axes.levels, strict=True)
            return [f"{name}={value}" for name, values in pairs for value in values]
        return list(axes.features)

    def observed(self) -> dict[str, Array]:
        """Return the statistics of the observed cells."""
        return self._of(self.X)

    def replicated(self, parameters: Parameters, rng: np.random.Generator) -> dict[str, Array]:
        """Return the statistics of cells drawn from one hypothesis given the labels."""
        return self._of(replicated_cells(self.block, self.X, self.y, parameters, rng))

    def _of(self, X: NDArray[Any]) -> dict[str, Array]:
        """Return statistics by class of cells (row, feature)."""
        own = _are_categories(self.block) == self.of_categories
        axes, X = self.block.statistics.axes.select(own), X[:, own]
        if self.axis == "feature":
            return _moments(X, self.y, len(axes.labels))
        if self.of_categories:
            events = np.hstack([X[:, [j]] == np.arange(size) for j, size in enumerate(axes.sizes)]).astype(float)
            known = np.repeat(X >= 0, axes.sizes, axis=1).astype(float)
        else:
            known = (~np.isnan(X)).astype(float)
            events = (self._threshold < X).astype(float)
        members = (self.y == np.arange(len(axes.labels))[:, None]).astype(float)
        with np.errstate(invalid="ignore"):  # a class without a known cell has no share
            return {"share": (members @ events) / (members @ known)}

    @property
    def _threshold(self) -> Any:
        """Value above which a cell is an event; None where cells are numbers or levels."""
        return getattr(self.block.family, "threshold", None)


def _are_categories(block: Block) -> NDArray[np.bool_]:
    """Return which features of a block have levels, (feature)."""
    axes = block.statistics.axes
    return np.array(axes.sizes) > 0 if axes.levels else np.zeros(len(axes.features), dtype=bool)


def replicated_cells(
    block: Block, X: Any, y: Integers, parameters: Parameters, rng: np.random.Generator
) -> NDArray[Any]:
    """Return cells (row, feature) drawn from one hypothesis given the labels, dense, missing where those of X are."""
    own: Any = block.family
    if own.kind == "count":
        counts = canonical(X)
        if (counts.data % 1).any():
            raise Refused("a document whose counts are not whole numbers cannot be drawn")
        lengths = np.ravel(counts.sum(axis=1)).astype(int)
        return np.asarray(own.sample_lengths(lengths, y, block.own(parameters), rng))
    cells: NDArray[Any] = own.sample(block.own(parameters), y, rng)
    if sparse.issparse(X):  # no cell of a sparse table is missing
        return cells
    missing = np.isnan(X) | ((X < 0) & _are_categories(block))
    return np.where(missing, np.nan if X.dtype.kind == "f" else -1, cells)


def _moments(X: Array, y: Integers, labels: int) -> dict[str, Array]:
    """Return mean, sd, maximum and shape of each class's known cells, (outcome, feature); NaN where there are none."""
    found = {name: np.full((labels, X.shape[1]), np.nan) for name in ("mean", "sd", "max", "shape")}
    for k in range(labels):
        own = X[y == k]
        known = ~np.isnan(own)
        some = known.any(axis=0)
        if some.any():
            own, known = own[:, some], known[:, some]
            found["max"][k, some] = np.nanmax(own, axis=0)
            found["mean"][k, some] = mean = np.nanmean(own, axis=0)
            found["sd"][k, some] = sd = np.nanstd(own, axis=0)
            residual = np.where(known, own - mean, np.inf)
            found["shape"][k, some] = _distance_from_normal(residual, sd, known.sum(axis=0))
    return found


def _distance_from_normal(residual: Array, sd: Array, n: Integers) -> Array:
    """Return Cramér–von Mises' 1/(12n) + Σ (Φ(z₍ᵢ₎) − (2i − 1)/(2n))² of each column; NaN for a constant one."""
    rank = np.arange(1, len(residual) + 1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.sort(residual, axis=0) / sd
    squares = np.where(rank <= n, (ndtr(z) - (2 * rank - 1) / (2 * n)) ** 2, 0.0)
    return np.where(sd > 0, 1 / (12 * n) + squares.sum(axis=0), np.nan)


def _joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    """Return the statistics of all blocks, concatenated along the second axis."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: np.hstack([part[name] for part in parts if name in part]) for name in names}


def _p_values(replicated: xr.Dataset, observed: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Return P(T(replicated) > T(observed)) + ½P(=), and p-values adjusted by the largest |T − mean|/sd of all."""
    made, known = replicated.isel(chain=0), observed.notnull()
    p_value = ((made > observed) + 0.5 * (made == observed)).mean("draw").where(known)
    mean, sd = made.mean("draw"), made.std("draw")
    # A statistic that never varies has sd 0: its own deviations 0/0 count as 0, and an observed one that differs is ∞
    scaled, deviation = ((abs(values - mean) / sd).fillna(0.0) for values in (made, observed))
    of_draw = scaled.max([dim for dim in scaled.dims if dim != "draw"]).to_array().max("variable")
    adjusted = (1 + (of_draw >= deviation).sum("draw")) / (1 + of_draw.size)
    return p_value, adjusted.where(known)


def p_value_table(tree: xr.DataTree) -> pd.DataFrame:
    """Return one row per statistic: observed, mean and sd of the replicated ones, p-values, the most extreme first.

    Parameters
    ----------
    tree : DataTree
        Result of `predictive_check`.

    Returns
    -------
    DataFrame
        Its columns are `statistic`, `outcome`, `column`, `observed`, `replicated`, `sd`, `p_value` and
        `adjusted_p_value`.
    """
    replicated, observed, p_value, adjusted = (
        tree[group].to_dataset()
        for group in ("posterior_statistics", "observed_statistics", "p_value", "adjusted_p_value")
    )
    of_draws = ("chain", "draw")
    groups = observed, replicated.mean(of_draws), replicated.std(of_draws), p_value, adjusted
    lines = []
    for name, values in observed.items():
        labels = product(*(values[dim].values for dim in values.dims))
        for (outcome, *column), *numbers in zip(labels, *(group[name].values.ravel() for group in groups), strict=True):
            lines.append((name, str(outcome), str(column[0]) if column else "", *map(float, numbers)))
    columns = ["statistic", "outcome", "column", "observed", "replicated", "sd", "p_value", "adjusted_p_value"]
    table = pd.DataFrame(lines, columns=columns)
    deviation = ((table["observed"] - table["replicated"]).abs() / table["sd"]).fillna(0.0)
    order = np.lexsort((-deviation, table["adjusted_p_value"].fillna(1.0)))
    return table.iloc[order].reset_index(drop=True)
