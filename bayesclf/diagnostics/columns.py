"""Checks of the table's columns: what carries no information, carries it twice, or too thinly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf import columns
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Check, NotApplicable
from bayesclf.diagnostics.finding import Finding
from bayesclf.diagnostics.reference import independent_groups
from bayesclf.diagnostics.words import named
from bayesclf.families.bernoulli import BernoulliStatistics
from bayesclf.families.categorical import CategoricalStatistics
from bayesclf.families.generative import GenerativeModel
from bayesclf.families.logistic import LogisticModel
from bayesclf.families.multinomial import MultinomialStatistics
from bayesclf.families.row_counts import RowCounts
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers.base import BayesClassifier
    from bayesclf.diagnostics.context import Context


class FewRows(Check):
    """Classes and levels whose part of the model is little more than its prior."""

    code = "M05"
    title = "Classes and levels with few rows"
    applies_to = "all models"

    def run(self, context: Context) -> Finding:
        """Count the rows of each class and level."""
        import pandas as pd

        counts = pd.DataFrame(_row_counts(context.classifier), columns=["what", "name", "rows"])
        limits = counts["what"].map({"class": thresholds.MIN_CLASS_ROWS, "level": thresholds.MIN_LEVEL_ROWS})
        few = counts[counts["rows"] < limits].sort_values("rows", ignore_index=True)
        if len(few):
            names = [
                f"class {name}" if what == "class" else name
                for what, name in zip(few["what"], few["name"], strict=True)
            ]
            return self.tip(
                f"{named(names)} ha{'s' if len(few) == 1 else 've'} almost no rows (fewer than "
                f"{thresholds.MIN_CLASS_ROWS} a class or {thresholds.MIN_LEVEL_ROWS} a level): what the model says of "
                "them is mostly its prior",
                "gather more rows, or join levels that mean nearly the same",
                few.head(thresholds.SHOWN),
            )
        fewest = counts.nsmallest(1, "rows").reset_index(drop=True)
        return self.passed(f"fewest: {fewest['rows'].iloc[0]:g} rows of {fewest['name'].iloc[0]!r}", fewest)


def _row_counts(classifier: BayesClassifier) -> Iterator[tuple[str, str, float]]:
    """Yield ("class" or "level", its name, its weight of rows)."""
    model = classifier.model_
    if isinstance(model, LogisticModel):
        by_label = np.bincount(model.y, model.sample_weight, minlength=len(model.labels))
        first = len(model.design) - sum(model.design.sizes)
        levels: Iterable[tuple[str, float]] = zip(
            model.design.names[first:], model.sample_weight @ model.X[:, first:], strict=True
        )
    else:
        assert isinstance(model, GenerativeModel)
        by_label = model.label_counts
        levels = chain.from_iterable(_level_counts(block.statistics) for block in model.blocks)
    yield from (("class", label, float(count)) for label, count in zip(model.labels, by_label, strict=True))
    yield from (("level", name, float(count)) for name, count in levels)


def _level_counts(statistics: Any) -> Iterator[tuple[str, float]]:
    """Yield the name and the weight of rows of each level of a block, where it has levels."""
    axes = statistics.axes
    names = [f"{name}={value}" for name, values in zip(axes.features, axes.levels, strict=False) for value in values]
    if isinstance(statistics, CategoricalStatistics):
        yield from zip(names, statistics.counts.sum(axis=0), strict=True)
    if isinstance(statistics, RowCounts):
        weight = statistics.counts.sum(axis=0)
        seen = [
            np.bincount(codes[codes >= 0], weight[codes >= 0], minlength=size)
            for codes, size in zip(statistics.rows.T, axes.sizes, strict=True)
        ]
        yield from zip(names, np.concatenate(seen), strict=True)


class ConstantColumns(Check):
    """Columns with one value only, which tell nothing about the class."""

    code = "M06"
    title = "Constant columns"
    applies_to = "all models but those of text"

    def run(self, context: Context) -> Finding:
        """Name the columns that were left out, or might as well be."""
        if context.classifier.columns_[0].kind == "text":
            raise NotApplicable("every word of the vocabulary occurs")
        names = list(_constant(context.classifier))
        evidence = {"columns": ", ".join(names[: thresholds.SHOWN]), "count": len(names)}
        if names:
            return self.tip(
                f"{named(names)} ha{'s' if len(names) == 1 else 've'} one value only, or none, and contribute"
                f"{'s' * (len(names) == 1)} nothing",
                "leave such columns out, or find out why they do not vary",
                evidence,
            )
        return self.passed("every column varies", evidence)


def _constant(classifier: BayesClassifier) -> Iterator[str]:
    model = classifier.model_
    if isinstance(model, LogisticModel):
        yield from model.design.constant
        sizes = zip(model.design.category_names, model.design.sizes, strict=True)
        yield from (name for name, size in sizes if size < 2)
        return
    assert isinstance(model, GenerativeModel)
    used = {name for block in model.blocks for name in block.statistics.axes.features}
    yield from (column.name for column in classifier.columns_ if column.name not in used)
    for block in model.blocks:
        statistics: Any = block.statistics
        match statistics:
            case CategoricalStatistics() | RowCounts():
                of_level = np.array([count for _, count in _level_counts(statistics)])
                ends = np.cumsum(statistics.axes.sizes)[:-1]
                constant = [np.count_nonzero(part) < 2 for part in np.split(of_level, ends)]
            case BernoulliStatistics():
                present = statistics.successes.sum(axis=0)
                constant = list((present == 0) | (present == statistics.n.sum(axis=0)))
            case MultinomialStatistics():
                constant = list(statistics.counts.sum(axis=0) == 0)
            case _:
                continue
        yield from (name for name, yes in zip(statistics.axes.features, constant, strict=True) if yes)


class DuplicateColumns(Check):
    """Columns that say the same, perhaps in other units or other words."""

    code = "M07"
    title = "Duplicate columns"
    applies_to = "tables of columns"

    def run(self, context: Context) -> Finding:
        """Compare numbers by correlation, and all columns with few values by which rows share one."""
        import pandas as pd

        pairs = list(dict.fromkeys([*_same_numbers(context.frame), *_same_partitions(context.frame)]))
        evidence = pd.DataFrame(pairs, columns=["column", "same_as"])
        if not pairs:
            return self.passed("no two columns say the same", evidence)
        model = context.classifier.model_
        group = independent_groups(model) if isinstance(model, GenerativeModel) else {}
        twice = [pair for pair in pairs if len({group[name] for name in pair if name in group}) > 1]
        if twice:
            return self.issue(
                f"{_repeated(twice)}: the model takes them for independent and counts their evidence twice",
                "leave one of each pair out",
                evidence.assign(counted_twice=[pair in twice for pair in pairs]),
                "moderate",
            )
        why = "the model does not take them for independent" if group else "they share one weight"
        return self.tip(f"{_repeated(pairs)}, and {why}", "leave one of each pair out", evidence)


def _repeated(pairs: list[tuple[str, str]]) -> str:
    count = f"{len(pairs)} column{'s' * (len(pairs) > 1)} repeat{'s' * (len(pairs) == 1)} another"
    return f"{count} ({', '.join(f'{a!r} is {b!r}' for a, b in pairs[: thresholds.SHOWN])})"


def _same_numbers(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield (column, earlier column) of numbers that are linear functions of each other."""
    names = tuple(str(name) for name in frame if columns.kind_of(frame[name]) == "number")
    X = columns.numbers(frame, names[: thresholds.CORRELATED_COLUMNS])
    missing = np.isnan(X)
    with np.errstate(invalid="ignore"):
        scaled = np.where(missing, 0.0, X - _mean(X, missing))
        length = np.sqrt((scaled**2).sum(axis=0))
        scaled = np.divide(scaled, length, out=np.zeros_like(scaled), where=length > 0)
    equal = np.abs(scaled.T @ scaled) > thresholds.EQUAL_CORRELATION
    for j, i in zip(*np.nonzero(np.tril(equal, -1)), strict=True):
        if np.array_equal(missing[:, i], missing[:, j]):
            yield names[j], names[i]


def _mean(X: Array, missing: NDArray[np.bool_]) -> Array:
    return np.asarray(np.where(missing, 0.0, X).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1))


def _same_partitions(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield (column, earlier column) that have equal cells in the same rows, whatever the values are called."""
    import pandas as pd

    known: dict[bytes, str] = {}
    for name in frame:
        codes, values = pd.factorize(frame[name])
        if 2 <= len(values) <= len(frame) / 2:
            first = known.setdefault(codes.tobytes(), str(name))
            if first != name:
                yield str(name), first


class Identifiers(Check):
    """Columns that number or name the rows: they separate the training rows and tell nothing about new ones."""

    code = "M08"
    title = "Identifiers among the columns"
    applies_to = "tables of columns"

    def run(self, context: Context) -> Finding:
        """Look for words that are nearly all different, and for whole numbers that count."""
        frame = context.frame
        if len(frame) < thresholds.MIN_IDENTIFIED_ROWS:
            raise NotApplicable(f"in {len(frame)} rows any column may have all different values")
        names = [str(name) for name in frame if _identifies(frame[name])]
        evidence = {"columns": ", ".join(names), "count": len(names)}
        if names:
            return self.issue(
                f"{named(names)} look{'s' * (len(names) == 1)} like the name or number of the row, which no new row "
                "shares",
                "leave it out",
                evidence,
                "moderate",
            )
        return self.passed("no column looks like a row's name or number", evidence)


def _identifies(column: pd.Series[Any]) -> bool:
    values = column.dropna()
    if len(values) < thresholds.MIN_IDENTIFIED_ROWS:
        return False
    different = values.nunique()
    if columns.kind_of(column) == "category":
        return bool(different > thresholds.MAX_DIFFERENT_SHARE * len(values))
    if different < len(values):
        return False
    x = values.to_numpy(dtype=float)
    if not (x == np.floor(x)).all():
        return False
    steps = np.diff(x)
    counts = np.ptp(x) < len(x) / thresholds.MAX_DIFFERENT_SHARE
    return bool(counts or (steps > 0).all() or (steps < 0).all())
