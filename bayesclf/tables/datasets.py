"""Data sets: a table and its label column, by name or from a file."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bayesclf.constraints import PATH, Choice, FileName, Instance, OrNone, Text, require
from bayesclf.display import Display, Displayed
from bayesclf.errors import InputError
from bayesclf.tables.options import CONVERTED, ENDINGS
from bayesclf.wording import IN_ALL, counted, did_you_mean, flagged_rows, listed

__all__ = [
    "FOLDER_VARIABLE",
    "Dataset",
    "DatasetInfo",
    "available",
    "load",
    "read",
]

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.tables.columns import ColumnKind
    from bayesclf.tables.options import Wish
    from bayesclf.tables.streams import Stream

FOLDER_VARIABLE = "BAYESCLF_DATA"
"""The environment variable with the folder of the user's own tables."""
LABEL_NAMES = ("class", "target")
"""The label column where none is given, if there is a column of such a name."""
NAME_OR_PATH = FileName("the name of a data set or of a file")
"""What `load` reads."""
SHOWN_NAMES = 8
"""Columns and labels that a data set shows of itself."""
LISTED_SETS = 40
"""The most known names that an error message lists."""


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Attributes
    ----------
    name : str
        What `load` takes.
    place : str
        "own" (ships with this package), "sklearn" (ships with scikit-learn), "folder" (in the folder of BAYESCLF_DATA)
        or "openml" (fetched from openml.org when it is loaded).
    rows, columns : int or None
        The size, the label column included; None of files, which are not read.
    description : str
        One line about the data.
    classes : int or None
        The number of classes; None of files.
    source, creators, license, changes, note : str
        As in `Dataset`; empty for tables of the user's own.
    file : str
        The file, of a table that ships with this package.
    """

    name: str
    place: str
    rows: int | None
    columns: int | None
    description: str
    classes: int | None = None
    license: str = ""
    source: str = ""
    creators: str = ""
    changes: str = ""
    note: str = ""
    file: str = ""


def folder() -> Path:
    """Return the folder of the tables that ship: inside the package of a wheel, next to it in a source checkout."""
    package = Path(str(resources.files("bayesclf")))
    return package / "data" if (package / "data").is_dir() else package.parent / "data"


PLACES = ("own", "sklearn", "folder", "openml")
"""Where data sets come from; the first place that has a name wins."""


def _known_tables() -> dict[str, dict[str, DatasetInfo]]:
    """Return what the README of the folder says of each table, by its place and its name."""
    found: dict[str, dict[str, DatasetInfo]] = {place: {} for place in PLACES if place != "folder"}
    text = (folder() / "README.md").read_text(encoding="utf-8")
    for name, section in re.findall(r"^### (\w+)\n(.*?)(?=\n##|\Z)", text, re.MULTILINE | re.DOTALL):
        said = dict(re.findall(r"^- (\w+): (.+)$", section, re.MULTILINE))
        place, sizes = said.pop("place", "own, ").split(", ", 1)
        file = "" if sizes else said["file"].split("`")[1]
        rows, columns, classes = map(int, re.findall(r"(\d+) ", sizes or said["file"]))
        sentence = section.strip().partition("\n")[0].rstrip(".")
        said |= {"file": file, "description": sentence[:1].lower() + sentence[1:]}
        found[place][name] = DatasetInfo(name, place, rows, columns, classes=classes, **said)
    return found


KNOWN = _known_tables()
"""What is known of the tables of a place, by name. Those of openml.org do not ship, and have a fixed version."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Displayed):
    """A table with the column that is to be predicted.

    Attributes
    ----------
    name : str
        The name or path by which it was loaded.
    frame : DataFrame
        Features and labels, one row a case.
    target : str
        The label column of `frame`; it has no missing cell. Empty where `read` was not told one.
    description : str
        One line about the data.
    source : str
        Where the data come from.
    creators, license, changes, note : str
        Who made the data, under which license they are, what differs from the source, and what its users have to know
        or to acknowledge; empty for tables of the user's own.
    notes : tuple of str
        What was done to read a file, in sentences, each with the option that undoes it. `X` has them too, so that a fit
        and a comparison repeat them.
    left_out : mapping of str to str
        Columns of `frame` that `X` lacks, as they say nothing about new rows, and why; ``keep=`` takes them.
    """

    name: str
    frame: pd.DataFrame
    target: str
    description: str
    source: str
    creators: str = ""
    license: str = ""
    changes: str = ""
    note: str = ""
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    def _display(self) -> Display:
        columns = [str(name) for name in self.X.columns]
        size = f"{counted(len(self.frame), 'row')}, {counted(len(columns), 'column')}"
        labels = self.y.unique().tolist() if self.target else []
        said = [f"target {self.target!r}: {listed(labels, SHOWN_NAMES, IN_ALL)}"] if self.target else []
        names = f"columns {listed(map(repr, columns), SHOWN_NAMES, IN_ALL)}"
        return Display(f"{self.name}: {size}", sentences=(self.description, *said, names, *self.notes))

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802
        """The features: `frame` without the label column and those left out."""
        from bayesclf.tables.columns import NOTES

        features = self.frame.drop(columns=[*([self.target] if self.target else []), *self.left_out])
        features.attrs[NOTES] = self.notes
        return features

    @property
    def y(self) -> pd.Series:
        """The labels."""
        if not self.target:
            raise InputError(f"{self.name} was read without a label column; name it with target=…")
        return self.frame[self.target]


def load(
    name_or_path: str | os.PathLike[str],
    target: str | None = None,
    kinds: Mapping[str, ColumnKind] | None = None,
    missing: Mapping[str, Sequence[object]] | Sequence[object] | None = None,
    unlabeled: str = "drop",
    **reading: Any,
) -> Dataset:
    """Load a data set by name or from a file.

    A name is looked up in this order, and the first place that has it wins:

    1. a file of that path (`bayesclf.tables.reading.read_table` says which);
    2. the tables that ship with this package, for example "play_tennis", "adult" and "breast_cancer_ljubljana";
    3. the sets that scikit-learn ships: "iris", "wine", "breast_cancer" (Wisconsin) and "digits";
    4. the folder in the environment variable BAYESCLF_DATA: "mine" is its file mine.csv and
       "newsgroups/train" its file newsgroups/train.jsonl.gz;
    5. "pima" and "boston" on openml.org, in a fixed version: they have no clear license and do not ship.

    So a name that ships means the same table on every machine, and the folder adds to these names.
    "own:NAME", "sklearn:NAME" and "folder:NAME" choose the place, for a name that several have: with a file
    breast_cancer.csv in the folder, "breast_cancer" is still scikit-learn's set and "folder:breast_cancer" the file.
    "openml:NAME" and "openml:NUMBER" fetch any data set from openml.org.

    Parameters
    ----------
    name_or_path : str or path-like
        The name or the path. A path-like object is never taken for a name.
    target : str, optional
        The label column, its number from 1, or "last". Needed for a file that is given by its path. Otherwise the
        default is the last column (own tables), "target" (scikit-learn), or the one OpenML names. In the folder, it is
        a column "class" or "target", or else the last one unless it holds text.
    kinds : mapping of str to {"number", "category", "text"}, optional
        What columns are, whatever they look like; see `bayesclf.tables.reading.read_table`.
    missing : mapping of str to sequence, or sequence, optional
        By column, the values that stand for "missing", such as ``{"glucose": [0]}``; or those of all columns. Their
        cells are emptied.
    unlabeled : {"drop", "error", "use"}
        What to do with rows without a label: leave them out, which `notes` say; refuse them; or keep them, for `fit`
        of generative classifiers to learn from.
    **reading : object
        How a file is read, where what is found is not right: ``encoding``, ``separator``, ``decimal``, ``header``,
        ``comment``, ``skip_rows``, ``keep``, ``labels_as_written`` and ``classes``.

    Returns
    -------
    Dataset
        The table, its label column and where it is from. scikit-learn's labels are words.

    Raises
    ------
    InputError
        If there is no such data set or column, a file cannot be read, a label is missing, or the network is.

    Examples
    --------
    >>> tennis = load("play_tennis")
    >>> tennis.X.shape, tennis.y.name
    ((14, 4), 'play')
    """
    return _loaded(name_or_path, target, kinds, missing, unlabeled, reading, needs_target=True)


def read(
    path: str | os.PathLike[str],
    target: str | None = None,
    kinds: Mapping[str, ColumnKind] | None = None,
    missing: Mapping[str, Sequence[object]] | Sequence[object] | None = None,
    unlabeled: str = "drop",
    **reading: Any,
) -> Dataset:
    """Read a file as its owner means it; `Dataset.notes` says what was done, and how to undo it.

    Separator, encoding, header, decimal commas, signs, thousands, and codes for missing cells are found. Columns that
    say nothing about new rows, such as names of rows, dates and constants, are left out of `Dataset.X`.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str, optional
        As in `load`; without it the data set has no labels.
    kinds, missing, unlabeled, **reading
        As in `load`.

    Returns
    -------
    Dataset
        The table, and what was done to read it.

    Raises
    ------
    InputError
        As in `load`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "prices.csv")
    ...     _ = path.write_text("price;sold\\n12,50 €;yes\\n7,25 €;no\\n", encoding="cp1252")
    ...     prices = read(path, "sold")
    >>> prices.X["price"].tolist()
    [12.5, 7.25]
    >>> for note in prices.notes:
    ...     print(note.partition(" (")[0])
    the text is cp1252
    the separator is ';'
    column 'price' is read as numbers, without '€' and with a decimal comma
    """
    require(PATH, path=path)
    return _loaded(Path(path), target, kinds, missing, unlabeled, reading, needs_target=False)


def _loaded(
    name_or_path: str | os.PathLike[str],
    target: str | None,
    kinds: Mapping[str, ColumnKind] | None,
    missing: Mapping[str, Sequence[object]] | Sequence[object] | None,
    unlabeled: str,
    reading: Mapping[str, Any],
    needs_target: bool,
) -> Dataset:
    from bayesclf.tables.columns import LISTED_COLUMNS, require_column
    from bayesclf.tables.options import label_among, option, wish_of
    from bayesclf.tables.remarks import about_kept, cut, decided, oddities, renamed, require_classes

    require(NAME_OR_PATH, name_or_path=name_or_path)
    require(OrNone(Text()), target=target)
    require(OrNone(Instance(Mapping, "a mapping from columns to kinds")), kinds=kinds)
    require(Choice(("drop", "error", "use")), unlabeled=unlabeled)
    name = os.fspath(name_or_path)
    wish = wish_of(reading, kinds, missing, target)
    found = _find(name_or_path, wish)
    frame, about = found.frame, found.about
    columns = [str(column) for column in frame.columns]
    chosen = found.target if target is None else label_among(columns, target)
    if chosen is None and needs_target:
        raise InputError(
            f"{name} does not say which column is the label; name it with {option('target', 'COL')}, "
            f"one of {listed(columns, LISTED_COLUMNS, IN_ALL)}"
        )
    stream, known, useless = found.stream, {*wish.keep, *wish.kinds}, dict[str, str]()
    if chosen is not None:
        require_column(chosen, columns, name if stream is None else stream.where)
        if wish.classes:
            frame = frame.assign(**{chosen: cut(frame[chosen], wish.classes)})
        require_classes(frame[chosen])
    if stream is None:
        notes = tuple(oddities(frame, [column for column in columns if column != chosen], known))
    else:
        said = decided(frame, chosen, wish.labels_as_written, known, name, sum_below=stream.sum_below)
        useless = said.left_out
        told = tuple(f"column {column!r}{after}" for column in useless for after in (" ", ":"))
        kept = about_kept(frame, [column for column in wish.keep if column not in wish.kinds])
        notes = (*said.notes, *kept, *(note for note in stream.notes if not note.startswith(told)))
        if said.slips:
            frame = frame.assign(**{str(chosen): renamed(frame[chosen], said.slips)})
    if chosen is not None:
        frame, remark = _with_labels(frame, chosen, name, unlabeled)
        notes = (*notes, *remark)
    said_of_it = (about.description, about.source, about.creators, about.license, about.changes, about.note)
    return Dataset(name, frame, chosen or "", *said_of_it, notes, useless)


def available() -> list[DatasetInfo]:
    """List the data sets that can be loaded by name, without the network.

    Returns
    -------
    list of DatasetInfo
        Those that ship, then scikit-learn's, then those in the folder of BAYESCLF_DATA, then the named ones of
        openml.org. Where two places have the same name, the later one is listed with its prefix, such as
        "folder:breast_cancer".

    Raises
    ------
    InputError
        If BAYESCLF_DATA is set to something that is not a folder.

    Examples
    --------
    >>> [info.name for info in available() if info.place == "sklearn"]
    ['iris', 'wine', 'breast_cancer', 'digits']
    """
    taken: set[str] = set()
    listed = []
    for place in PLACES:
        for name in _names(place):
            if place == "openml" and name in taken:
                continue  # with its prefix it would be any set of that name
            shown = f"{place}:{name}" if name in taken else name
            if place == "folder":
                listed.append(DatasetInfo(shown, place, None, None, f"the file {_folder_files()[name].name}"))
            else:
                listed.append(replace(KNOWN[place][name], name=shown))
            taken.add(name)
    return listed


class _Table(NamedTuple):
    """A table as its place hands it over; without `target` the user has to name the label column.

    `stream`: How it was read, if it is a file.
    """

    frame: pd.DataFrame
    target: str | None
    about: DatasetInfo
    stream: Stream | None = None


def _names(place: str) -> Collection[str]:
    return _folder_files() if place == "folder" else KNOWN[place]


def _find(name_or_path: str | os.PathLike[str], wish: Wish) -> _Table:
    """Return a table of a file, or of the first place that has its name."""
    name = os.fspath(name_or_path)
    if isinstance(name_or_path, str):
        prefix, colon, rest = name.partition(":")
        if colon and prefix in PLACES:
            return _named(prefix, rest, wish)
        if not os.path.isfile(name):
            place = next((place for place in PLACES if name in _names(place)), None)
            if place:
                return _named(place, name, wish, prefixed=False)
            if not os.path.exists(name) and not name.lower().endswith((*ENDINGS, *CONVERTED)):
                raise InputError(f"no file and no data set is called {name!r}{_known(name, PLACES)}")
    return _of_file(name_or_path, f"the file {Path(name).name}", wish)


def _of_file(path: str | os.PathLike[str], description: str, wish: Wish) -> _Table:
    from bayesclf.tables.reading import read_file

    frame, stream = read_file(path, wish)
    return _Table(frame, None, DatasetInfo("", "", None, None, description, source=os.fspath(path)), stream)


def _named(place: str, name: str, wish: Wish, prefixed: bool = True) -> _Table:
    """Return a table of a place; `prefixed` is whether the user named the place too."""
    from bayesclf.tables.reading import read_table, whole
    from bayesclf.tables.streams import of_frame

    if place == "openml" and prefixed:
        found = _fetched(name)
        return found._replace(frame=whole(of_frame(name, found.frame), wish))
    if place == "folder" and not os.environ.get(FOLDER_VARIABLE):
        raise InputError(f"folder:{name} needs the folder of your tables; set {FOLDER_VARIABLE} to it")
    if name not in _names(place):
        raise InputError(f"{place!r} has no data set called {name!r}{_known(name, [place])}")
    if place == "folder":
        return _of_folder(name, wish)
    about = KNOWN[place][name]
    readers = {"sklearn": _of_sklearn, "openml": _read_named}
    frame = readers[place](name) if place in readers else read_table(folder() / about.file)
    return _Table(whole(of_frame(name, frame), wish), str(frame.columns[-1]), about)


def _known(name: str, places: Sequence[str]) -> str:
    names = dict.fromkeys(known for place in places for known in _names(place))
    openml = "" if len(places) == 1 else ", and openml:NAME for one of openml.org"
    return f"{did_you_mean(name, names)}; the known names are {listed(names, LISTED_SETS, IN_ALL) or 'none'}{openml}"


def _with_labels(frame: pd.DataFrame, target: str, name: str, unlabeled: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows that are used, and sentences about those that are left out as they have no label."""
    if len(frame.columns) == 1:
        raise InputError(f"{name} has no column besides the label {target!r}; add at least one feature")
    missing = frame[target].isna()
    if missing.all():
        raise InputError(f"{name}: the label column {target!r} has no value in any row; fill in labels")
    from bayesclf.tables.columns import some_rows
    from bayesclf.tables.levels import whole_labels
    from bayesclf.tables.options import option

    rows, said = flagged_rows(missing), list[str]()
    if missing.any() and unlabeled == "error":
        raise InputError(
            f"{name}: the label column {target!r} has no value in {rows}; fill in those labels, or "
            f"leave these rows out with {option('unlabeled', 'drop')}"
        )
    if missing.any() and unlabeled == "drop":
        some = counted(int(missing.sum()), "row", thousands="")
        said.append(f"{some} of {len(frame)} without a label left out ({rows})")
        frame = some_rows(frame, ~missing.to_numpy())
    return frame.assign(**{target: whole_labels(frame[target])}), tuple(said)


def _of_sklearn(name: str) -> pd.DataFrame:
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = pd.Series([str(bunch.target_names[code]) for code in bunch.target], name="target")
    return bunch.data.assign(target=labels)  # type: ignore[no-any-return]


def _fetch(name: str) -> Any:
    """Return a data set by name or number, as `sklearn.datasets.fetch_openml` gives it."""
    from sklearn.datasets import fetch_openml

    if not name:
        raise InputError("openml: needs a name or a number, such as openml:credit-g or openml:31")
    which = {"data_id": int(name)} if name.isascii() and name.isdigit() else {"name": name}
    try:
        return fetch_openml(**which, as_frame=True, parser="auto", n_retries=0)
    except (ValueError, OSError, HTTPException) as error:
        raise InputError(
            f"openml:{name} cannot be fetched ({error}); check its number and the network, or save the table to a file"
        ) from error


def _read_named(name: str) -> pd.DataFrame:
    """Return the features of a table of openml.org and, last, its label column ``class``."""
    import pandas as pd

    try:
        frame = _fetch(KNOWN["openml"][name].source.rpartition("/")[2]).frame
    except InputError as reason:
        raise InputError(
            f"{name} does not ship with bayesclf, as its license is not clear, and {reason}, "
            f"{name}.csv, in a folder that BAYESCLF_DATA names"
        ) from None
    *features, label = (column for _, column in frame.items())
    if pd.api.types.is_numeric_dtype(label):
        label = (label > label.median()).map({True: "high", False: "low"})
    # categories of digits are numbers here
    numbers = {str(own.name).lower(): pd.to_numeric(own.astype(str)) for own in features}
    return pd.DataFrame({**numbers, "class": label.astype("str").str.removeprefix("tested_")})


def _fetched(name: str) -> _Table:
    """Return any data set of openml.org, by name or number."""
    bunch = _fetch(name)
    named = list(bunch.target_names)
    target = str(named[0]) if len(named) == 1 else _label_column(bunch.frame)
    source = f"https://www.openml.org/d/{bunch.details.get('id', name)}"
    license = str(bunch.details.get("licence") or "not stated")
    about = DatasetInfo(name, "openml", None, None, f"{name} from OpenML", license=license, source=source)
    return _Table(bunch.frame, target, about)


def _folder_files() -> dict[str, Path]:
    """Find the tables in the user's folder and one level below; two of one stem keep their endings as names."""
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        return {}
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(f"{FOLDER_VARIABLE} is {named!r}, which is not a folder; set it to one or unset it")
    by_stem: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        ending = next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), None)
        if ending and path.is_file():
            stem = path.relative_to(folder).as_posix()[: -len(ending)]
            by_stem.setdefault(stem, []).append(path)
    files = {}
    for stem, paths in by_stem.items():
        for path in paths:
            files[stem if len(paths) == 1 else path.relative_to(folder).as_posix()] = path
    return files


def _of_folder(name: str, wish: Wish) -> _Table:
    from bayesclf.tables.columns import column_kind

    path = _folder_files()[name]
    found = _of_file(path, f"the file {path.name} in the folder {path.parent}", wish)
    last = str(found.frame.columns[-1])
    target = _label_column(found.frame) or (None if column_kind(found.frame[last]) == "text" else last)
    return found._replace(target=target)


def _label_column(frame: pd.DataFrame) -> str | None:
    return next((name for name in LABEL_NAMES if name in frame.columns), None)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
