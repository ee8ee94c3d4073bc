"""Files of tables with whatever bytes: a table, or a sentence that names the file."""

import gzip
import json

import numpy as np
import pandas as pd
from helpers.fuzz import Refusal, answer, efforts
from helpers.strangers import damaged
from helpers.strategies import COLUMNS, seldom
from hypothesis import strategies as st

from bayesclf.tables.description import describe_columns
from bayesclf.tables.reading import read_table

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
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"x{j}": pd.Series(COLUMNS[kind](rng, 6)) for j, kind in enumerate(kinds)}).to_parquet()


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
            assert frame.kind in ("InputError", "CellTypeError")
            assert name in frame.sentence
            return "tables refused"
        assert len(frame)
        answer(lambda: describe_columns(frame))
        return "tables read"

    effort.explore(check, file=table_files())
