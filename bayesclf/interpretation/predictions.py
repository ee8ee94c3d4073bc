"""Predictions as a table, one row per row of X: in memory, or batch by batch to a file or, part by part, to a folder.

A part is complete or not there, so that an interrupted run can be resumed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayesclf import decisions, rules
from bayesclf.arrays import Array
from bayesclf.classifiers.base import CI_PROB, INTERVAL_RULES, BayesClassifier, decided
from bayesclf.classifiers.inputs import known_class_prior
from bayesclf.constraints import INSIDE, PATH, Flag, Instance, OrNone, Several, require
from bayesclf.errors import InputError, PredictionWarning, warn
from bayesclf.files import PREFIX, STDOUT, regular, write_text, write_whole
from bayesclf.progress import Progress, shown
from bayesclf.rules import Gibbs
from bayesclf.storage import container, fingerprint
from bayesclf.tables.columns import Column, ColumnKind, kinds_of, numbers, unseen_cells
from bayesclf.tables.options import wish_of
from bayesclf.tables.reading import open_stream, require_elsewhere
from bayesclf.tables.streams import Stream, Wanted, batch_rows
from bayesclf.wording import listed

if TYPE_CHECKING:
    import pyarrow as pa

type Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Decision:
    """How labels are chosen.

    Attributes
    ----------
    rule
        The rule; None for the classifier's own.
    cost
        Costs (outcome, outcome), true by predicted; None for 0-1 loss.
    reject
        Largest expected cost of a decision; None for no limit.
    class_prior
        Base rates: (outcome), by label, or ``"uniform"``; None for the training rows'.
    """

    rule: str | Gibbs | None = None
    cost: Array | None = None
    reject: float | None = None
    class_prior: Sequence[float] | None = None


@dataclass(frozen=True)
class Extras:
    """What is shown in addition to labels and probabilities.

    Attributes
    ----------
    interval
        Posterior probability of the intervals of P(k | x), in (0, 1); None for none.
    sets
        Least probability of the sets of labels, in (0, 1); None for none.
    uncertainty
        Whether to show the entropies.
    """

    interval: float | None = None
    sets: float | None = None
    uncertainty: bool = False

    def __post_init__(self) -> None:
        for name, value in (("interval", self.interval), ("sets", self.sets)):
            if value is not None:
                require(INSIDE, **{name: value})
        require(Flag(), uncertainty=self.uncertainty)


def predict_frame(
    classifier: BayesClassifier,
    X: Any,
    rule: str | Gibbs | None = None,
    interval: float | None = CI_PROB,
    sets: float | None = 0.9,
    uncertainty: bool = True,
) -> Any:
    """Return predictions as a table: label, probabilities, intervals, prediction sets and entropies.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted.
    X : table or array of shape (row, feature)
        Table (row, feature).
    rule : str, Gibbs or None
        As in `predict`.
    interval : float or None
        Posterior probability of the intervals of P(k | x), as in `predict_interval`; None or False leaves them out.
    sets : float or None
        Least probability of the sets, as in `predict_set`; None or False leaves them out.
    uncertainty : bool
        Whether to add the entropies of `uncertainty`.

    Returns
    -------
    DataFrame
        Per row: `predicted`; ``P(k)`` of each class k; ``in_set_0.9(k)``, whether k is in the row's set;
        ``P_low_0.89(k)`` and ``P_high_0.89(k)``, class by class; `entropy_total_nats`, `entropy_aleatoric_nats` and
        `entropy_epistemic_nats`. A pandas table on the index of `X`; for a table of another library, such as
        Polars, one of that library. A point fit has neither intervals nor entropies, and `attrs` of a pandas table
        says so.
    """
    extras = Extras(None if interval is False else interval, None if sets is False else sets, uncertainty)
    left_out = ""
    classifier.requested_rule(rule)  # raises where the classifier is not fitted
    if classifier.draws_ is None and (extras.interval is not None or extras.uncertainty):
        engine = type(classifier.inference_).__name__
        left_out = f"intervals and entropies: a fit by {engine} is a point estimate and has no posterior"
        extras = Extras(sets=extras.sets)
    columns = prediction_columns(classifier, X, Decision(rule), extras)
    if not isinstance(X, pd.DataFrame) and nw.dependencies.is_into_dataframe(X):
        return nw.from_dict(columns, backend=nw.from_native(X, eager_only=True).implementation).to_native()
    table = pd.DataFrame(columns, index=X.index if isinstance(X, pd.DataFrame | pd.Series) else None)
    if left_out:
        table.attrs["left_out"] = left_out
    return table


def prediction_columns(classifier: BayesClassifier, X: Any, decision: Decision, extras: Extras) -> Columns:
    """Return the columns of a table of predictions by name, each (row).

    Parameters
    ----------
    classifier
        Fitted.
    X
        Table (row, feature).
    decision
        How labels are chosen; `predicted` has None where a row is rejected.
    extras
        What else is shown.
    """
    log_proba = classifier.predict_log_proba(X, decision.rule, decision.class_prior)
    predicted = decided(classifier, log_proba, decision.rule, decision.cost, decision.reject)
    columns = {"predicted": predicted} | _by_label("P({})", np.exp(log_proba), classifier)
    # the hypotheses are those of the rule where they spread, and P(θ | D) says how under all others
    asked = classifier.requested_rule(decision.rule)
    rule = asked if asked in INTERVAL_RULES else "bayes-optimal"
    if extras.sets is not None:
        sets = decisions.posterior_sets(log_proba, classifier.classes_, extras.sets)
        columns |= _by_label(f"in_set_{extras.sets:g}({{}})", sets.member, classifier)
    if extras.interval is not None:
        bounds = classifier.predict_interval(X, extras.interval, rule, decision.class_prior)
        for label, of_class in zip(classifier.classes_.tolist(), np.moveaxis(bounds, 1, 0), strict=True):
            for side, values in zip(("low", "high"), of_class.T, strict=True):
                columns[f"P_{side}_{extras.interval:g}({label})"] = values
    if extras.uncertainty:
        found = classifier.uncertainty(X, rule, decision.class_prior)
        for name in ("total", "aleatoric", "epistemic"):
            columns[f"entropy_{name}_nats"] = getattr(found, name)
    return columns


def _by_label(name: str, values: NDArray[Any], classifier: BayesClassifier) -> Columns:
    """Return values (row, outcome) as columns, one a label."""
    return {name.format(label): column for label, column in zip(classifier.classes_.tolist(), values.T, strict=True)}


MANIFEST = "_manifest.json"
"""What the answers are of; readers of Parquet folders skip names that begin so."""

PART_ROWS = 2**18
"""Rows from which on a part is complete: it has those of whole batches."""

ENDINGS = (".parquet", ".csv")
"""What names of files of predictions end in."""


def is_folder(output: str | os.PathLike[str]) -> bool:
    """Return whether a name means a folder: it is one, or ends as one's does."""
    name = os.fspath(output)
    return name.endswith(("/", os.sep)) or os.path.isdir(name)


def part_name(number: int) -> str:
    """Return the name of a part, counted from 0."""
    return f"part-{number:06}.parquet"


def _begin(folder: Path, origin: Mapping[str, str], resume: bool) -> None:
    """Make a folder for answers, or raise `InputError` where it has what no run of this origin began."""
    try:
        folder.mkdir(exist_ok=True)
        found = [name for name in os.listdir(folder) if not name.startswith(PREFIX)]
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}); choose another") from None
    if not found:
        text = json.dumps(dict(origin), indent=1)
        write_whole(folder / MANIFEST, lambda part: part.write_text(text, encoding="utf-8"))
        return
    if not resume:
        raise InputError(
            f"{folder} is not empty; choose another folder, or resume the run that wrote to it (resume=True)"
        )
    if not (folder / MANIFEST).exists():
        raise InputError(f"{folder} has files but no {MANIFEST}, so no run can be resumed there; choose another folder")
    with regular(folder / MANIFEST, "a manifest") as file:
        try:
            begun = dict(json.loads(file.read()))
        except (ValueError, TypeError):
            begun = {}
    differs = [what for what, value in origin.items() if begun.get(what) != value]
    if differs:
        raise InputError(
            f"{folder} has predictions of another run, with other {listed(differs)}; choose another folder"
        )


def _done(path: Path, first: int) -> tuple[int, int] | None:
    """Return the rows of a part, and how many are undecided; None where no whole part begins with the row `first`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_table(path, columns=["row", "predicted"])
    except (OSError, pa.ArrowException):
        return None
    return (len(found), found["predicted"].null_count) if len(found) and found["row"][0].as_py() == first else None


def in_parts(batches: Iterable[Columns]) -> Iterator[list[Columns]]:
    """Yield answers of batches, as many together as make a part."""
    held: list[Columns] = []
    for columns in batches:
        held.append(columns)
        if sum(len(one["row"]) for one in held) >= PART_ROWS:
            yield held
            held = []
    if held:
        yield held


@dataclass(frozen=True)
class Predicted:
    """How many rows were predicted, and how many of them left undecided."""

    rows: int
    rejected: int


def kind_to_read(column: Column) -> ColumnKind | None:
    """Return the kind to read a column of a file as; None infers it from the cells, for categories that are numbers.

    "01" that was a word in training must not come back as the number 1.
    """
    if column.kind == "number":
        return "number"
    return "text" if all(isinstance(level, str) for level in column.levels if level is not None) else None


def as_read(classifier: BayesClassifier, reading: Mapping[str, Any], target: str | None = None) -> dict[str, Any]:
    """Return how a table is read as that of a fit was, unless `reading` says otherwise, its useless columns too."""
    names = [column.name for column in classifier.columns_]
    own = {**classifier.reading_, **reading}
    signs = classifier.reading_.get("signs", {})
    missing = {**classifier.reading_.get("missing", {}), **reading.get("missing", {})}
    given = reading.get("missing", {}).keys()
    known = {name: values for name, values in missing.items() if name in {None, *names, target, *given}}
    marks = {"decimal": reading.get("decimal"), "usual_decimal": classifier.reading_.get("decimal")}
    return {**own, **marks, "missing": known, "signs": signs, "keep": [*reading.get("keep", ()), *names]}


def with_levels(X: pd.DataFrame, needed: Sequence[Column]) -> pd.DataFrame:
    """Return columns of a file whose levels in training were numbers or truth values with these in place of words.

    Each word is looked at for itself: one that is not a level does not change the others of its column.

    Parameters
    ----------
    X
        As read, (row, feature).
    needed
        Columns of the model.

    Examples
    --------
    >>> column = Column("flag", "category", (False, True))
    >>> with_levels(pd.DataFrame({"flag": ["True", "?"]}), [column])["flag"].tolist()
    [True, '?']
    """
    changed = {}
    for column in needed:
        levels = [level for level in column.levels if level is not None]
        if column.kind != "category" or all(isinstance(level, str) for level in levels):
            continue
        cells = X[column.name]
        if pd.api.types.is_numeric_dtype(cells.dtype):
            continue
        known = {str(level): level for level in levels}
        numbers = {level: level for level in levels if not isinstance(level, bool | str)}
        places, words = pd.factorize(cells)
        found = [_level(word, known, numbers) if isinstance(word, str) else word for word in words]
        values = np.empty(len(found) + 1, dtype=object)
        values[: len(found)], values[-1] = found, None
        changed[column.name] = pd.Series(values[places], index=X.index, dtype=object)
    return X.assign(**changed) if changed else X


def _level(word: str, known: Mapping[str, Hashable], numbers: Mapping[Hashable, Hashable]) -> Hashable:
    """Return the level that a word spells, or the word."""
    if word in known or not numbers:
        return known.get(word, word)
    try:
        return numbers.get(float(word), word)
    except ValueError:
        return word


FAR = 0.01
"""Probability with which a number of rows like the training rows is called far from these."""

FEWEST_KNOWN = 20
"""Training cells below which nothing is called far from them."""


def far_numbers(X: pd.DataFrame, needed: Sequence[Column], rows: int) -> dict[str, NDArray[np.bool_]]:
    """Return which cells of columns of numbers are far outside the range of the training rows, (row), where any is.

    Tails are taken to fall as x^−3, as of amounts of money: exponential ones would call their largest numbers far. The
    furthest of m numbers then exceeds the spread of n known ones, from the mean, (m/(nα))^(1/3) times with probability
    α. Here m counts both ends of all columns in so many `rows`.
    """
    known = {column.name: column.range for column in needed if column.range is not None}
    found = {}
    for name, (low, mean, high, count) in known.items():
        reach = np.cbrt(2 * len(known) * rows / (count * FAR))
        (cells,) = numbers(X, (name,)).T
        far = (cells > high + reach * (high - mean)) | (cells < low - reach * (mean - low))
        if low < high and count >= FEWEST_KNOWN and far.any():
            found[name] = far
    return found


def unlike_training(X: pd.DataFrame, needed: Sequence[Column], told: set[str], rows: int) -> Iterator[str]:
    """Yield a sentence for each column with levels or numbers far from the training rows, unless it is told.

    It is told then. `rows` is how many rows have been looked at, these included.
    """
    far = far_numbers(X, [column for column in needed if column.name not in told], rows)
    for column in needed:
        unseen = ""
        if column.kind == "category" and column.name not in told:
            unseen = unseen_cells(X[column.name], column.levels)
        elif column.name in far:
            cell = numbers(X, (column.name,))[far[column.name].argmax(), 0]
            low, _, high, _ = column.range or (0.0, 0.0, 0.0, 0)
            unseen = (
                f"column {column.name!r} has numbers far outside the range of the training rows, such as {cell:g} "
                f"({low:g} to {high:g}); check units and codes for missing cells"
            )
        if unseen:
            told.add(column.name)
            yield unseen


def predict_stream(
    classifier: BayesClassifier,
    source: Any,
    output: Any,
    *,
    rule: str | None = None,
    cost: Any = None,
    reject: float | None = None,
    class_prior: Any = None,
    interval: float | None = None,
    sets: float | None = None,
    uncertainty: bool = False,
    copy: Sequence[str] = (),
    reading: Mapping[str, Any] | None = None,
    resume: bool = False,
    progress: Progress = None,
) -> int:
    """Write predictions for a table that is read batch by batch, and return the number of rows.

    Memory is that of a batch. The file is complete in the end, or as it was before. In a folder each part is, and
    an interrupted call can be resumed: the parts are then, to the last bit, those of one that was not interrupted.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted.
    source : path, glob, table or iterable of tables
        A file, folder, glob, lazy table or iterable of tables, as `fit_stream` of generative classifiers takes it;
        columns that the model does not need are not read.
    output : str or path
        A file to write, .parquet or .csv; or a folder, whose name ends in ``/``, for Parquet files of some 250,000
        rows each and ``_manifest.json``, which says what they are of.
    rule, cost, reject, class_prior
        As in `predict`; the rule ``"gibbs"`` draws the hypothesis of a row by its number, whatever the batches.
    interval, sets, uncertainty
        As in `predict_frame`; by default none is added to labels and probabilities.
    copy : sequence of str
        Columns of the table that are written before the predictions. Columns that the model does not need are, too, if
        their names say that they name rows: "id", "uuid", "patient_id", "PassengerId".
    reading : mapping of str or None
        How files are read, as in `fit_stream`: ``{"separator": ";"}``. Values that stood for "missing" in the fit
        still do.
    resume : bool
        Whether to keep the parts that an interrupted call has written to the folder, and to write the others.
        Model, rule and files must be the same; files are compared by names, sizes and times of the last change.
    progress : bool, callable or None
        As in `bayesclf.set_progress`.

    Raises
    ------
    InputError
        For a folder that is not empty, without `resume`; and with it, for one that has predictions of another model,
        rule, version or files.

    Warns
    -----
    PredictionWarning
        For each column with levels that the training rows lack, or numbers far outside their range, once.
    """
    check_is_fitted(classifier, "classes_")
    require(OrNone(Instance(Mapping, "a mapping")), reading=reading)
    decision, extras = Decision(rule, cost, reject, class_prior), Extras(interval, sets, uncertainty)
    require(Several("columns, such as ['name']"), copy=copy)
    given: dict[str, Any] = {"copy": copy, "resume": resume, "progress": progress}
    return write_predictions(classifier, source, output, decision, extras, reading=reading, **given).rows


def write_predictions(
    classifier: BayesClassifier,
    source: Any,
    output: str | os.PathLike[str],
    decision: Decision,
    extras: Extras,
    *,
    copy: Sequence[str] = (),
    resume: bool = False,
    progress: Progress = None,
    tell_unseen: Callable[[str], object] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Predicted:
    """Write predictions for a stream; see `predict_stream`, which `BayesClassifier` has as a method.

    Parameters
    ----------
    classifier
        Fitted.
    source
        As `bayesclf.tables.reading.open_stream` takes it.
    output
        A file of `ENDINGS`, or "-" for csv on stdout; a file is complete, or as it was before. Or a folder, for parts
        that are complete one after the other.
    decision, extras
        As in `prediction_columns`.
    copy
        Columns that are written before the predictions, besides those that name rows.
    resume
        Whether to keep the parts that a folder has.
    progress
        The user's choice.
    tell_unseen
        Is called with a sentence for each column with levels that the training rows lack, or with numbers far outside
        their range; None for a warning.
    reading
        How files of text are read.
    """
    require(PATH, output=output)
    require(Flag(), resume=resume)
    path, folder = Path(output), is_folder(output)
    if not folder and path != STDOUT and path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"predictions are written to files that end in {listed(ENDINGS)}, or to a folder whose name ends in /, not "
            f"to {os.fspath(output)}"
        )
    if resume and not folder:
        raise InputError(
            f"only predictions in a folder can be resumed, and {os.fspath(output)} is no folder; give a name that "
            "ends in /"
        )
    require_elsewhere(path / part_name(0) if folder else path, source, "output")
    needed = [column.name for column in classifier.columns_]
    kinds: dict[str, ColumnKind] = {}
    if isinstance(source, str | os.PathLike):
        kinds = {column.name: kind for column in classifier.columns_ if (kind := kind_to_read(column)) is not None}
        kinds |= {name: "text" for name in copy if name not in needed}
    read = dict.fromkeys([*copy, *needed])
    given = reading or {}
    of_fit = {"missing": wish_of(given).missing, "keep": [*given.get("keep", ()), *copy]}
    how = as_read(classifier, {**given, **of_fit})
    stream = open_stream(source, wish_of(how, kinds), Wanted(read, row_names=True))
    kept = [*(name for name in stream.names if name not in read), *dict.fromkeys(copy)]
    answers = _Answers(classifier, stream, decision, extras, progress, tell_unseen or _warn, kept)
    if folder:
        _write_parts(path, answers, _origin(classifier, stream, decision, extras, kept), resume)
    elif path == STDOUT:
        for columns in answers:
            write_text(STDOUT, _csv_text(columns))
    elif path.suffix.lower() == ".csv":
        write_whole(path, lambda part: _write_csv(part, answers))
    else:
        write_parquet(path, answers, answers.labels)
    return Predicted(answers.rows, answers.rejected)


def _origin(
    classifier: BayesClassifier, stream: Stream, decision: Decision, extras: Extras, kept: Sequence[str]
) -> dict[str, str]:
    """Return what answers depend on, each as its fingerprint, by what sentences call it."""
    if not stream.files:
        raise InputError(
            f"a folder of predictions needs files as input, and {stream.where} is no file; write one file, such as "
            "predictions.parquet"
        )
    costs, prior = decision.cost, decision.class_prior
    looks = {os.path.abspath(file): os.stat(file) for file in sorted(stream.files)}
    settings = {
        "files": {name: [look.st_size, look.st_mtime_ns] for name, look in looks.items()},
        "model": fingerprint(classifier),
        "rule": classifier.requested_rule(decision.rule),
        "costs": None if costs is None else np.asarray(costs, dtype=float),
        "limit of undecided rows": None if decision.reject is None else float(decision.reject),
        "base rates": None if prior is None else known_class_prior(prior, classifier.classes_).pi,
        "intervals, sets or entropies": {
            name: None if value is None else float(value) for name, value in vars(extras).items()
        },
        "values that stand for missing": {
            name: [str(value) for value in values] for name, values in sorted(stream.missing.items())
        },
        "columns that are kept": list(kept),
        "numbers of rows in a part": [PART_ROWS, batch_rows(len(stream.names))],
        "version of bayesclf": version("bayesclf"),
    }
    return {what: container.fingerprint(value) for what, value in settings.items()}


def _write_parts(folder: Path, answers: _Answers, origin: Mapping[str, str], resume: bool) -> None:
    """Write answers to the parts of a folder, after those at its beginning that are there and whole."""
    _begin(folder, origin, resume)
    number = 0
    while part := _done(folder / part_name(number), answers.rows + 1):
        answers.rows, answers.rejected, number = answers.rows + part[0], answers.rejected + part[1], number + 1
    for more, batches in enumerate(in_parts(answers), start=number):
        write_parquet(folder / part_name(more), batches, answers.labels)


def write_parquet(path: Path, batches: Iterable[Columns], labels: NDArray[Any]) -> None:
    """Write predictions of batches, labels of a type that does not depend on those that occur."""
    import pyarrow as pa

    write_whole(path, lambda part: _write_parquet(part, batches, labels), (OSError, pa.ArrowException))


class _Answers:
    """The columns of predictions, batch by batch, after `rows`; iterating over it tells of progress and counts them."""

    def __init__(
        self,
        classifier: BayesClassifier,
        stream: Stream,
        decision: Decision,
        extras: Extras,
        progress: Progress,
        tell_unseen: Callable[[str], object],
        kept: list[str],
    ) -> None:
        self.labels = classifier.classes_
        self.rows = self.rejected = 0
        self._classifier, self._stream, self._decision, self._extras = classifier, stream, decision, extras
        self._progress, self._tell_unseen = progress, tell_unseen
        self._told: set[str] = set()
        self._kept = kept

    def __iter__(self) -> Iterator[Columns]:
        stream, start, before, seen = self._stream, time.perf_counter(), self.rows, 0
        with shown(f"predicting {stream.where}", stream.rows or 0, self._progress) as tell:
            needed = self._classifier.columns_
            for batch in stream.batches():
                seen += len(batch.table)
                table = batch.table.tail(max(0, seen - self.rows))  # the rows after those that are predicted already
                if not len(table):
                    continue
                X = table[[column.name for column in needed]]
                X = with_levels(X, needed) if stream.from_file else X
                try:
                    for sentence in unlike_training(X, needed, self._told, self.rows + len(X)):
                        self._tell_unseen(sentence)
                    found = prediction_columns(self._classifier, X, self._decision_after(self.rows), self._extras)
                except InputError as reason:
                    if len(table) == stream.rows:
                        raise
                    first = f"{batch.where}, counting from row {self.rows + 1:,} of the stream"
                    raise type(reason)(f"{first}: {reason}") from None
                numbers = np.arange(self.rows + 1, seen + 1)
                self.rows += len(numbers)
                if found["predicted"].dtype == object:
                    self.rejected += found["predicted"].tolist().count(None)
                yield {"row": numbers} | _kept(table[self._kept], found) | found
                speed = (self.rows - before) / max(time.perf_counter() - start, 1e-9)
                tell(f"{stream.where}, {speed:,.0f} rows a second", self.rows, stream.rows or self.rows)
        if not self.rows:
            raise InputError(f"{stream.where} has no rows to predict; give at least one")

    def _decision_after(self, rows: int) -> Decision:
        """Return the decision for rows after so many others: the rule "gibbs" draws by the number of a row."""
        rule, gibbs = rules.resolve(self._classifier.requested_rule(self._decision.rule))
        return replace(self._decision, rule=gibbs.after(rows)) if rule.name == "gibbs" else self._decision


def _kept(table: pd.DataFrame, found: Columns) -> Columns:
    """Return the columns of a table that are written before its predictions, with None for missing cells."""
    for name in table.columns:
        if name == "row" or name in found:
            raise InputError(f"the predictions have a column {name!r} of their own; rename it in the table")
    words = [name for name, kind in kinds_of(table).items() if kind != "number"]
    cells = table.assign(**{name: table[name].astype(object).map(str) for name in words})
    return {
        str(name): column.to_numpy(dtype=object)
        for name, column in cells.astype(object).mask(table.isna(), None).items()
    }


def _warn(sentence: str) -> None:
    warn(sentence, PredictionWarning)


def _csv_text(columns: Columns) -> str:
    """Return a batch as csv, with a header if it is the first one."""
    cells = {name: values.astype(int) if values.dtype == bool else values for name, values in columns.items()}
    cells["predicted"] = np.array([None if label is None else str(label) for label in columns["predicted"]], object)
    return pd.DataFrame(cells).to_csv(index=False, header=columns["row"][0] == 1, lineterminator="\n")


def _write_csv(part: Path, answers: _Answers) -> None:
    with part.open("w", encoding="utf-8", newline="") as file:
        for columns in answers:
            file.write(_csv_text(columns))


def _write_parquet(part: Path, batches: Iterable[Columns], labels: NDArray[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    try:
        for columns in batches:
            table = pa.table({name: _arrow(values, name, labels) for name, values in columns.items()})
            if writer is None:
                coded = [field.name for field in table.schema if pa.types.is_string(field.type)]
                writer = pq.ParquetWriter(part, table.schema, use_dictionary=[*coded, "predicted"])
            writer.write_table(table.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()


def _arrow(values: NDArray[Any], name: str, labels: NDArray[Any]) -> pa.Array:
    """Return a column of predictions, labels of a type that does not depend on the batch."""
    import pyarrow as pa

    if name != "predicted":
        found = pa.array(values)
        return found.cast(pa.string()) if pa.types.is_null(found.type) else found
    if labels.dtype.kind in "biuf":
        return pa.array(values, pa.from_numpy_dtype(labels.dtype))
    return pa.array([None if label is None else str(label) for label in values.tolist()], pa.string())
