"""Why a row was classified as it was: the log-odds between two classes, feature by feature."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from bayesclf import rules
from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.classifiers.base import CI_PROB, BayesClassifier
from bayesclf.classifiers.training import MISSING_SUFFIX
from bayesclf.constraints import INSIDE, OrNone, Several, Text, Whole, require
from bayesclf.display import MOST_LINES, Display, Displayed
from bayesclf.errors import InputError, Refused
from bayesclf.families.terms import Contributions, Pair, each
from bayesclf.models import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.prior import against_reference
from bayesclf.models.tempered import of_features
from bayesclf.posterior.averaging import answers, blocks
from bayesclf.posterior.hypotheses import Hypotheses, HypothesisSet, SeededHypotheses, TemperedHypotheses
from bayesclf.rules import Gibbs, resolve
from bayesclf.tables.columns import Rows, SparseTable, kind_of, unseen_cells
from bayesclf.tables.levels import leading_number
from bayesclf.wording import LONGEST_NAME, counted, did_you_mean, listed, number, written

EXPLAINED = ("mle", "map", "mean", "bayes-optimal", "tempered")
"""Rules under which each hypothesis's log-odds are a sum over features."""

PRIOR, INTERCEPT = "(class prior)", "(intercept)"
"""The term of the log-odds that does not depend on x, of generative models and of logistic regression."""

MOST_AVERAGED = 1_000
"""Most rows that are averaged over, evenly spaced ones of a larger table."""

QUARTILES = (0.25, 0.75)
"""Quantiles of a number between which it changes where no values are given."""


AVERAGED = "Log-odds and P are each averaged over the posterior, so that P does not follow from the averaged log-odds."
"""What is said of both numbers under a rule that averages."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Displayed):
    """The log-odds between two classes of each row, and what each feature contributes to them.

    With a posterior each number is the mean over the hypotheses, with the equal-tailed interval of probability
    `ci_prob` in `low` and `high`; under a plug-in rule there is one hypothesis and no interval. The mean of the
    log-odds is *not* the log-odds of the Bayes-optimal probabilities, which average probabilities: it is mostly further
    from 0. Means add up over the features, intervals do not.

    Attributes
    ----------
    table
        One row per row and feature: `row`, `feature`, `value` (the cell, or the count of a word), `contribution`. The
        first line of each row is "(class prior)" or "(intercept)". A missing cell contributes 0.
    rows
        One row per row: `row`; the two classes, `outcome` and `against`; `log_odds`, the sum of the row's
        contributions; and the probabilities of the two classes under the rule, `proba_outcome` and `proba_against`.
    rule
        The rule that was explained.
    ci_prob
        Probability of the intervals; None without.
    """

    table: pd.DataFrame
    rows: pd.DataFrame
    rule: str
    ci_prob: float | None

    def _display(self) -> Display:
        interval = "" if self.ci_prob is None else f", with intervals of {100 * self.ci_prob:g}%"
        what = f"Explanation of {counted(len(self.rows), 'row')} under {self.rule}{interval}"
        sentences = () if self.ci_prob is None else (AVERAGED,)
        if len(self.rows) == 1:
            *lines, (total, *cells) = [_shown(line) for line in self.of(0).to_dict("records")]
            # the sum comes first, as long tables are cut
            lines = [("(sum)", *cells), *lines]
            return Display(f"{what}: {total}", ("feature", "value", "contribution"), lines, sentences=sentences)
        return Display(
            what,
            ("row", "log-odds of", "log-odds", "P", "most of it from"),
            [
                (
                    line["row"],
                    f"{line['outcome']} against {line['against']}",
                    number(line["log_odds"]),
                    number(line["proba_outcome"]),
                    listed(self.of(position)["feature"].iloc[:2]),
                )
                for position, line in enumerate(self.rows.head(MOST_LINES).to_dict("records"))
            ],
            left_out=max(len(self.rows) - MOST_LINES, 0),
            sentences=sentences,
        )

    def of(self, row: int) -> pd.DataFrame:
        """Return the contributions to one row, numbered from 0, largest first, and their sum as the last line."""
        if not Whole(0, len(self.rows) - 1).allows(row):
            raise InputError(f"row must be between 0 and {len(self.rows) - 1}, not {written(row, LONGEST_NAME)}")
        own = self.table[self.table["row"] == row].drop(columns="row")
        own = own.sort_values("contribution", key=lambda column: -column.abs(), kind="stable")
        line = {name: column.iloc[int(row)] for name, column in self.rows.items()}
        total = {"feature": f"log-odds of {line['outcome']} against {line['against']}", "value": None}
        total |= {"contribution": line["log_odds"]} | {name: line[name] for name in ("low", "high") if name in own}
        return pd.concat([own, pd.DataFrame([total]).astype({"value": object})], ignore_index=True)


def _shown(line: dict[Hashable, Any]) -> tuple[str, ...]:
    """Return a line of `Explanation.of` as cells."""
    interval = f" [{number(line['low'])}, {number(line['high'])}]" if "low" in line else ""
    value = line["value"]
    return str(line["feature"]), "" if value is None else _cell(value), number(line["contribution"]) + interval


def _cell(value: object) -> str:
    """Return a cell as text, a number with four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def explain(
    classifier: BayesClassifier,
    X: Any,
    outcome: Any = None,
    against: Any = None,
    ci_prob: float = CI_PROB,
    rule: str | Gibbs | None = None,
) -> Explanation:
    """Decompose the log-odds between two classes into contributions of features.

    For a generative model a feature contributes log p(x_j | k) − log p(x_j | k′), for logistic regression
    (w_j,k − w_j,k′)(x_j − mean_j). Under each hypothesis the contributions and the term of the class prior, or the
    intercept, add up to log P(k | x)/P(k′ | x). Under ``"tempered"`` a contribution is T times that, and the term of
    the class prior includes b_k − b_k′; each draw of θ has one of T and b. Dependent features of a block are one,
    "a, b"; levels, and the indicator of a missing cell, belong to their column. The features of a text are the words in
    it.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted.
    X : table or array of shape (row, feature)
        Table (row, feature).
    outcome : label, array of labels or None
        The class k: one label, or a label per row; by default the second of two classes, or the most probable of more.
    against : label, array of labels or None
        The class k′, likewise; by default the other of two classes, or the most probable of the rest.
    ci_prob : float
        Posterior probability between the bounds, in (0, 1).
    rule : str, Gibbs or None
        ``"mle"``, ``"map"``, ``"mean"``, ``"bayes-optimal"`` or ``"tempered"``; by default the classifier's own.

    Raises
    ------
    InputError
        For labels that are not classes, the same class on both sides, or `ci_prob` outside (0, 1).
    Refused
        For a rule that is not a sum over features, or a row that is impossible under both classes.

    References
    ----------
    Mitchell, eqs 16 to 22 (the log-odds of naive Bayes as a sum). Kononenko, *Inductive and Bayesian learning in
    medical diagnosis*, Applied Artificial Intelligence 7 (1993) (its terms as an explanation).

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [["sunny"], ["rain"], ["rain"], ["sunny"], ["rain"]], ["no", "yes", "yes", "no", "no"]
    >>> clf = bc.CategoricalNB(inference="map").fit(X, y)
    >>> print(clf.explain([["sunny"]]).of(0).round(2).to_string(index=False))
                       feature value  contribution
                            x0 sunny         -0.88
                 (class prior)  None         -0.41
    log-odds of yes against no  None         -1.28
    """
    require(INSIDE, ci_prob=ci_prob)
    check_is_fitted(classifier, "classes_")
    frame = classifier.frame(X)
    rows = classifier.encode(frame)
    name = rules.resolve(classifier.requested_rule(rule))[0].name
    if name not in EXPLAINED:
        raise Refused(
            f"the rule {name!r} uses other hypotheses or weights for each row, so its log-odds cannot be decomposed; "
            f"use one of {', '.join(map(repr, EXPLAINED))}"
        )
    hypotheses = classifier.hypotheses(rules.RULES[name].source)
    log_proba = rules.log_proba(name, hypotheses, rows, classifier.seed_)
    pair = _pair(log_proba, classifier.classes_, outcome, against)
    interval = ci_prob if rules.RULES[name].averages else None
    temper = hypotheses.parameters if isinstance(hypotheses, TemperedHypotheses) else None
    if temper is not None:
        hypotheses = classifier.hypotheses("posterior")
    places = {column.name: place for place, column in enumerate(classifier.columns_)}
    # The size of a sparse table is the number of cells that are stored.
    entries = sum(part.size + len(rows) for part in rows.parts)
    found = [
        _summary(
            _tempered(_of_all_parts(hypotheses, rows[block], pair[block]), temper, pair[block], classifier.model_),
            places,
            interval,
        )
        for block in blocks(hypotheses, rows, max(1.0, entries / max(1, len(rows))))
    ]
    constant = PRIOR if hypotheses.generative else INTERCEPT
    return Explanation(
        _terms(found, constant, frame), _rows(found, pair, classifier.classes_, log_proba), name, interval
    )


def _pair(log_proba: Array, classes: NDArray[Any], outcome: Any, against: Any) -> Pair:
    """Return the two classes of each row, the default ones where none were given."""
    rows, labels = log_proba.shape
    first, second = (None if label is None else _codes(label, classes, rows) for label in (outcome, against))
    if first is None:
        first = np.ones(rows, dtype=np.intp) if labels == 2 and second is None else _most_probable(log_proba, second)
    if second is None:
        second = _most_probable(log_proba, first)
    same = np.flatnonzero(first == second)
    if same.size:
        raise InputError(f"row {same[0] + 1} has {str(classes[first[same[0]]])!r} on both sides; choose two classes")
    return Pair(first, second)


def _most_probable(log_proba: Array, but: Integers | None) -> Integers:
    """Return the most probable classes (row), excluding one class per row where given."""
    # A class of probability 0 still comes before the excluded one.
    logs = np.maximum(log_proba, np.finfo(float).min)
    if but is not None:
        logs[np.arange(len(logs)), but] = -np.inf
    return np.asarray(logs.argmax(axis=1))


def _codes(label: Any, classes: NDArray[Any], rows: int) -> Integers:
    """Return the codes (row) of one label, or of a label per row."""
    given = np.asarray(label)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != rows):
        raise InputError(f"give one label, or one for each of the {rows} rows, not shape {given.shape}")
    unknown = ~np.isin(given, classes)
    if unknown.any():
        listed = ", ".join(repr(str(known)) for known in classes)
        raise InputError(f"{str(given[unknown].flat[0])!r} is not a class; the classes are {listed}")
    return np.broadcast_to(np.searchsorted(classes, given), (rows,)).astype(np.intp)


@dataclass(frozen=True, eq=False)
class TermSummary:
    """The terms of a block of rows: means over the hypotheses and, with an interval, its bounds.

    Attributes
    ----------
    row, columns
        Row in the block and columns of each term, (term); no columns for the constant, which comes first in its row.
    counts
        Count of a word, (term), NaN where the term is about no count.
    terms, totals
        Of each term and of each row's sum: (term, 1 or 3), (row, 1 or 3).
    """

    row: Integers
    columns: list[tuple[str, ...]]
    counts: Array
    terms: Array
    totals: Array


def _of_all_parts(hypotheses: Hypotheses | SeededHypotheses, rows: Rows, pair: Pair) -> LogOdds:
    """Return the terms under all hypotheses, which may come in parts."""
    parts = [log_odds(part.model, rows, part.parameters, pair) for part in hypotheses.parts()]
    values = np.concatenate([part.terms.values for part in parts])
    return LogOdds(np.concatenate([part.constant for part in parts]), replace(parts[0].terms, values=values))


def _tempered(found: LogOdds, temper: Parameters | None, pair: Pair, model: Any) -> LogOdds:
    """Return log-odds of which the terms are multiplied by T, and b is added to the constant, draw by draw."""
    if temper is None:
        return found
    draw = np.arange(len(found.constant)) % len(temper["T"])
    weights = of_features(model, temper, found.terms.features)[:, found.terms.feature]
    terms = replace(found.terms, values=found.terms.values * weights[draw])
    return LogOdds(found.constant + pair.differences(temper["b"][draw]), terms)


def _summary(found: LogOdds, places: Mapping[str, int], ci_prob: float | None) -> TermSummary:
    """Add up what belongs to one column, and summarize over the hypotheses."""
    rows, entries = found.constant.shape[1], found.terms
    used, place = np.unique(entries.feature, return_inverse=True)
    homes = [_home(entries.features[j], places) for j in used]
    names = sorted(set(homes), key=lambda columns: (places.get(columns[0], len(places)), columns))
    number = {columns: index for index, columns in enumerate(names, 1)}
    # The constant of a row has number 0, its columns have the others.
    numbers = np.array([0, *(number[home] for home in homes)], dtype=np.intp)
    of_entry = np.concatenate([np.zeros(rows, dtype=np.intp), numbers[place + 1]])
    keys = np.concatenate([np.arange(rows), entries.row]) * (len(names) + 1) + of_entry
    terms, first, term = np.unique(keys, return_index=True, return_inverse=True)
    row, column = np.divmod(terms, len(names) + 1)
    values = _added(term, len(terms), np.concatenate([found.constant, entries.values], axis=1))
    return TermSummary(
        row,
        [names[j - 1] if j else () for j in column],
        np.concatenate([np.full(rows, np.nan), entries.counts])[first],
        _mean_and_bounds(values, ci_prob),
        _mean_and_bounds(_added(row, rows, values), ci_prob),
    )


def _home(columns: tuple[str, ...], places: Mapping[str, int]) -> tuple[str, ...]:
    """Return the column that an indicator of missing cells is about; other columns as they are."""
    base = columns[0].removesuffix(MISSING_SUFFIX)
    return (base,) if len(columns) == 1 and columns[0] not in places and base in places else columns


def _added(place: Integers, size: int, values: Array) -> Array:
    """Return sums of values (draw, entry) by their place, (draw, place)."""
    entries = (np.ones(len(place)), (place, np.arange(len(place))))
    with np.errstate(invalid="ignore"):
        return np.asarray((sparse.csr_array(entries, shape=(size, len(place))) @ values.T).T)


def _mean_and_bounds(values: Array, ci_prob: float | None) -> Array:
    """Return mean and, with an interval, its bounds over the draws of values (draw, place), (place, 1 or 3)."""
    with np.errstate(invalid="ignore"):
        mean = values.mean(axis=0)
    if ci_prob is None:
        return mean[:, None]
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    # Bounds are draws, because interpolating between two infinite ones gives NaN.
    return np.column_stack([mean, *np.quantile(values, tails, axis=0, method="inverted_cdf")])


def _terms(found: list[TermSummary], constant: str, frame: Any) -> pd.DataFrame:
    """Return one row per table row and feature."""
    starts = np.cumsum([0, *(len(part.totals) for part in found)])
    row = np.concatenate([part.row + start for part, start in zip(found, starts, strict=False)])
    columns = [names for part in found for names in part.columns]
    values = _cells(row, columns, np.concatenate([part.counts for part in found]), frame)
    numbers = np.concatenate([part.terms for part in found])
    return pd.DataFrame(
        {"row": row, "feature": [", ".join(names) or constant for names in columns]}
        | {"value": pd.Series(values, dtype=object)}
        | dict(zip(("contribution", "low", "high"), numbers.T, strict=False))
    )


def _cells(row: Integers, columns: list[tuple[str, ...]], count: Array, frame: Any) -> NDArray[Any]:
    """Return what each term is about: a count, the cell of its column, or the cells of its block."""
    values = np.full(len(row), None, dtype=object)
    counted = ~np.isnan(count)
    values[counted] = count[counted]
    if not isinstance(frame, pd.DataFrame):
        return values
    known, lines_of = set(frame.columns), dict[tuple[str, ...], list[int]]()
    for index in np.flatnonzero(~counted).tolist():
        lines_of.setdefault(columns[index], []).append(index)
    for names, lines in lines_of.items():
        if names and known.issuperset(names):
            cells = frame.iloc[row[lines]][list(names)].astype(object)
            values[lines] = (
                cells.iloc[:, 0] if len(names) == 1 else [", ".join(map(_cell, line)) for line in cells.values]
            )
    return values


def _rows(found: list[TermSummary], pair: Pair, classes: NDArray[Any], log_proba: Array) -> pd.DataFrame:
    """Return one row per table row; raises for rows without log-odds."""
    numbers = np.concatenate([part.totals for part in found])
    undefined = np.flatnonzero(np.isnan(numbers[:, 0]))
    if undefined.size:
        row = int(undefined[0])
        both = " and ".join(repr(str(classes[codes[row]])) for codes in (pair.outcome, pair.against))
        raise Refused(
            f"row {row + 1} has probability 0 under both {both}, so that their log-odds are undefined; use a rule "
            "with smoothing, such as 'map'"
        )
    each = np.arange(len(log_proba))
    return pd.DataFrame(
        {"row": each, "outcome": classes[pair.outcome], "against": classes[pair.against]}
        | dict(zip(("log_odds", "low", "high"), numbers.T, strict=False))
        | {
            "proba_outcome": np.exp(log_proba[each, pair.outcome]),
            "proba_against": np.exp(log_proba[each, pair.against]),
        }
    )


@dataclass(frozen=True, eq=False)
class LogOdds:
    """log P(k | x, θ)/P(k′ | x, θ) of each row under each hypothesis, as a sum.

    Attributes
    ----------
    constant
        What does not depend on x: log π_k/π_k′, or logistic regression's intercept, (draw, row).
    terms
        The rest: the terms of the blocks, or of the columns of logistic regression.
    """

    constant: Array
    terms: Contributions


def log_odds(model: Model, rows: Rows, parameters: Parameters, pair: Pair) -> LogOdds:
    """Return the terms of the log-odds between the two classes of each row."""
    if isinstance(model, LogisticModel):
        constant = pair.differences(_with_reference(against_reference(parameters["intercept"], model.symmetric)))
        return LogOdds(constant, _of_columns(model, rows, parameters, pair))
    if not isinstance(model, GenerativeModel):
        raise Refused(f"the log-odds of a {type(model).__name__} cannot be decomposed into features")
    blocks = [
        block.family.contributions(part, block.own(parameters), pair)
        for block, part in zip(model.blocks, rows.parts, strict=True)
    ]
    draws = max((len(values) for values in parameters.values()), default=1)
    constant = pair.differences(model.log_class_prior(parameters))
    return LogOdds(np.broadcast_to(constant, (draws, len(rows))), Contributions.joined(blocks, draws))


def _of_columns(model: LogisticModel, rows: Rows, parameters: Parameters, pair: Pair) -> Contributions:
    """Return (w_k − w_k′)·(x − center) of each design column; a missing number is at its mean, as in `log_scores`."""
    design = model.design
    matrix, unseen = design.standardized(design.matrix(rows)), design.unseen(rows).astype(float)
    levels = parameters.get("unseen", model.weight_prior.unseen_mean[None])
    levels = np.broadcast_to(levels, (len(parameters["weight"]), *levels.shape[1:]))
    own = against_reference(parameters["weight"], model.symmetric, axis=1) * design.scale
    weights = np.concatenate([own, levels], axis=2)
    values = pair.differences(_with_reference(weights)) * np.concatenate([matrix, unseen], axis=1)
    return Contributions.of_rows(each((*design.features, *design.category_names)), values)


def _with_reference(values: Array) -> Array:
    """Return logistic regression's parameters (draw, outcome, …) with the 0 of the reference class in its place."""
    nothing = np.zeros_like(values[:, :1])
    parts = (nothing, values) if values.shape[1] == 1 else (values, nothing)
    return np.concatenate(parts, axis=1)


def effects(
    clf: BayesClassifier, X: Any, column: str, values: Sequence[Any] | None = None, ci_prob: float = CI_PROB
) -> pd.DataFrame:
    """Return how the probability of each class changes on average over rows when a column changes.

    ::

        effect_k(a → b) = mean_i [P(k | x_i with column = b, θ) − P(k | x_i with column = a, θ)]

    It is computed under each hypothesis θ of the posterior, so that its interval is one of θ, given the model. If the
    classifier's own rule is ``"tempered"``, each θ has a draw of T and b. The other columns of each row stay as they
    are: the table describes predictions, and no interventions unless the model is causal.

    Parameters
    ----------
    X : table or array of shape (row, feature)
        Rows to average over, such as the training rows; at most 1,000 of them are used.
    column : str
        Name of a column of numbers or of categories.
    values : sequence or None
        Values a, b, …, each compared with the first. By default the quartiles of a number; of a category all levels,
        each compared with the most frequent one.
    ci_prob : float
        Posterior probability of the interval, in (0, 1).

    Returns
    -------
    DataFrame
        One line per value and class: `from`, `to`, `outcome`, `effect` (posterior mean), `low` and `high` (equal-tailed
        interval; missing for a point estimate).

    Raises
    ------
    InputError
        For a column that the classifier does not have, or values that cannot be compared.
    Refused
        For text and sparse tables.

    References
    ----------
    Gelman & Pardoe, *Average predictive comparisons for models with nonlinearity, interactions, and variance
    components*, Sociological Methodology 37 (2007).

    Examples
    --------
    >>> import bayesclf as bc
    >>> iris = bc.datasets.load("iris")
    >>> clf = bc.GaussianDiscriminantAnalysis(random_state=1).fit(iris.X, iris.y)
    >>> table = clf.effects(iris.X, "petal width (cm)")
    >>> bool(table.set_index("outcome").loc["virginica", "effect"] > 0)
    True
    """
    require(INSIDE, ci_prob=ci_prob)
    require(Text(), column=column)
    require(OrNone(Several("values, such as [1, 2]")), values=values)
    frame = clf.frame(X)
    if isinstance(frame, SparseTable) or clf.columns_[0].kind == "text":
        raise Refused("effects are of columns of numbers and categories, not of words or counts")
    if column not in frame.columns:
        raise InputError(f"there is no column {column!r}{did_you_mean(column, map(str, frame.columns))}")
    frame = frame.iloc[np.unique(np.linspace(0, len(frame) - 1, min(len(frame), MOST_AVERAGED)).astype(int))]
    chosen = list(_compared_values(frame[column]) if values is None else values)
    if len(chosen) < 2:
        raise InputError(f"an effect of {column!r} needs two values to compare, such as values=[1, 2], not {chosen}")
    (levels,) = (one.levels for one in clf.columns_ if one.name == column)
    for value in chosen if levels else ():
        if unseen := unseen_cells(pd.Series([value], name=column, dtype=object), levels):
            raise InputError(f"{unseen}{did_you_mean(value, map(str, levels))}")
    own = resolve(clf.requested_rule(None))[0]
    hypotheses = clf.hypotheses(own.source) if clf.draws_ is None else clf.spread(own.name)
    of_value = [_mean_proba(hypotheses, clf.encode(frame.assign(**{str(column): value}))) for value in chosen]
    weights, lines = np.exp(hypotheses.log_weights), []
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    for value, proba in zip(chosen[1:], of_value[1:], strict=True):
        change = proba - of_value[0]
        means = change @ weights / weights.sum()
        low, high = np.full((2, len(change)), np.nan)
        if len(weights) > 1:
            low, high = np.quantile(
                change, tails, axis=1, weights=np.broadcast_to(weights, change.shape), method="inverted_cdf"
            )
        lines += [
            (chosen[0], value, label, *numbers) for label, *numbers in zip(clf.classes_, means, low, high, strict=True)
        ]
    return pd.DataFrame(lines, columns=["from", "to", "outcome", "effect", "low", "high"])


def _compared_values(column: pd.Series) -> list[Any]:
    """Return the quartiles of a number, or the levels of a category: the most frequent one, then ranges in order."""
    if kind_of(column) == "number":
        return [float(value) for value in np.unique(np.nanquantile(column.astype(float), QUARTILES))]
    levels = column.value_counts().index.tolist()
    return levels[:1] + sorted(levels[1:], key=leading_number)


def _mean_proba(hypotheses: HypothesisSet, rows: Rows) -> Array:
    """Return the mean over rows of P(k | x, θ), (outcome, draw)."""
    total = np.zeros((len(hypotheses.labels), len(hypotheses)))
    for some in answers(hypotheses, rows):
        total += some.proba.sum(axis=0)
    return total / rows.length
