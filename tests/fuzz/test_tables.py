"""Files of tables with whatever bytes: a table, or a sentence that names the file."""

import csv
import gzip
import io
import json

import numpy as np
import pandas as pd
from helpers.fuzz import Refusal, answer, efforts
from helpers.strangers import damaged
from helpers.strategies import COLUMNS, Recipe, seldom
from hypothesis import strategies as st

from bayesclf.tables.datasets import read
from bayesclf.tables.options import Wish
from bayesclf.tables.reading import open_stream, read_table
from bayesclf.tables.remarks import describe_columns
from bayesclf.tables.writing import CODES

WRITABLE = [kind for kind in COLUMNS if kind not in ("complex", "periods", "mixed", "fractions", "sparse", "halves")]
"""Kinds of columns that a parquet file can hold."""
CELLS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", "NA", "nan", "1e999", "-0", "0x10", "1_000", '"', "'", "\x00", "\r", "=1", "\ufeff", "9" * 400]
    ),
    st.integers().map(str),
    st.floats().map(str),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


def delimited(separator):
    """Return the bytes of csv or tsv files, more or less."""
    row = st.lists(CELLS, min_size=1, max_size=4)
    rows = st.tuples(
        row, st.lists(row, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["utf-8", "utf-16"])
    )

    def text(parts):
        header, body, end, encoding = parts
        lines = [header, *[(cells * 4)[: len(header)] for cells in body]]
        return end.join(separator.join(cells) for cells in lines).encode(encoding, "surrogatepass")

    return rows.map(text)


def parquet(kinds, seed):
    """Return the bytes of a parquet file."""
    return Recipe(tuple(kinds), 6, 1, "words", "frame", seed).table().to_parquet()


FILES = {
    "t.csv": delimited(","),
    "t.tsv": delimited("\t"),
    "t.jsonl": st.lists(JSON.map(json.dumps) | st.text(max_size=9), max_size=5)
    .map("\n".join)
    .map(lambda t: t.encode("utf-8", "surrogatepass")),
    "t.csv.gz": delimited(",").map(gzip.compress),
    "t.parquet": st.builds(parquet, st.lists(st.sampled_from(WRITABLE), min_size=1, max_size=4), st.integers(0, 99)),
    "t.xlsx": st.binary(max_size=9),
}


@st.composite
def table_files(draw):
    """Return the name and the bytes of a file, damaged now and then."""
    name = draw(st.sampled_from(sorted(FILES)))
    content = draw(FILES[name])
    if content and draw(seldom(4)):
        content = damaged(content, np.random.default_rng(draw(st.integers(0, 2**32))))
    return name, content


@efforts(short=15, ci=100, full=530, parts=2)
def test_files(tmp_path, effort):
    def check(file):
        name, content = file
        path = tmp_path / name
        path.write_bytes(content)
        frame = answer(lambda: read_table(path))
        if isinstance(frame, Refusal):
            assert frame.kind in ("InputError", "NoRows", "CellTypeError")
            assert name in frame.sentence
            return "tables refused"
        assert len(frame)
        answer(lambda: describe_columns(frame))
        return "tables read"

    effort.explore(check, file=table_files())


TRAITS = {
    "separator": st.sampled_from([",", ";", "\t", "|"]),
    "decimal": st.sampled_from([".", ","]),
    "thousands": st.booleans(),
    "encoding": st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "utf-16"]),
    "header": st.booleans(),
    "code": st.sampled_from(["", " ", *sorted(CODES)]),
    "sign": st.sampled_from(["{}", "{}%", "${}", "{} €", "{} kg", "-{}"]),
    "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    "newline": st.sampled_from(["\n", "\r\n"]),
    "extra": st.sampled_from(["", "index", "trail", "comment", "sep", "skip"]),
}


def number_of(value, decimal, thousands):
    """Return a number as people write it."""
    text = f"{value:,.2f}" if thousands else f"{value:.2f}"
    return text.translate(str.maketrans(",.", ".,")) if decimal == "," else text


def written_table(rng, separator, decimal, thousands, encoding, header, code, sign, quoting, newline, extra):
    """Return a table, and the bytes of a file that holds it with such traits."""
    rows = int(rng.integers(25, 60))
    frame = pd.DataFrame(
        {
            "größe": rng.uniform(0, 4000, rows).round(2),
            "count": rng.integers(0, 9, rows),
            "price": rng.uniform(1, 90, rows).round(2),
            "town": rng.choice(["Köln", "Bonn, Rhein", 'so "so"', "a;b|c"], rows),
            "label": rng.choice(["yes", "no"], rows),
        }
    )
    gaps = rng.random(rows) < 0.1
    cells = pd.DataFrame(
        {
            "größe": [number_of(x, decimal, thousands) for x in frame["größe"]],
            "count": [code if gap else str(n) for n, gap in zip(frame["count"], gaps, strict=True)],
            "price": [sign.format(number_of(x, decimal, False)) for x in frame["price"]],
            "town": frame["town"],
            "label": frame["label"],
        }
    )
    frame["count"] = frame["count"].astype(float).mask(gaps)
    frame["price"] *= -1 if sign == "-{}" else 1
    lines = [*([list(frame.columns)] if header else []), *cells.to_numpy().tolist()]
    if extra == "index":
        lines = [[("" if header else "0") if place == 0 else str(place), *line] for place, line in enumerate(lines)]
    if extra == "trail":
        lines = [[*line, ""] for line in lines]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=newline).writerows(lines)
    before = {"comment": "# by hand", "sep": f"sep={separator}", "skip": "a title"}.get(extra)
    return frame, (f"{before}{newline}" * (before is not None) + text.getvalue()).encode(encoding)


@efforts(short=60, ci=200, full=2100, parts=2)
def test_a_table_is_read_back_whatever_its_layout(tmp_path, effort):
    """What differs from the table that was written is named by a note."""

    def check(seed, **traits):
        frame, data = written_table(np.random.default_rng(seed), **traits)
        path = tmp_path / "t.csv"
        path.write_bytes(data)
        found = read(path, **({"skip_rows": [1]} if traits["extra"] == "skip" else {}))
        columns = list(found.frame)
        if not traits["header"] and traits["extra"] == "index":  # without names it is a column like others
            columns = columns[1:]
        assert len(columns) == 5, traits
        assert not traits["header"] or columns == list(frame)
        for own, name in zip(columns, frame, strict=True):
            expected, read_back = frame[name].to_numpy(), found.frame[own]
            if expected.dtype.kind == "f":
                same = pd.api.types.is_numeric_dtype(read_back) and np.allclose(read_back, expected, equal_nan=True)
            else:
                same = read_back.tolist() == expected.tolist()
            assert same, (traits, own, found.notes)
        (batch,) = open_stream(path, Wish(skip_rows=(1,) * (traits["extra"] == "skip"))).batches()
        words = {name: object for name in batch.table if batch.table[name].dtype.kind not in "iuf"}
        pd.testing.assert_frame_equal(batch.table.astype(words), found.frame.astype(words), check_dtype=False)
        return "tables read back"

    effort.explore(check, seed=st.integers(0, 2**32), **TRAITS)
