"""Logistic regression, the discriminative classifier: of a table in memory, or of one that is read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Parameters
from bayesclf.classifiers.attributes import fitted_model, symmetric
from bayesclf.classifiers.base import CI_PROB, BayesClassifier, classifier
from bayesclf.classifiers.inputs import Training, about_constant, joined_labels
from bayesclf.classifiers.passes import Counted, StreamedTable, added, settle
from bayesclf.constraints import Choice, require
from bayesclf.engines import MAP, MLE, Auto, GradientAscent, Laplace
from bayesclf.engines.inference import ENGINES, Engine
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, Refused, warn
from bayesclf.families.gaussian import Moments
from bayesclf.models import Model
from bayesclf.models.linear import Matrix
from bayesclf.models.logistic.design import (
    LogisticDesign,
    WeightedRows,
    about_joined,
    encoded,
    gaps_of,
    moments_of as moments_of_cells,
    names_of,
    training_columns,
)
from bayesclf.models.logistic.likelihood import Likelihood, with_ones
from bayesclf.models.logistic.model import LogisticModel, LogisticPrior, StreamedModel, moments_of, not_learnable
from bayesclf.models.logistic.newton import DENSE_PARAMETERS
from bayesclf.models.logistic.prior import DEFAULT_SCALE, LearnedScale, not_meaningful
from bayesclf.rules import Gibbs
from bayesclf.tables import columns
from bayesclf.tables.columns import Column, Rows, SparseTable, Table
from bayesclf.wording import AND_MORE, listed

LISTED_COLUMNS = 5
MOST_WEIGHT = 1e11
"""Sum of weights above which the log-likelihood's rounding is no longer small against 1."""
MISSING = Choice(("impute", "error"))
"""What missing cells do."""
LEVELS = ((1 - CI_PROB) / 2, 0.5, (1 + CI_PROB) / 2)
"""Quantiles of a learned scale that are said."""


def about_scale(parameters: Parameters) -> str:
    """Say what the draws (draw) of the prior scale and of the correlation are."""
    said = []
    for name, what in (("prior_scale", "the prior scale of the weights"), ("prior_correlation", "their correlation")):
        low, middle, high = np.quantile(parameters[name], LEVELS)
        interval = f" ({100 * CI_PROB:.0f}% interval {low:.2g} to {high:.2g})" if high > low else " (fixed)"
        said.append(f"{what} is {middle:.2g}{interval}")
    return f"learned from the rows: {said[0]}, and {said[1]}, where 1 is the correlation of the columns"


def about_collinear(names: tuple[str, ...]) -> Iterator[str]:
    """Say, where there are collinear columns, which they are and what follows."""
    if names:
        some = listed(map(repr, names), LISTED_COLUMNS, AND_MORE)
        yield (
            f"{some} are collinear, so the likelihood does not determine their weights; MAP and the posterior are "
            "unaffected"
        )


LEARNED = "learned"
"""`prior_scale` where it is learned from the rows."""
UNSEEN_STREAM = 2
"""Number of the random stream from which weights of unseen levels are drawn, next to the Gibbs classifier's 0 and 1."""


@classifier
class LogisticRegression(BayesClassifier):
    """P(y = k | x) ∝ exp(b_k + w_k·x) with normal priors on K − 1 weight vectors.

    For two classes the weights are log-odds of ``classes_[1]``; for more, against the last class. The default prior is
    symmetric: it is the same for the log-odds weight between *any* two classes, per sd of the column. Neither the
    reference class nor the units of a column matter. By default its scale is learned from the rows. A categorical
    column has one weight per level and no reference level.

    There is no p(x) to integrate a missing cell out with. The rule instead: a number becomes the training mean, with
    a 0/1 column "… is missing" where training had gaps; a missing category contributes nothing; the weight of a
    level that the training rows lack comes from its prior, its mean under plug-in rules and draws under averaging.

    A sparse table (SciPy's) stays sparse: its columns are centered and scaled by algebra, not cell by cell.

    Training rows with the same cells and label become one row with the sum of their weights, which changes nothing but
    the time it takes; `model_` holds these rows.

    Parameters
    ----------
    prior_mean : float, array or dict
        Mean of a weight per sd of its column: a number, an array (column), or a mapping from column name to number.
        Other than 0 it needs two classes or ``prior_form="reference"``.
    prior_scale : float, array, dict, "learned" or LearnedScale
        Its sd. ``"learned"``, the default: w ~ Normal(0, s² [(1 − ρ) I + ρ C]), with one sd s for all columns, and a
        share ρ of their correlation C. log s ~ Normal(0, 1.5²) and ρ ~ Uniform(0, 1) have a posterior, over which the
        answers average. ``bayesclf.LearnedScale(…)`` has another prior of s, a given ρ, and columns whose sd is given
        all the same. With ``"map"``, s and ρ are at the mode of (log s, logit ρ), and the weights at their mode given
        both. For a sparse table, more than 3,000 weights, a `prior_mean` other than 0, or `standardize=False`,
        ``"learned"`` is 2.5 for independent weights. `notes_` then says so. A number or an array, as in `prior_mean`,
        fixes the sd; a mapping fixes it for the columns that it names, and it is learned for the others.
    prior_form : {"symmetric", "reference"}
        ``"symmetric"``, or ``"reference"``: independent vectors against the reference class (Mitchell).
    intercept_mean : float
        Prior mean of the intercept, the log-odds at `intercept_at`.
    intercept_scale : float
        Its prior sd; infinite for a flat prior.
    intercept_at : {"means", "zero"}
        Where the intercept of prior, posterior and PyMC model is. ``"means"``: at the means of all columns, levels' 0/1
        columns too, so that a shift of a column changes nothing; ``"zero"``: at x = 0.
    standardize : bool
        Whether `prior_mean` and `prior_scale` are per sd of a number, or, if False, per unit.
    missing : {"impute", "error"}
        ``"impute"``, the rule above, or ``"error"``.
    inference : {"auto", "slice", "nuts", "laplace", "map", "mle"} or Engine
        An engine's name, or its settings such as ``bayesclf.engines.NUTS(…)``. `auto` is Laplace where its check says
        that this is as good as exact, around the mode or with the moments of the posterior. Otherwise it is slice
        sampling, or NUTS for more than four classes and where slices hardly move. `notes_` says which, and
        `inference_` is the engine that was used. `bayesclf.engines.Auto` has the settings of all.
    rule : str, Gibbs or None
        Default rule of the predictions; None is Bayes-optimal where there is a posterior, else the point estimate.
    random_state : int, Generator or None
        Seed of the posterior's draws and of the Gibbs classifier.

    Attributes
    ----------
    coef_ : ndarray of shape (1, feature) or (outcome, feature)
        Weights of the log-odds per unit of a column: of the second of two classes, or of each of more, adding up to 0.
        The posterior mean, or the requested point. For tables of numbers; a missing cell is not in them.
    intercept_ : ndarray of shape (1,) or (outcome,)
        The log-odds at x = 0 in the columns' own units, likewise, wherever the prior has its intercept.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [1.9], [2.1], [3.0]], ["low", "high", "low", "high"]
    >>> clf = bc.LogisticRegression(inference="map").fit(X, y)
    >>> print(clf.predict([[0.5], [4.0]]))
    ['low' 'high']

    References
    ----------
    Mitchell §3, eqs 24 to 29 (eqs 16 to 22 have the opposite sign). MacKay (1992), The evidence framework applied to
    classification networks, doi:10.1162/neco.1992.4.5.720 (a scale that is learned).
    """

    prior_mean: Any = 0.0
    prior_scale: Any = LEARNED
    _: KW_ONLY
    prior_form: str = "symmetric"
    intercept_mean: float = 0.0
    intercept_scale: float = 5.0
    intercept_at: str = "means"
    standardize: bool = True
    missing: str = "impute"
    inference: str | Engine = "auto"
    rule: str | Gibbs | None = None
    random_state: Any = None
    _columns: tuple[Column, ...] = field(init=False)

    @property
    def columns_(self) -> tuple[Column, ...]:
        """The training columns, with what each holds and its levels."""
        check_is_fitted(self, "classes_")
        return self._columns

    @property
    def coef_(self) -> Array:
        """Weights per unit of a column, (1, feature) for two classes, else (outcome, feature) that add up to 0.

        The posterior mean or the requested point; 0 for a column of one value.
        """
        model, weight = self._numbers("coef_")
        names = model.design.names[: weight.shape[1]]
        return symmetric(self._by_column(weight, names, 0.0), len(self.classes_))

    @property
    def intercept_(self) -> Array:
        """Log-odds at x = 0 in the columns' own units, (1) for two classes, else (outcome) that add up to 0."""
        model, weight = self._numbers("intercept_")
        at_means = self._point_parameters("intercept_")["intercept"][0]
        at_zero = at_means - weight @ model.design.centre[: weight.shape[1]]
        return symmetric(at_zero, len(self.classes_))

    def _numbers(self, attribute: str) -> tuple[LogisticModel, Array]:
        """Return the model, and the weights of the numbers that vary, (outcome, feature)."""
        model: Any = fitted_model(self, attribute)
        if model.design.category_names:
            raise AttributeError(
                f"{attribute} has one number for each column, but {model.design.category_names[0]!r} has a weight for "
                "each level; posterior_ has them all"
            )
        return model, self._point_parameters(attribute)["weight"][0][:, : len(model.design.varying)]

    def _make_model(self, rows: Training) -> Model:
        frame = rows.frame
        require(MISSING, missing=self.missing)
        self._columns = training_columns(frame, join=True)
        training = WeightedRows(self.encode(frame), rows.y, rows.weights)
        columns.require_not_tiny(training.rows.cells[0], names_of(self._columns, "number"))
        if not self._takes_some_rows():
            training = training.merged()
        encoded_rows, y, weight = training.rows, training.y, training.weight
        design = LogisticDesign.fit(encoded_rows.cells[0], weight, self._columns)
        if not isinstance(frame, SparseTable):
            design.require_memory(len(y))
        X = design.matrix(encoded_rows)
        prior, reason = self._prior_on(design, X)
        model = LogisticModel(self._labels, design, X, y, weight, prior)
        self._note(model, reason)
        self.notes_ += about_joined(frame, self._columns)
        return model

    def _learn_stream(self, table: StreamedTable) -> None:
        require(MISSING, missing=self.missing)
        engine = self._engine()
        if not isinstance(engine, Auto | Laplace | MAP) or (isinstance(engine, MAP) and engine.optimizer is not None):
            raise Refused(
                f"inference={self.inference!r} needs all rows at once; over batches use 'auto', 'laplace' or 'map', "
                "or fit in memory"
            )
        table.require_again("logistic regression")
        rows = EncodedTable(table, self)
        survey, design = rows.survey, rows.survey.design
        settle(self, rows.found, survey.classes, table.how.target)
        self._columns = survey.columns
        weights = (len(self._labels) - 1) * (1 + len(design))
        if weights > DENSE_PARAMETERS:
            raise Refused(
                f"the model has {weights:,} weights, and over batches the limit is {DENSE_PARAMETERS:,}; leave columns "
                "out (--drop on the command line)"
            )
        X, y = np.empty((0, len(design))), np.empty(0, dtype=np.intp)
        prior, reason = self._prior_on(design, X)
        own = self._labels, design, X, y, np.empty(0), prior, survey.counts
        model = StreamedModel(*own, *moments_of(rows), np.empty((0, 0))).over(rows)
        self._note(model, reason)
        self._infer(model)
        self.model_ = model.without_rows()

    def _engine(self) -> Engine:
        """Return the engine that `inference` names."""
        return ENGINES.get(self.inference, Auto)() if isinstance(self.inference, str) else self.inference

    def _note(self, model: LogisticModel, not_learned: str) -> None:
        """Say what the rows have of columns without use, and why a prior scale was not learned, if so."""
        self.notes_ = [*about_constant(model.design.constant), *about_collinear(model.collinear())]
        if not_learned and not isinstance(self._engine(), MLE):  # which has no prior
            which = "other weights" if isinstance(self.prior_scale, Mapping) else "weights"
            why = f"and not learned, because {not_learned}"
            self.notes_.append(f"the prior scale of the {which} is {DEFAULT_SCALE}, {why}")

    def _prior_on(self, design: LogisticDesign, X: Matrix) -> tuple[LogisticPrior, str]:
        """Return the prior's settings for the columns of a design, and why no scale is learned, if so."""
        scale, reason = self.prior_scale, ""
        if isinstance(scale, str | type) and scale != LEARNED:
            raise InputError(
                f"prior_scale must be {LEARNED!r}, a number, an array, a mapping or a LearnedScale, such as "
                f"LearnedScale(correlation=0), not {scale!r}"
            )
        if isinstance(scale, str | Mapping):
            weights = (len(self._labels) - 1) * (1 + len(design))
            reason = not_meaningful(self.prior_mean, self.standardize) or not_learnable(X, weights)
            given = scale if isinstance(scale, Mapping) else {}
            scale = given or DEFAULT_SCALE if reason else LearnedScale(given=given)
        settings = {option.name: getattr(self, option.name) for option in fields(LogisticPrior)}
        prior = LogisticPrior(**settings | {"prior_scale": scale})
        if prior.learned and not np.isnan(prior.scales(design, np.nan)[0]).any():  # all scales are given
            prior = replace(prior, prior_scale=prior.learned.given)
        return prior, reason

    def _infer(self, model: Model) -> None:
        """Infer the model, find the point of a fit by one, and note the prior scale that was learned."""
        rows = model.label_counts.sum()
        if rows > MOST_WEIGHT and not isinstance(self._engine(), MAP | MLE):
            raise InputError(
                f"sample_weight adds up to {rows:.1e}, and above {MOST_WEIGHT:.0e} rounding hides the posterior; "
                "divide all by a number, or use inference='map'"
            )
        super()._infer(model)
        if self.draws_ is None:
            try:
                self._point(type(self.inference_).__name__.lower())
            except DoesNotExist as reason:
                warn(str(reason), ConvergenceWarning)
        if self.draws_ is not None and "prior_scale" in self.draws_.parameters:
            self._note_draws(about_scale(self.draws_.parameters))

    def _takes_some_rows(self) -> bool:
        """Return whether the requested optimizer takes steps on some rows, so that duplicate rows must stay apart."""
        optimizer = self.inference.optimizer if isinstance(self.inference, MAP | MLE) else None
        return isinstance(optimizer, GradientAscent) and optimizer.batch is not None

    def encode(self, frame: Table) -> Rows:
        """Return rows of checked columns as (numbers, level codes), by the columns that were fitted."""
        return encoded(self._columns, frame, self.missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    def _posterior_parameters(self) -> Parameters:
        """Return the draws, with weights of unseen levels drawn from their prior."""
        parameters = super()._posterior_parameters()
        rng = np.random.default_rng([self.seed_, UNSEEN_STREAM])
        model: Any = self.model_
        scale = parameters.get("prior_scale", np.ones(len(parameters["intercept"])))
        unseen = model.weight_prior.draw_levels(rng, scale)
        return {**parameters, "unseen": unseen}


KEPT_CELLS = 2**25
"""Cells of rows that are kept in memory, so that small streams are encoded once only."""
SPARSE_LEVELS = 4
"""How many levels there are for each number where rows are stored as sparse ones."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass finds, which adds: labels and weights, columns with levels, moments of the numbers."""

    classes: NDArray[Any]
    counts: Array
    columns: tuple[Column, ...]
    numbers: Moments
    gaps: NDArray[np.bool_]
    batches: int = 1

    def __add__(self, other: Survey) -> Survey:
        """Return what both found."""
        classes = joined_labels(self.classes, other.classes)
        counts = np.zeros(len(classes))
        for part in (self, other):
            counts[np.searchsorted(classes, part.classes.astype(classes.dtype))] += part.counts
        pairs = zip(self.columns, other.columns, strict=True)
        both = tuple(mine.union(theirs) for mine, theirs in pairs)
        numbers, gaps = self.numbers + other.numbers, self.gaps | other.gaps
        return Survey(classes, counts, both, numbers, gaps, self.batches + other.batches)

    @cached_property
    def design(self) -> LogisticDesign:
        """The columns of the design matrix."""
        return LogisticDesign.of_moments(self.numbers, self.gaps, self.columns)


def surveyed(self: Any, so_far: Survey | None, rows: Counted) -> Survey:
    """Return what was found so far and in further rows."""
    found = training_columns(rows.frame)
    numbers = names_of(found, "number")
    counts = np.bincount(rows.y, rows.weights, minlength=len(rows.classes))
    cells = columns.read_numbers(rows.frame, numbers)
    columns.require_not_tiny(cells, numbers)
    own = Survey(rows.classes, counts, found, moments_of_cells(cells, rows.weights, numbers), gaps_of(cells))
    return own if so_far is None else so_far + own


def likelihood(survey: Survey, missing: str, rows: Counted) -> Likelihood:
    """Return the likelihood of the rows of a batch, duplicate ones merged."""
    design, others = survey.design, len(survey.classes) - 1
    y = rows.y - 1 if others == 1 else np.where(rows.y == others, -1, rows.y)  # −1 is the reference
    merged = WeightedRows(encoded(survey.columns, rows.frame, missing), y, rows.weights).merged()
    X: Any = with_ones(design.matrix(merged.rows))
    if sum(design.sizes) > SPARSE_LEVELS * len(design.varying):
        X = sparse.csr_array(X)
    return Likelihood(X, merged.y, merged.weight, others)


class EncodedTable:
    """The rows of a table, after a first pass that finds what its columns are.

    They are encoded anew for each sum, unless they are few and on this machine.
    """

    def __init__(self, table: StreamedTable, clf: Any) -> None:
        self.table, self.clf = table, clf
        self.found = table.passed(clf, surveyed)
        self.survey: Survey = self.found.value
        table.how = replace(table.how, classes=self.survey.classes)
        self._kept: list[Likelihood] = []

    def summed[S](self, work: Callable[[Likelihood], S]) -> S:
        """Return what a function returns for each part of the rows, added up."""
        if len(self._kept) == self.survey.batches:
            return reduce(add, map(work, self._kept))
        self._kept = []
        kept = self._kept if self.table.client is None else None
        found: S = self.table.passed(self.clf, partial(_with_sum, self.survey, work, kept)).value
        return found


def _with_sum(
    survey: Survey,
    work: Callable[[Likelihood], Any],
    kept: list[Likelihood] | None,
    self: Any,
    so_far: Any,
    rows: Counted,
) -> Any:
    """Return the sum so far and that of further rows, which are kept as long as they are few."""
    part = likelihood(survey, self.missing, rows)
    if kept is not None and sum(len(one.y) for one in [*kept, part]) * part.X.shape[1] <= KEPT_CELLS:
        kept.append(part)
    return added(so_far, work(part))
