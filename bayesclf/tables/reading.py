"""Tables: reading a file into a DataFrame, as its owner means it; what was done is said."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pandas as pd

from bayesclf.constraints import PATH, Instance, OrNone, Whole, require
from bayesclf.errors import InputError
from bayesclf.files import regular
from bayesclf.tables import parquet
from bayesclf.tables.columns import LONGEST_VALUE, ColumnKind
from bayesclf.tables.delimited import Read, Wish, default_separator, read_delimited
from bayesclf.tables.kinds import convert_columns, require_column
from bayesclf.tables.layout import ReadOptions, decoded, encoding_of
from bayesclf.tables.missing import emptied
from bayesclf.tables.stream_paths import MAX_BYTES, TEXT_ENDINGS, require_names, too_large
from bayesclf.wording import counted, listed, one_line, written

SEPARATED = (*TEXT_ENDINGS, ".arff")
PACKED_ENDINGS = tuple(f"{ending}{packed}" for ending in (*SEPARATED, ".jsonl", ".json") for packed in (".gz", ".zip"))
ENDINGS = (*SEPARATED, ".jsonl", ".json", *PACKED_ENDINGS, ".parquet", ".xlsx")

BY_PANDAS = "python -c \"import pandas; pandas.{reader}('{path}').to_csv('{csv}', index=False)\""
CONVERTED = {
    ".sav": "pip install pyreadstat && " + BY_PANDAS.replace("{reader}", "read_spss"),
    ".dta": BY_PANDAS.replace("{reader}", "read_stata"),
    ".sas7bdat": BY_PANDAS.replace("{reader}", "read_sas"),
    ".xls": "pip install xlrd && " + BY_PANDAS.replace("{reader}", "read_excel"),
    ".rds": "Rscript -e \"write.csv(readRDS('{path}'), '{csv}', row.names=FALSE)\"",
}
"""Lines that convert files of other programs."""

PIECE = 2**20
"""Bytes that are unpacked at once."""


def read_table(
    path: str | os.PathLike[str],
    dtypes: Mapping[str, ColumnKind] | None = None,
    max_bytes: int = MAX_BYTES,
    options: ReadOptions | None = None,
) -> pd.DataFrame:
    """Read a table from a file of text, JSON, Parquet, ARFF or Excel; text and JSON also packed by gzip or zip.

    Unless `options` says them, it finds encoding, separator, comments, header, decimal commas and signs such as % and
    $. It also finds codes for missing cells among numbers. A column of numbers is numeric, every other one holds words.
    Among words only an empty cell is missing: "NA" and "?" are words like any other. Blanks around words are left out.
    In JSON `null`, `NaN` and an absent key are missing, an empty string is a word, and strings stay words. Truth values
    are the words "True" and "False"; in text as they are written. The unnamed index that pandas writes into a parquet
    file is left out, a named one is a column. `bayesclf.datasets.read` also says what was done.

    Parameters
    ----------
    path : str or path-like
        The file; its ending, one of `ENDINGS`, says what it holds.
    dtypes : mapping of str to {"number", "category", "text"}, optional
        What the named columns are, whatever they look like. "category": words as written in the file ("01" stays
        "01") with a pandas categorical dtype. "text": strings. "number": every cell is missing or a number.
    max_bytes : int, optional
        The most bytes that a packed file is unpacked to, and that a parquet file declares for its cells; without effect
        on other files, whose size everyone sees.
    options : ReadOptions, optional
        What the user says about the layout of the file.

    Returns
    -------
    DataFrame
        One row per record, in the order of the file, indexed from 0. Infinite numbers are kept.

    Raises
    ------
    InputError
        If the file cannot be read as such a table, is not an ordinary file, such as a pipe, or is larger than allowed.
        Rows are counted from 1, without the header.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weather.csv")
    ...     _ = path.write_text("code;rain;play\\n01;2,5;yes\\n02;;no\\n")
    ...     read_table(path, dtypes={"code": "category"})
      code  rain play
    0   01   2.5  yes
    1   02   NaN   no
    """
    require(OrNone(Instance(Mapping, "a mapping from columns to kinds")), dtypes=dtypes)
    return read_file(path, Wish(options or ReadOptions(), dict(dtypes or {})), max_bytes).frame


def read_file(path: str | os.PathLike[str], wish: Wish, max_bytes: int = MAX_BYTES) -> Read:
    """Return the table of a file, and what was done to read it; parameters and errors as in `read_table`."""
    require(PATH, path=path)
    require(Whole(1), max_bytes=max_bytes)
    path = Path(path)
    with regular(path, "a table") as file:
        ending = _ending(path)
        data = _read_bytes(file, path, max_bytes)
    if ending == ".xlsx":
        data, ending = _of_excel(data, path, max_bytes), ".csv"
    if ending in SEPARATED:
        read = read_delimited(data, path, "\t" if ending == ".tsv" else default_separator(path), wish)
    elif ending in (".json", ".jsonl"):
        encoding = wish.options.encoding or encoding_of(data, True, path)
        read = Read(_parse_json(decoded(data, encoding, path), path, max_bytes, ending == ".jsonl"))
    else:
        read = Read(parquet.read(data, path, max_bytes))
    frame = read.frame
    if frame.empty:
        raise InputError(f"{path} has no rows below its column names; add at least one")
    kinds: dict[str, Any] = {**read.kinds, **wish.kinds}
    return replace(read, frame=as_wished(frame, replace(wish, kinds=kinds), str(path), read.emptied))


def as_wished(frame: pd.DataFrame, wish: Wish, where: str, emptied_already: Collection[str] = ()) -> pd.DataFrame:
    """Return a table with the cells emptied and the kinds of columns that the user asks for."""
    for name in wish.missing:
        require_column(name, list(frame.columns), where)
    kinds: dict[str, Any] = dict(wish.kinds)
    if wish.missing or wish.options.missing:
        codes = {name: wish.codes(name) for name in map(str, frame.columns)}
        frame = convert_columns(frame, {n: k for n, k in kinds.items() if n not in wish.missing}, where)
        before = frame.isna().to_numpy().sum()
        frame = emptied(frame, codes, where, wish.missing.keys() - emptied_already if wish.required else ())
        none = not emptied_already and frame.isna().to_numpy().sum() == before
        if none and wish.options.missing and wish.required:
            said = " or ".join(map(str, wish.options.missing))
            raise InputError(
                f"{where}: no cell is {said}, which is to be missing; check it, or write --missing COL=VALUE"
            )
    return convert_columns(frame, kinds, where)


def _ending(path: Path) -> str:
    """Return the ending of a table file without that of its packing."""
    name = path.name.lower()
    for ending in ENDINGS:
        if name.endswith(ending):
            return ending.removesuffix(".gz").removesuffix(".zip")
    for ending, line in CONVERTED.items():
        if name.endswith(ending):
            said = line.format(path=path, csv=path.with_suffix(".csv").name)
            raise InputError(f"{path} is a file of another program; convert it by {said}")
    raise InputError(f"{path} has an ending that is not known; tables end in {listed(ENDINGS)}")


def _read_bytes(file: IO[bytes], path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a file, unpacked; at most `max_bytes` of what was packed."""
    name = path.name.lower()
    try:
        if name.endswith(".gz"):
            data = _unpacked(file, path, max_bytes)
        else:
            data = _of_zip(file, path, max_bytes) if name.endswith(".zip") else file.read()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path and the disk") from error
    if not data:
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    return data


def _of_zip(file: IO[bytes], path: Path, max_bytes: int) -> bytes:
    """Return the only file of a zip archive."""
    try:
        with zipfile.ZipFile(file) as packed:
            members = [one for one in packed.infolist() if not one.is_dir() and "__MACOSX" not in one.filename]
            if len(members) != 1:
                raise InputError(f"{path} holds {len(members)} files; unpack it and give one of them")
            with packed.open(members[0]) as member:
                data = member.read(max_bytes + 1)
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path} is not a whole zip file ({one_line(error)}); pack it again") from error
    if len(data) > max_bytes:
        raise InputError(too_large(f"{path} is packed and holds", max_bytes))
    return data


def _unpacked(file: IO[bytes], path: Path, max_bytes: int) -> bytes:
    """Return what a gzip file holds, whose size is found first without keeping any of it."""
    try:
        size = 0
        with gzip.GzipFile(fileobj=file) as packed:
            while size <= max_bytes and (piece := packed.read(PIECE)):
                size += len(piece)
        if size > max_bytes:
            raise InputError(too_large(f"{path} is packed and holds", max_bytes))
        file.seek(0)
        with gzip.GzipFile(fileobj=file) as packed:
            return packed.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}); copy or pack it again") from error


def _of_excel(data: bytes, path: Path, max_bytes: int) -> bytes:
    """Return the first sheet of an Excel file as csv."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if sum(one.file_size for one in packed.infolist()) > max_bytes:
                raise InputError(too_large(f"{path} is packed and holds", max_bytes))
        frame = pd.read_excel(io.BytesIO(data), header=None, dtype=str, keep_default_na=False, na_values=[""])
    except ImportError:
        raise InputError(f"{path} is an Excel file, which needs openpyxl; install it by pip install openpyxl") from None
    except (zipfile.BadZipFile, ValueError, KeyError) as error:
        raise InputError(f"{path} is not a whole Excel file ({one_line(error)}); save it again, or as csv") from error
    return frame.to_csv(index=False, header=False).encode()


def _parse_json(text: str, path: Path, max_bytes: int, lines: bool) -> pd.DataFrame:
    """Return the table of a text: an object a line, or, where `lines` is false, a list of objects."""
    if lines or text.lstrip()[:1] == "{":
        records = [
            _parse_object(line, f"{path}: line {number}")
            for number, line in enumerate(text.split("\n"), start=1)
            if line.strip()
        ]
    else:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not valid JSON ({one_line(error)}); write a list of objects") from None
        if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
            raise InputError(f"{path} is no list of objects such as [{{'a': 1}}]; write one object for each row")
        records = found
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise InputError(f"{path} has no columns; each line needs an object such as {{'a': 1}}")
    require_names(names, path)
    absent = len(records) * len(names) - sum(map(len, records))
    if absent > max_bytes // parquet.CELL:
        size = f"{counted(len(records), 'line')} of {counted(len(names), 'key')} in all"
        raise InputError(too_large(f"{path} has {size}, whose absent cells take", max_bytes))
    columns = {name: [record.get(name) for record in records] for name in names}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def _parse_object(line: str, where: str) -> dict[str, Any]:
    """Return the object that a line of JSON holds; `where` is how messages call the line."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return a record of pairs, or refuse a name that stands twice."""
        record = dict(pairs)
        if len(record) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{where} names {twice!r} twice; rename or remove one")
        return record

    try:
        record = json.loads(line, object_pairs_hook=unique)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos + 1}"
        raise InputError(f"{where} is not valid JSON ({problem}); write one object per line") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} cannot be read as JSON ({error}); write one object per line") from None
    if not isinstance(record, dict):
        found = "a list" if isinstance(record, list) else f"the value {written(record, LONGEST_VALUE)}"
        raise InputError(f"{where} holds {found} where an object such as {{'a': 1}} is due; write one object per line")
    if "\\ud" in line.lower():
        try:
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise InputError(f"{where} holds half a character ({half}); write it as UTF-8") from None
    return record
