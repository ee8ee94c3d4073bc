"""JSON lines that pass batch by batch: the cells that reading them whole finds, wherever blocks end."""

import gzip
import json

import pandas as pd
import pytest
from helpers.suites import mainly
from hypothesis import given
from hypothesis import strategies as st

from bayesclf.errors import InputError
from bayesclf.tables import json_tables
from bayesclf.tables.batches import NoRows
from bayesclf.tables.reading import read_table
from bayesclf.tables.streams import open_stream

BLOCKS = (1, 40, 10**6)
"""Bytes of a block: a line in each, some lines, and all."""

CELLS = {
    "whole numbers": [1, 2, 3, -4],
    "reals": [1, 2.5, -0.0, 3e10],
    "gaps": [1, None, 3, None],
    "words": ["a", "", "zwölf\nzeilen", 'a "b"'],
    "digits": ["01", "2", "3", "4"],
    "times": ["2024-01-01", "2024-01-01T00:00:00Z", "no", "2024-01-02"],
    "only times": ["2024-01-01", "2024-01-02", "2024-01-01 10:00:00", "2024-01-03"],
    "truth values": [True, False, None, True],
    "numbers and words": [1, "one", 2.5, None],
    "numbers and truth values": [1, True, 2, False],
    "words and truth values": ["yes", True, None, "no"],
    "large numbers": [2**70, 1, 2, 3],
    "larger numbers": [10**400, -(10**400), 1, 2],
    "not a number": [float("nan"), 1, float("inf"), 2.5],
    "nothing": [None, None, None, None],
    "late numbers": [None, None, 1.5, 2],
}


def whole(stream):
    """Return all rows of a stream, coded words as words."""
    parts = [batch.table for batch in stream.batches()]
    words = [str(name) for name, dtype in parts[0].dtypes.items() if isinstance(dtype, pd.CategoricalDtype)]
    return pd.concat([part.astype(dict.fromkeys(words, object)) for part in parts], ignore_index=True)


def assert_same(found, expected):
    words = [name for name, dtype in expected.dtypes.items() if dtype.kind not in "iuf"]
    beyond = [name for name, dtype in expected.dtypes.items() if dtype.kind == "u"]  # 2⁶³ and more, kept as floats
    expected = expected.astype(dict.fromkeys(words, object) | dict.fromkeys(beyond, float))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_index_type=False, rtol=0)


def written(path, records):
    path.write_text("\n".join(map(json.dumps, records)))
    return path


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("kind", mainly([None, "category", "text"], None))
def test_cells_are_those_of_the_table_in_memory(name, block, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(json_tables, "BLOCK", block)
    path = written(tmp_path / "t.jsonl", [{"x": cell, "n": row} for row, cell in enumerate(CELLS[name])])
    kinds = {} if kind is None else {"x": kind}
    stream = open_stream(path, kinds)
    expected = read_table(path, kinds)
    assert_same(whole(stream), expected)
    assert stream.rows == len(expected)
    assert ("x" in stream.written) == (expected["x"].dtype.kind not in "iuf")
    assert stream.select(["n"]).names == ("n",)
    assert_same(whole(stream.select(["n"])), expected[["n"]])


@given(
    records=st.lists(
        st.dictionaries(
            st.sampled_from("abc"),
            st.none() | st.booleans() | st.integers(-(2**66), 2**66) | st.floats(width=32) | st.text(max_size=3),
        ),
        min_size=1,
        max_size=8,
    ).filter(any),
    block=st.sampled_from(BLOCKS),
)
def test_any_objects_are_those_of_the_table_in_memory(records, block, tmp_path_factory):
    path = written(tmp_path_factory.mktemp("any") / "t.jsonl", records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_tables, "BLOCK", block)
        assert_same(whole(open_stream(path)), read_table(path))


def test_a_large_integer_beside_a_missing_cell_is_a_number(tmp_path):
    path = written(tmp_path / "t.jsonl", [{"n": 1}, {"a": 2**63, "n": 2}])
    assert read_table(path)["a"].tolist()[1] == 2.0**63
    assert_same(whole(open_stream(path)), read_table(path))


@pytest.mark.parametrize("block", BLOCKS)
def test_keys_of_all_rows_and_files_are_united(block, tmp_path, monkeypatch):
    monkeypatch.setattr(json_tables, "BLOCK", block)
    records = [{"a": 1}, {"b": "x", "a": 2}, {}, {"c": 1.5, "a": 3}, {"a": 4, "b": "y"}]
    expected = read_table(written(tmp_path / "all.jsonl", records))
    (tmp_path / "parts").mkdir()
    written(tmp_path / "parts" / "1.jsonl", records[:1])
    (tmp_path / "parts" / "2.jsonl").write_bytes(b"")
    packed = "\r\n\r\n".join(map(json.dumps, records[1:])).encode("utf-8-sig")
    (tmp_path / "parts" / "3.jsonl.gz").write_bytes(gzip.compress(packed))
    for source in (tmp_path / "parts", f"{tmp_path}/parts/*", tmp_path / "all.jsonl"):
        stream = open_stream(source)
        assert stream.names == ("a", "b", "c")
        assert_same(whole(stream), expected)
        for after in range(5):
            rest = pd.concat([batch.table for batch in stream.batches(after)], ignore_index=True)
            assert rest["a"].equals(expected["a"][after:].reset_index(drop=True))


def test_columns_that_are_not_needed_may_hold_anything(tmp_path):
    records = [{"x": 1.5, "more": [1, 2]}, {"x": 2.5, "more": {"a": "b"}}]
    path = written(tmp_path / "t.jsonl", records)
    for some in (records[:1], records):
        written(path, some)
        for chosen in ({"needed": ["x"]}, {"drop": ["more"]}):
            assert whole(open_stream(path, **chosen))["x"].tolist() == [one["x"] for one in some]
        with pytest.raises(InputError, match=r"t.jsonl: column 'more' holds .* leave the column out"):
            open_stream(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a": 1}\n{"a": 2\n', "line 2 is not valid JSON (Expecting ',' delimiter"),
        (b'{"a": 1}\n[1]\n', "line 2 holds a list where an object such as {'a': 1} is due"),
        (b'{"a": 1}\n{"a": 1, "a": 2}\n', "line 2 names 'a' twice; rename or remove one"),
        (b'{"a": "x"}\n{"a": "\xff"}\n', "is not UTF-8 text (line 2); save it as UTF-8"),
        (b'{"a": "x"}\n{"a": "\\ud800"}\n', "line 2 holds half a character"),
        (b'{"": 1}\n', "column 1 has no name"),
        (b'{"a": 1} {"a": 2}\n{"a": 3}\n', "line 1 is not valid JSON (Extra data"),
        (b'{"a": 0}\n{"a": 1}{"a":\n2}\n', "line 2 is not valid JSON (Extra data"),
        (b'{"a": 1,\n"b": 2}\n{"a": 3, "b": 4}\n', "line 1 is not valid JSON (Expecting"),
        (b'{"a": 1}\nnull\n', "line 2 holds the value None where an object"),
        (b"{}\n{}\n", "has no columns; each line needs an object such as {'a': 1}"),
    ],
)
@pytest.mark.parametrize("block", [10, 10**6])
def test_what_cannot_be_read_is_said_with_its_line(text, said, block, tmp_path, monkeypatch):
    monkeypatch.setattr(json_tables, "BLOCK", block)
    path = tmp_path / "t.jsonl"
    path.write_bytes(text)
    with pytest.raises(InputError) as caught:
        whole(open_stream(path))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_line_that_does_not_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_tables, "BLOCK", 10)
    monkeypatch.setattr(json_tables, "LONGEST_LINE", 200)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a": 1}\n' + b" " * 300)
    with pytest.raises(InputError, match="has a line of more than 200 bytes; write one object per line"):
        open_stream(path)


def test_files_without_rows_and_damaged_ones_are_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n \n")
    with pytest.raises(NoRows, match="has no rows; write one object per line"):
        open_stream(path)
    packed = tmp_path / "t.jsonl.gz"
    for data in (b'{"a": 1}', gzip.compress(b'{"a": 1}\n' * 1000)[:-20]):
        packed.write_bytes(data)
        with pytest.raises(InputError, match=r"t.jsonl.gz is not a whole gzip file"):
            open_stream(packed)
