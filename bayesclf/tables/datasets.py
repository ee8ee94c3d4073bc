"""Data sets: a table and its label column, by name or from a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError

from bayesclf.display import Display, Displayed
from bayesclf.errors import InputError
from bayesclf.wording import IN_ALL, counted, did_you_mean, flagged_rows, listed

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.tables.columns import ColumnKind

FOLDER_VARIABLE = "BAYESCLF_DATA"
"""The environment variable with the folder of the user's own tables."""
LABEL_NAMES = ("class", "target")
"""The label column where none is given, if there is a column of such a name."""
CHEAP_BYTES = 1_000_000
"""Files up to this size are read to list their rows and columns."""
LISTED_NAMES = 8
"""Columns and labels that a data set shows of itself."""
LISTED_SETS = 40
"""The most known names that an error message lists."""


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
        The label column of `frame`; it has no missing cell.
    description : str
        One line about the data.
    source : str
        Where the data come from; also how to load another set of the same name.
    """

    name: str
    frame: pd.DataFrame
    target: str
    description: str
    source: str

    def _display(self) -> Display:
        columns = [str(name) for name in self.frame.columns if name != self.target]
        size = f"{counted(len(self.frame), 'row')}, {counted(len(columns), 'column')}"
        labels = self.y.unique().tolist()
        return Display(
            f"{self.name}: {size}",
            sentences=(
                self.description,
                f"target {self.target!r}: {listed(labels, LISTED_NAMES, IN_ALL)}",
                f"columns {listed(map(repr, columns), LISTED_NAMES, IN_ALL)}",
            ),
        )

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802
        """The features: `frame` without the label column."""
        return self.frame.drop(columns=self.target)

    @property
    def y(self) -> pd.Series:
        """The labels."""
        return self.frame[self.target]


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Attributes
    ----------
    name : str
        What `load` takes.
    place : str
        "own", "sklearn" or "folder".
    rows, columns : int or None
        The size, the label column included; None where finding out means reading a large file.
    description : str
        One line about the data, or why the file cannot be read.
    """

    name: str
    place: str
    rows: int | None
    columns: int | None
    description: str


def load(
    name_or_path: str | os.PathLike[str],
    target: str | None = None,
    dtypes: Mapping[str, ColumnKind] | None = None,
) -> Dataset:
    """Load a data set by name or from a file.

    A name is looked up in this order, and the first place that has it wins:

    1. a file of that path (`bayesclf.tables.reading.read_table` says which);
    2. the project's own tables, for example "play_tennis";
    3. the sets that scikit-learn ships: "iris", "wine", "breast_cancer" (Wisconsin) and "digits";
    4. the folder in the environment variable BAYESCLF_DATA: "adult" is its file adult.csv.gz and
       "newsgroups/train" its file newsgroups/train.jsonl.gz.

    "own:NAME", "sklearn:NAME" and "folder:NAME" choose the place, for a name that several have: with a file
    breast_cancer.csv in the folder, "breast_cancer" is still scikit-learn's set and "folder:breast_cancer" the file.
    "openml:NAME" and "openml:NUMBER" fetch from openml.org.

    Parameters
    ----------
    name_or_path : str or path-like
        The name or the path. A path-like object is never taken for a name.
    target : str, optional
        The label column. Needed for a file that is given by its path. Otherwise the default is the last column (own
        tables), "target" (scikit-learn), the one OpenML names, and, in the folder, a column "class" or "target" or
        else the last one unless it holds text.
    dtypes : mapping of str to {"number", "category", "text"}, optional
        What columns are, whatever they look like; see `bayesclf.tables.reading.read_table`.

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
    from bayesclf.tables.kinds import LISTED_NAMES, require_column

    name = os.fspath(name_or_path)
    found = _find(name_or_path, dtypes or {})
    columns = [str(column) for column in found.frame.columns]
    chosen = found.target if target is None else target
    if chosen is None:
        raise InputError(
            f"{name} does not say which column is the label; name it with --target COL (target=... in Python), "
            f"the columns are {listed(columns, LISTED_NAMES, IN_ALL)}"
        )
    require_column(chosen, columns, name)
    _check_labels(found.frame, chosen, name)
    return Dataset(name, found.frame, chosen, found.description, found.source)


def available() -> list[DatasetInfo]:
    """List the data sets that can be loaded by name, without the network.

    Returns
    -------
    list of DatasetInfo
        The project's own, then scikit-learn's, then those in the folder of BAYESCLF_DATA. Where two places have
        the same name, the later one is listed with its prefix, such as "folder:breast_cancer".

    Raises
    ------
    InputError
        If BAYESCLF_DATA is set to something that is not a folder.

    Examples
    --------
    >>> [info.name for info in available() if info.place == "sklearn"]
    ['iris', 'wine', 'breast_cancer', 'digits']
    """
    _check_folder()
    taken: set[str] = set()
    listed = []
    for prefix, place in _PLACES.items():
        for name in place.names():
            shown = f"{prefix}:{name}" if name in taken else name
            listed.append(replace(place.info(name), name=shown))
            taken.add(name)
    return listed


@dataclass(frozen=True)
class _Table:
    """A table as its place hands it over; without `target` the user has to name the label column."""

    frame: pd.DataFrame
    target: str | None
    description: str
    source: str


@dataclass(frozen=True)
class _Place:
    """Where data sets come from: the names that it has, reading one of them, and what is known of it unread."""

    names: Callable[[], Iterable[str]]
    read: Callable[[str, Mapping[str, ColumnKind]], _Table]
    info: Callable[[str], DatasetInfo]


@dataclass(frozen=True)
class _Shipped:
    """A set that scikit-learn ships; rows and columns are stated so that listing it loads nothing."""

    rows: int
    columns: int
    description: str


_SHIPPED = {
    "iris": _Shipped(150, 5, "three species of iris by the size of their sepals and petals (Fisher 1936)"),
    "wine": _Shipped(178, 14, "three cultivars of wine by chemical analysis (Aeberhard and Forina 1991)"),
    "breast_cancer": _Shipped(569, 31, "Wisconsin breast cancer: malignant or benign by the shape of cell nuclei"),
    "digits": _Shipped(1797, 65, "handwritten digits as pictures of 8 x 8 pixels (test part of UCI optdigits)"),
}

_OWN = {
    "play_tennis": (
        "whether tennis was played on 14 days, by their weather",
        "Tom M. Mitchell, Machine Learning, McGraw-Hill 1997, Table 3.2",
    ),
}


def _find(name_or_path: str | os.PathLike[str], dtypes: Mapping[str, ColumnKind]) -> _Table:
    from bayesclf.tables.reading import ENDINGS, read_table

    name = os.fspath(name_or_path)
    if isinstance(name_or_path, str):
        prefix, colon, rest = name.partition(":")
        if colon and prefix == "openml":
            return _read_openml(rest, dtypes)
        if colon and prefix in _PLACES:
            return _read_named(prefix, rest, dtypes)
        if not os.path.isfile(name):
            place = next((place for place in _PLACES if name in _PLACES[place].names()), None)
            if place:
                return _read_named(place, name, dtypes)
            if not os.path.isdir(name) and not name.lower().endswith(ENDINGS):
                _check_folder()
                raise InputError(f"no file and no data set is called {name!r}{_known(name, list(_PLACES))}")
    return _Table(read_table(name, dtypes), None, f"the file {Path(name).name}", name)


def _read_named(place: str, name: str, dtypes: Mapping[str, ColumnKind]) -> _Table:
    if place == "folder":
        _check_folder()
        if not os.environ.get(FOLDER_VARIABLE):
            raise InputError(f"folder:{name} needs the folder of your tables; set {FOLDER_VARIABLE} to it")
    if name not in _PLACES[place].names():
        raise InputError(f"{place!r} has no data set called {name!r}{_known(name, [place])}")
    table = _PLACES[place].read(name, dtypes)
    others = [f"{other}:{name}" for other in _PLACES if other != place and name in _PLACES[other].names()]
    if not others:
        return table
    return replace(table, source=f"{table.source} (there is also {' and '.join(others)})")


def _known(name: str, places: Sequence[str]) -> str:
    names = dict.fromkeys(known for place in places for known in _PLACES[place].names())
    openml = "" if len(places) == 1 else ", and openml:NAME for one of openml.org"
    return f"{did_you_mean(name, names)}; the known names are {listed(names, LISTED_SETS, IN_ALL) or 'none'}{openml}"


def _check_labels(frame: pd.DataFrame, target: str, name: str) -> None:
    if len(frame.columns) == 1:
        raise InputError(f"{name} has no column besides the label {target!r}; add at least one feature")
    missing = frame[target].isna()
    if missing.any():
        raise InputError(
            f"{name}: the label column {target!r} has no value in {flagged_rows(missing)}; "
            "fill in those labels or remove the rows"
        )


def _own_files() -> dict[str, Path]:
    """Find the project's own tables: inside the package of a wheel, next to it in a source checkout."""
    package = Path(str(resources.files("bayesclf")))
    folder = package / "data" if (package / "data").is_dir() else package.parent / "data"
    return {name: folder / f"{name}.csv" for name in _OWN}


def _read_own(name: str, dtypes: Mapping[str, ColumnKind]) -> _Table:
    from bayesclf.tables.reading import read_table

    frame = read_table(_own_files()[name], dtypes)
    return _Table(frame, str(frame.columns[-1]), *_OWN[name])


def _own_info(name: str) -> DatasetInfo:
    table = _read_own(name, {})
    return DatasetInfo(name, "own", *table.frame.shape, table.description)


def _read_shipped(name: str, dtypes: Mapping[str, ColumnKind]) -> _Table:
    import pandas as pd
    from sklearn import datasets

    from bayesclf.tables.kinds import convert_columns

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = pd.Series([str(bunch.target_names[code]) for code in bunch.target], name="target")
    frame = convert_columns(bunch.data.assign(target=labels), dtypes, name)
    return _Table(frame, "target", _SHIPPED[name].description, f"scikit-learn, sklearn.datasets.load_{name}")


def _shipped_info(name: str) -> DatasetInfo:
    shipped = _SHIPPED[name]
    return DatasetInfo(name, "sklearn", shipped.rows, shipped.columns, shipped.description)


def _check_folder() -> None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and not os.path.isdir(folder):
        raise InputError(f"{FOLDER_VARIABLE} is {folder!r}, which is not a folder; set it to one or unset it")


def _folder_files() -> dict[str, Path]:
    """Find the tables in the user's folder and one level below; two of one stem keep their endings as names."""
    from bayesclf.tables.reading import ENDINGS

    if not os.environ.get(FOLDER_VARIABLE):
        return {}
    folder = Path(os.environ[FOLDER_VARIABLE])
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


def _read_folder(name: str, dtypes: Mapping[str, ColumnKind]) -> _Table:
    from bayesclf.tables.columns import column_kind
    from bayesclf.tables.reading import read_table

    path = _folder_files()[name]
    frame = read_table(path, dtypes)
    last = str(frame.columns[-1])
    target = _label_column(frame) or (None if column_kind(frame[last]) == "text" else last)
    return _Table(frame, target, f"the file {path.name} in the folder {path.parent}", str(path))


def _label_column(frame: pd.DataFrame) -> str | None:
    return next((name for name in LABEL_NAMES if name in frame.columns), None)


def _folder_info(name: str) -> DatasetInfo:
    path = _folder_files()[name]
    rows = columns = None
    description = f"the file {path.name} in the folder {path.parent}"
    if path.stat().st_size <= CHEAP_BYTES:
        try:
            rows, columns = _read_folder(name, {}).frame.shape
        except InputError as error:
            description = str(error)
    return DatasetInfo(name, "folder", rows, columns, description)


def _read_openml(name: str, dtypes: Mapping[str, ColumnKind]) -> _Table:
    from sklearn.datasets import fetch_openml

    from bayesclf.tables.kinds import convert_columns

    if not name:
        raise InputError("openml: needs a name or a number, such as openml:credit-g or openml:31")
    which = {"data_id": int(name)} if name.isascii() and name.isdigit() else {"name": name}
    try:
        with warnings.catch_warnings():
            # one sentence says it after the last attempt
            warnings.filterwarnings("ignore", message="A network error occurred")
            bunch = fetch_openml(**which, as_frame=True, parser="auto")
    except (ValueError, HTTPError) as error:
        raise InputError(
            f"openml:{name} cannot be used ({error}); look the data set up on openml.org and give its number"
        ) from error
    except (OSError, HTTPException) as error:
        raise InputError(
            f"openml:{name} cannot be fetched ({error}); check the network, or save the table to a file"
        ) from error
    frame = convert_columns(bunch.frame, dtypes, f"openml:{name}")
    named = list(bunch.target_names)
    target = str(named[0]) if len(named) == 1 else _label_column(frame)
    number = bunch.details.get("id", name)
    return _Table(frame, target, f"{name} from OpenML", f"https://www.openml.org/d/{number}")


_PLACES = {
    "own": _Place(_own_files, _read_own, _own_info),
    "sklearn": _Place(lambda: _SHIPPED, _read_shipped, _shipped_info),
    "folder": _Place(_folder_files, _read_folder, _folder_info),
}
