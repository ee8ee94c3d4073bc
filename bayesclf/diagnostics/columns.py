"""Checks of the columns: do they determine the parameters, and which are useless, duplicate, incomplete or row keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bayesclf.arrays import Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.diagnosis import Answer, issue, passed, tip
from bayesclf.diagnostics.held_out import NotApplicable
from bayesclf.errors import DoesNotExist
from bayesclf.families.multivariate.covariance import collinear
from bayesclf.interpretation.summary import INTERCEPT
from bayesclf.models import Model
from bayesclf.models.generative import independent_groups
from bayesclf.models.logistic.identifiability import separating_columns
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.tables import columns, remarks
from bayesclf.tables.options import leaving_out, of_memory
from bayesclf.wording import joined, named


@check("M05", "Classes and levels with few rows", "all models")
def few_rows(context: Context) -> Answer:
    """Count the rows of each class and level: the model of those with few is little more than its prior.

    Nothing is wrong with such a fit; averages over the posterior say how little is known about these classes and
    levels, and a point estimate does not.
    """
    context.require_all_labeled()
    counts = _row_counts(context.classifier)
    few = counts[counts["few"]].drop(columns="few").sort_values("rows", ignore_index=True)
    if len(few):
        of = [
            f"{what if len(names) == 1 else plural} {named(names)}"
            for what, plural in (("class", "classes"), ("level", "levels"))
            if (names := few.loc[few["what"] == what, "name"].tolist())
        ]
        return tip(
            f"{joined(of)} ha{'s' if len(few) == 1 else 've'} few rows (under {thresholds.MIN_CLASS_ROWS} per class or "
            f"{thresholds.MIN_LEVEL_ROWS} per level), so the prior has much influence on their parameters",
            "gather more rows, or merge similar classes or levels, in the table or by y.replace or X[column].replace",
            few.head(thresholds.SHOWN),
        )
    fewest = counts.drop(columns="few").nsmallest(1, "rows").reset_index(drop=True)
    rows = fewest["rows"].iloc[0]
    return passed(f"fewest: {rows:g} row{'' if rows == 1 else 's'} of {fewest['name'].iloc[0]!r}", fewest)


def _row_counts(classifier: BayesClassifier) -> pd.DataFrame:
    """Return the weight of rows of each class and level, and whether it is little more than its prior."""
    model, most = classifier.model_, {"class": thresholds.MIN_CLASS_ROWS, "level": thresholds.MIN_LEVEL_ROWS}
    classes = zip(model.labels, map(float, model.label_counts), strict=True)
    lines = [("class", *line) for line in classes] + [("level", *line) for line in model.level_counts()]
    counts = pd.DataFrame(lines, columns=["what", "name", "rows"])
    return counts.assign(few=counts["rows"] < counts["what"].map(most))


@check("M06", "Constant columns", "all models except for text")
def constant_columns(context: Context) -> Answer:
    """Name the columns with one value only, used by the model or not: they carry no information about the class."""
    if context.classifier.columns_[0].kind == "text":
        raise NotApplicable("every word of the vocabulary occurs")
    names = list(_constant(context.classifier))
    evidence = {"columns": ", ".join(names[: thresholds.SHOWN]), "count": len(names)}
    if names:
        return tip(
            f"{named(names)} ha{'s' if len(names) == 1 else 've'} at most one value, which is not informative",
            f"find out why, or leave them out: {leaving_out(names[: thresholds.LEFT_OUT])}",
            evidence,
        )
    return passed("every column varies", evidence)


def _constant(classifier: BayesClassifier) -> Iterator[str]:
    """Yield the columns that have one value only, or none."""
    model = classifier.model_
    if model.generative:
        used = {name for block in model.blocks for name in block.statistics.axes.features}
        yield from (column.name for column in classifier.columns_ if column.name not in used)
    yield from model.constant_features()


@check("M07", "Duplicate columns", "tables of columns")
def duplicate_columns(context: Context) -> Answer:
    """Compare numbers by correlation, and columns with few values by the partition of the rows that they define.

    Two columns that say the same count twice where a model takes them for independent, as naive Bayes does: its
    probabilities are then too close to 0 and 1.
    """
    pairs = list(dict.fromkeys([*_same_numbers(context.frame), *_same_partitions(context.frame)]))
    evidence = pd.DataFrame(pairs, columns=["column", "same_as"])
    if not pairs:
        return passed("no column copies another, though columns can still depend on each other", evidence)
    model = context.classifier.model_
    group = independent_groups(model.blocks)
    twice = [pair for pair in pairs if len({group[name] for name in pair if name in group}) > 1]
    if twice:
        return issue(
            f"{_repeated(twice)}: the model treats them as independent and counts them twice",
            _leave_out(twice),
            evidence.assign(counted_twice=[pair in twice for pair in pairs]),
            "moderate",
        )
    why = "the model does not treat them as independent" if group else "they share one weight"
    return tip(f"{_repeated(pairs)}, and {why}", _leave_out(pairs), evidence)


def _leave_out(pairs: list[tuple[str, str]]) -> str:
    """Return the call that leaves out one column of each pair."""
    return f"leave out one of each pair: {leaving_out([*dict.fromkeys(a for a, _ in pairs)][: thresholds.LEFT_OUT])}"


def _repeated(pairs: list[tuple[str, str]]) -> str:
    count = f"{len(pairs)} column{'s' * (len(pairs) > 1)} repeat{'s' * (len(pairs) == 1)} another"
    return f"{count} ({', '.join(f'{a!r} is {b!r}' for a, b in pairs[: thresholds.SHOWN])})"


def _same_numbers(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield (column, earlier column) of numbers that are linear functions of each other."""
    names = [name for name, kind in columns.kinds_of(frame).items() if kind == "number"]
    numbers = frame[names[: thresholds.CORRELATED_COLUMNS]].astype(float)
    missing, equal = numbers.isna().to_numpy(), numbers.corr().abs().to_numpy() > thresholds.EQUAL_CORRELATION
    for j, i in zip(*np.nonzero(np.tril(equal, -1)), strict=True):
        if np.array_equal(missing[:, i], missing[:, j]):
            yield names[j], names[i]


def _same_partitions(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield (column, earlier column) that have equal cells in the same rows, up to renaming the values.

    Numbers that are nearly all different say nothing of each other, also where whole rows are repeated.
    """
    known: dict[bytes, str] = {}
    different = len(frame.drop_duplicates())
    for name, kind in columns.kinds_of(frame).items():
        codes, values = pd.factorize(frame[name])
        if 2 <= len(values) <= (different if kind == "number" else len(frame)) / 2:
            first = known.setdefault(codes.tobytes(), str(name))
            if first != name:
                yield str(name), first


@check("M08", "Identifiers among the columns", "tables of columns")
def identifiers(context: Context) -> Answer:
    """Look for words that are nearly all different, and for whole numbers that number the rows.

    Columns that number or name the rows distinguish the training rows, but carry no information about new rows.

    Whole numbers number the rows if they only rise or fall, or if none occurs twice although measured ones would: n
    independent numbers in a range of R are all different with probability Π(1 − i/R) at most, i < n, whatever their
    distribution. So the numbers of a random part of some rows are found, in any order. A column that is called an
    identifier, such as "id" or "customer_id", is one if each value has fewer than five rows on average. Reading a file
    leaves out the same columns.
    """
    frame = context.frame
    if len(frame) < remarks.FEWEST_ROWS:
        raise NotApplicable(f"in {len(frame)} rows the values of any column may all be different")
    names = [str(name) for name in frame if remarks.names_rows(frame[name])]
    evidence = {"columns": ", ".join(names), "count": len(names)}
    if names:
        return issue(
            f"{named(names)} look{'s' * (len(names) == 1)} like the name or number of a row, which no new row shares",
            f"leave it out: {leaving_out(names)}",
            evidence,
            "moderate",
        )
    return passed("no column looks like a row's name or number", evidence)


@check("M09", "Missing values held as numbers", "tables with columns of numbers")
def hidden_missing(context: Context) -> Answer:
    """Look for an isolated spike at 0, −1, 999, … in columns of numbers, which the model takes for a measured value.

    With 1000 rows, such a spike is found by mistake in less than 1% of columns of rounded normal, log-normal and gamma
    numbers. The same holds for counts, Poisson or more variable, with or without more zeros. With 100 numbers, many of
    them 0 by nature, it is found in up to 4%.
    """
    frame = context.frame
    names = [name for name, kind in columns.kinds_of(frame).items() if kind == "number"]
    if not names:
        raise NotApplicable("no column holds numbers")
    spikes = {name: found for name in names if (found := remarks.spike(frame[name]))}
    lines = [(name, found.value, found.cells, found.nearest) for name, found in spikes.items()]
    evidence = pd.DataFrame(lines, columns=["column", "value", "cells", "nearest_other"])
    if spikes:
        first, found = next(iter(spikes.items()))
        shown = [*spikes.items()][: thresholds.SHOWN]
        codes = {name: int(one.value) if one.value.is_integer() else one.value for name, one in shown}
        emptied = of_memory("missing", codes, f"X.replace({codes!r}, float('nan'))")
        return issue(
            f"{named(list(spikes))} ha{'s' if len(spikes) == 1 else 've'} a spike that may be a code for missing "
            f"cells ({first!r}: {found.cells} cells are {found.value:g}, the nearest other value is {found.nearest:g})",
            f"if it does, empty these cells: {emptied}",
            evidence,
            "moderate",
        )
    return passed("no column of numbers has a spike far from its other values", evidence)


@check("Y04", "Missing cells and the class", "tables with missing cells that the fit leaves out")
def missing_by_class(context: Context) -> Answer:
    """Test each column's missing cells against the class, with Bonferroni's correction.

    Where P(missing | class) differs between the classes, a missing cell is evidence that the fit does not use.
    """
    frame, y = context.frame, context.training.y
    if context.classifier.missing == "level":
        raise NotApplicable("this fit treats missing cells as levels of their own (missing='level')")
    logistic = not context.classifier.model_.generative  # its numbers have indicators of missing cells
    empty = frame.isna()
    some = empty.any() & ~empty.all()
    names = [name for name in map(str, frame) if some[name]]
    names = [name for name in names if not (logistic and columns.kind_of(frame[name]) == "number")]
    if not names:
        but = ", except for numbers, whose indicators are in the model" if some.any() else ""
        raise NotApplicable(f"no cell is missing{but}")
    lines = []
    for name in names:
        table = np.array([np.bincount(y[empty[name] == state], minlength=y.max() + 1) for state in (True, False)])
        table = table[:, table.sum(axis=0) > 0]
        shares = table[0] / table.sum(axis=0)
        p_value = independence(table, context.seed)
        lines.append((name, shares.min(), shares.max(), min(1.0, len(names) * p_value)))
    evidence = pd.DataFrame(lines, columns=["column", "least_missing", "most_missing", "p_value"])
    evidence = evidence.sort_values("p_value", ignore_index=True)
    differs = evidence["most_missing"] - evidence["least_missing"] > thresholds.MIN_MISSING_DIFFERENCE
    found = evidence[differs & (evidence["p_value"] < thresholds.SIGNIFICANCE)]
    if len(found):
        first = found.iloc[0]
        remedy = "write 'missing' into the cells of these categories" if logistic else "fit with missing='level'"
        return issue(
            f"{named(found['column'].tolist())} {'is' if len(found) == 1 else 'are'} missing more often in one "
            f"class than in another ({first['column']!r}: {100 * first['least_missing']:.0f}% and "
            f"{100 * first['most_missing']:.0f}%), but the fit does not use this",
            f"ask why cells are missing; if cells of new rows will be missing for the same reason, {remedy}",
            evidence,
            "moderate",
        )
    return passed(f"{named(names)} lack{'s' * (len(names) == 1)} cells; {_within_chance(evidence, differs)}", evidence)


def _within_chance(evidence: pd.DataFrame, differs: pd.Series[bool]) -> str:
    """Return how far the classes' shares of missing cells are apart in the column where they differ most."""
    most = evidence.iloc[int((evidence["most_missing"] - evidence["least_missing"]).argmax())]
    shares = f"{100 * most['least_missing']:.0f}% to {100 * most['most_missing']:.0f}%"
    if not differs.any():
        return f"the shares of missing cells of the classes are close (furthest apart in {most['column']!r}: {shares})"
    return (
        f"their shares in the classes differ ({most['column']!r}: {shares}), but not by more than chance explains "
        f"(p = {most['p_value']:.2f})"
    )


def independence(table: Integers, seed: int) -> float:
    """Return the p-value of the hypothesis that a table's two rows have the same share in each column (class).

    By the χ² test; where an expected count is below `MIN_EXPECTED_ROWS`, by χ² of random tables of the same margins.
    """
    if table.shape[1] < 2:
        return 1.0
    few = stats.contingency.expected_freq(table).min() < thresholds.MIN_EXPECTED_ROWS
    random = stats.MonteCarloMethod(thresholds.RANDOM_TABLES, rng=np.random.default_rng(seed)) if few else None
    return float(stats.chi2_contingency(table, correction=False, method=random).pvalue)


@check("M01", "Weights that only the prior limits", "logistic regression")
def separated_classes(context: Context) -> Answer:
    """Look for a hyperplane with all rows of a class on one side, where the likelihood has no maximum.

    A level without rows of some class gives one, too.
    Single columns are tried first, then a part of the rows, and all rows only if that part is separable: if a part of
    the rows overlaps, all rows do.

    References
    ----------
    Albert, Anderson (1984), On the existence of maximum likelihood estimates in logistic regression models,
    Biometrika 71, doi:10.1093/biomet/71.1.1.
    """
    model = context.classifier.model_
    if not isinstance(model, LogisticModel):
        raise NotApplicable("a generative model fits no weights")
    model.require_rows()
    present = model.sample_weight > 0
    X, y = model.X[present], model.y[present]
    separating = separating_columns(X, y, thresholds.MIN_CLASS_ROWS)
    found = [model.design.names[j] for j in separating]
    counts = _row_counts(context.classifier)
    levels = bool(found) and not set(found) - set(counts.loc[counts["what"] == "level", "name"])
    lacking = [model.design.names[j] for j in separating if levels and _lacks_a_class(X[:, [j]], y)]
    apart = [
        label
        for code, label in enumerate(model.labels)
        if len(separating_columns(X[:, separating], np.asarray(y == code, dtype=np.intp), thresholds.MIN_CLASS_ROWS))
    ]
    which, does, what = found, "alone separate", f"class{'es' * (len(apart) > 1)} {named(apart)}"
    if lacking:
        which, does, what = lacking, "lack", "rows of a class"
    reason = f"{named(which)} {does}{'s' * (len(which) == 1)} {what}, and the likelihood has no maximum"
    few, of_class = counts.loc[counts["few"], "name"], counts["what"] == "class"
    rare = sorted(set(found) & set(few))
    signs = ""
    if not found:
        reason = _why_separable(context, model)
        if not reason:
            return passed("the classes overlap, and the likelihood has a maximum", {})
        classes = list(few[of_class])
        few_of_many = 0 < len(classes) < len(model.labels)
        if few_of_many and _overlap(model, ~np.isin(np.array(model.labels)[model.y], classes), context.seed):
            have = f"classes {named(classes)} have" if len(classes) > 1 else f"class {named(classes)} has"
            reason = f"{have} few rows (M05), and only these rows are separable from the others"
            signs = "do not interpret the weights of so few rows"
    steps = [signs or _signs(context.classifier, found, rare)]
    if found and (not levels or set(lacking) - set(rare)):
        steps.append("check that no column gives the class away")
    if not (model.prior.learned and levels):  # the scale of a level's weight is learned from all columns
        steps.append("compare the prior scale with what is known, clf.prior_summary()")
    return tip(
        f"{reason}: the size of these weights depends on the prior",
        "; ".join(steps),
        {"columns": ", ".join(found)} if found else {},
    )


def _signs(classifier: BayesClassifier, found: Sequence[str], rare: Sequence[str]) -> str:
    """Return which signs of the weights of columns, or of any without these, are known; none of `rare` columns is."""
    if classifier.draws_ is None:
        return "do not interpret these weights without draws, which tell whether their signs are known"
    weights = classifier.summary().drop(INTERCEPT, level="feature")
    apart = weights[weights["low"] * weights["high"] > 0].index.unique("feature")
    known = [name for name in found or apart if name in apart and name not in rare]
    if known:
        return f"trust the signs, not the sizes, of {named(known)}, whose intervals in clf.summary() exclude 0"
    few = " or they have few rows (M05)" if rare else ""
    return f"trust neither the signs nor the sizes of these weights: their intervals in clf.summary() include 0{few}"


def _lacks_a_class(indicator: Any, y: Integers) -> bool:
    """Return whether no row of some class has a level, given its column (row, 1) of the design."""
    absent = indicator.min()
    return any(indicator[y == code].max() == absent for code in np.unique(y))


def _why_separable(context: Context, model: LogisticModel) -> str:
    """Return why the likelihood has no maximum; empty where it has one."""
    every = np.ones(len(model.y), dtype=bool)
    if len(every) > thresholds.TEST_ROWS and _overlap(model, every, context.seed):  # else all rows may still overlap
        return ""
    try:
        context.classifier.hypotheses("mle")
    except DoesNotExist as error:
        return str(error).partition("; use")[0]
    return ""


def _overlap(model: LogisticModel, chosen: NDArray[np.bool_], seed: int) -> bool:
    """Return whether the classes of some of the chosen rows overlap, as those of all of these then do."""
    every = some = np.flatnonzero(chosen & (model.sample_weight > 0))
    if len(every) > thresholds.TEST_ROWS:
        some = np.random.default_rng(seed).choice(every, thresholds.TEST_ROWS, replace=False)
    occurring, y = np.unique(model.y[some], return_inverse=True)
    if len(occurring) < len(np.unique(model.y[every])):
        return False  # a class that is not among them may not overlap
    labels = tuple(model.labels[code] for code in occurring)
    with suppress(DoesNotExist):
        if len(labels) > 1:
            replace(model, labels=labels, X=model.X[some], y=y, sample_weight=model.sample_weight[some]).mle()
        return True
    return False


@check("M02", "Collinear columns", "logistic regression, Gaussian discriminant analysis")
def collinear_columns(context: Context) -> Answer:
    """Look for columns that are weighted sums of others, so that their weights are not determined individually.

    The indicators of a category's levels, which always add up to one, are not reported.
    """
    model = context.classifier.model_
    if isinstance(model, LogisticModel):
        names, consequence = list(model.collinear()), "their weights are not determined"
    else:
        names, consequence = _collinear_covariances(model), "their covariance is not determined without the prior"
    evidence = {"columns": ", ".join(names), "count": len(names)}
    if names:
        return tip(
            f"a weighted sum of {named(names)} is the same in every row: {consequence}, but probabilities are",
            "leave columns out to interpret the parameters; predictions do not need it",
            evidence,
        )
    return passed("no column is a weighted sum of others, except for levels of one category", evidence)


def _collinear_covariances(model: Model) -> list[str]:
    """Return the columns without a covariance of their own in the complete rows of a class, or of all."""
    names: list[str] = []
    blocks = [block for block in model.blocks if "Sigma" in block.family.dims()]
    if not blocks:
        raise NotApplicable("this model has neither weights nor covariances of its columns")
    for block in blocks:
        statistics: Any = block.statistics
        _, _, scatters = statistics.complete()
        for scatter in [scatters.sum(axis=0)] if "outcome" not in block.family.dims()["Sigma"] else scatters:
            wrong = collinear(scatter, np.diagonal(scatter) <= 0)
            names += [name for name, yes in zip(statistics.axes.features, wrong, strict=True) if yes]
    return list(dict.fromkeys(names))
