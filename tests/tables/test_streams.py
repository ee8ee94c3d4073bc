"""Streams: the same rows from each source, in batches, with the kinds that reading a whole file finds."""

import gzip
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from bayesclf.errors import InputError
from bayesclf.tables import reading, streams
from bayesclf.tables.options import Wish
from bayesclf.tables.reading import open_stream, read_table
from bayesclf.tables.streams import Wanted

ROWS = 40


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.normal(size=ROWS),
            "n": rng.integers(5, size=ROWS),
            "word": rng.choice(["wet", "dry, hot", 'a "b"', "zwölf\nzeilen"], ROWS),
            "gap": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(size=ROWS)),
            "some": np.where(rng.random(ROWS) < 0.2, None, rng.choice(["NA", "one"], ROWS)),
            "true": rng.random(ROWS) < 0.5,
        }
    )


def whole(stream):
    """Return all rows of a stream, coded words as words."""
    parts = [batch.table for batch in stream.batches()]
    words = [str(name) for name, dtype in parts[0].dtypes.items() if isinstance(dtype, pd.CategoricalDtype)]
    return pd.concat([part.astype(dict.fromkeys(words, object)) for part in parts], ignore_index=True)


def same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_index_type=False, rtol=1e-15)


SOURCES = {
    "data set": lambda table, folder: (pq.write_table(table, folder / "t.parquet"), ds.dataset(folder / "t.parquet"))[
        1
    ],
    "table": lambda table, folder: table,
    "reader": lambda table, folder: table.to_reader(7),
    "capsule": lambda table, folder: types.SimpleNamespace(__arrow_c_stream__=table.__arrow_c_stream__),
    "relation": lambda table, folder: types.SimpleNamespace(to_arrow_reader=table.to_reader),
    "lazy frame": lambda table, folder: pl.from_arrow(table).lazy(),
    "data frame of polars": lambda table, folder: pl.from_arrow(table),
    "data frame": lambda table, folder: table.to_pandas(),
    "list": lambda table, folder: [table.slice(0, 9), table.slice(9).to_pandas(), pl.from_arrow(table.slice(40))],
    "iterator": lambda table, folder: iter([table.slice(0, 30), table.slice(30)]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_each_source_has_the_rows(name, table, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BATCH_ROWS", 9)
    stream = open_stream(SOURCES[name](pa.Table.from_pandas(table), tmp_path))
    assert stream.names == tuple(table.columns)
    same(whole(stream.select(["word", "x", "gap", "n", "true"])), table[["word", "x", "gap", "n", "true"]])


def test_a_dask_dataframe_is_read_by_partition(table):
    dd = pytest.importorskip("dask.dataframe")
    stream = open_stream(dd.from_pandas(table, npartitions=3))
    assert [batch.where for batch in stream.batches()] == [f"partition {i} of 3" for i in (1, 2, 3)]
    same(whole(stream)[["x", "n"]], table[["x", "n"]])


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".csv.gz"])
def test_a_file_holds_what_reading_it_whole_finds(ending, table, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BATCH_ROWS", 9)
    path = tmp_path / f"t{ending}"
    if ending == ".parquet":
        table.to_parquet(path, row_group_size=13)
    else:
        table.to_csv(path, index=False, sep="\t" if "tsv" in ending else ",")
    stream = open_stream(path)
    assert stream.rows == ROWS
    expected = read_table(path)
    same(whole(stream), expected.astype(dict.fromkeys(("word", "some", "true"), object)))
    assert max(len(batch.table) for batch in stream.batches()) <= 9
    assert sorted(stream.written) == sorted({"word", "some", "true"} - ({"true"} if ending == ".parquet" else set()))


def test_columns_of_files_may_be_permuted_but_not_lack(table, tmp_path):
    table[:20].to_parquet(tmp_path / "a.parquet")
    table[20:][table.columns[::-1]].to_parquet(tmp_path / "b.parquet")
    for source in (tmp_path, f"{tmp_path}/*.parquet"):
        same(whole(open_stream(source))[["x", "n"]], table[["x", "n"]])
    table[:5].drop(columns="n").to_parquet(tmp_path / "c.parquet")
    with pytest.raises(InputError, match=r"c\.parquet lacks column 'n', which .*a\.parquet has"):
        open_stream(tmp_path)


def test_a_column_is_what_it_is_declared_to_be(table, tmp_path):
    table.to_parquet(tmp_path / "t.parquet")
    kinds = {"n": "category", "x": "number"}
    found = whole(open_stream(tmp_path / "t.parquet", Wish(kinds=kinds, missing={"word": ["wet"]})))
    assert found["n"].tolist() == table["n"].astype(str).tolist()
    assert found["word"].isna().sum() == (table["word"] == "wet").sum()
    with pytest.raises(InputError, match="column 'word' should be a number but contains"):
        whole(open_stream(tmp_path / "t.parquet", Wish(kinds={"word": "number"})))
    with pytest.raises(InputError, match="no column 'm'"):
        open_stream(table, Wish(kinds={"m": "category"}))


def test_numbers_of_csv_are_those_that_every_row_has(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,d,e\n1,1,nan,+1,\n2,1.5e3,2,2,\n,x,3,3,\n")
    found = whole(open_stream(path))
    assert found["a"].tolist()[:2] == [1.0, 2.0]
    assert found["b"].tolist() == ["1", "1.5e3", "x"]
    assert found["c"].tolist()[1:] == [2, 3]
    assert found["c"].isna()[0]
    assert found["d"].tolist() == [1, 2, 3]
    assert found["e"].isna().all()


def test_what_cannot_be_read_is_said(tmp_path):
    for name, text in {
        "short.csv": "a,b\n1,2\n1\n",
        "empty.csv": "",
        "header.csv": "a,b\n",
        "bad.parquet": "PAR1",
    }.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"short\.csv: row 2 \(line 3\) has 1 cell where the header has 2"):
        open_stream(tmp_path / "short.csv")
    with pytest.raises(InputError, match=r"short\.csv cannot be read as a table .*Expected 2 columns, got 1"):
        open_stream(tmp_path / "sh*.csv")
    with pytest.raises(InputError, match=r"empty\.csv is empty"):
        open_stream(tmp_path / "empty.csv")
    with pytest.raises(InputError, match=r"header\.csv has no rows"):
        open_stream(tmp_path / "header.csv")
    with pytest.raises(InputError, match=r"bad\.parquet is not a whole parquet file"):
        open_stream(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match=r"has files of several kinds, \.csv, \.parquet"):
        open_stream(tmp_path)
    with pytest.raises(InputError, match="no file matches"):
        open_stream(tmp_path / "*.none")
    with pytest.raises(InputError, match="does not exist"):
        open_stream(tmp_path / "none.csv")
    (tmp_path / "t.arff").write_text("a")
    with pytest.raises(InputError, match=r"t\.arff has an ending that is not read in batches"):
        open_stream(tmp_path / "t.arf*")
    with pytest.raises(InputError, match="not from an object of type int"):
        open_stream(3)
    with pytest.raises(InputError, match=r"the first table .* is of type list"):
        open_stream([[1, 2]])
    with gzip.open(tmp_path / "g.csv.gz", "wt") as file:
        file.write("a\n\xff\n")
    (tmp_path / "latin.csv").write_bytes(b"a\n\x81\n")
    with pytest.raises(InputError, match=r"latin\.csv is neither UTF-8 nor cp1252"):
        open_stream(tmp_path / "latin.csv")


def test_a_column_that_is_empty_at_first_is_what_it_is_later():
    first = pd.DataFrame({"x": [None, None], "w": [np.nan, np.nan], "never": [None, None]})
    later = pd.DataFrame({"x": [1.0, 2.0], "w": ["a", "b"], "never": [None, None]})
    for source in ([first, first, later], lambda: iter([first, first, later])):
        tables = [batch.table for batch in open_stream(source).batches()]
        assert [len(table) for table in tables] == [2, 2, 2]
        assert all(table["x"].dtype == float and table["w"].dtype == object for table in tables[:2])
        same(pd.concat(tables[2:]), later)
    with pytest.raises(InputError, match="column 'x' holds numbers in table 3 of the iterable, and words"):
        list(open_stream(iter([first, first, later])).batches())
    assert len(list(open_stream(iter([first])).batches())) == 1


def test_numbers_that_are_declared_words_are_written_alike():
    def levels(*parts):
        stream = open_stream([pd.DataFrame({"n": cells}) for cells in parts], Wish(kinds={"n": "category"}))
        return {word for batch in stream.batches() for word in batch.table["n"].dropna()}

    assert levels([0, 1], [0.0, np.nan]) == {"0", "1"}
    assert levels([0.0, 1.0], [1, 0]) == {"0", "1"}
    assert levels([0, 1], pd.Categorical([1.0, None])) == {"0", "1"}
    assert levels(pd.Categorical([0, 1, None]), [1, 0]) == {"0", "1"}
    assert levels([0, 1], [0.5, 1.0]) == {"0", "1", "0.5"}
    assert levels(["0", "x"], [0, 1]) == {"0", "1", "x"}


def test_folders_whose_names_are_cells_are_left_to_arrow(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        pd.DataFrame({"x": [1.5, 2.5]}).to_parquet(tmp_path / f"year={year}" / "t.parquet")
    with pytest.raises(InputError, match=r"has folders such as year=2023, whose names are cells; give pyarrow.dataset"):
        open_stream(tmp_path)
    found = whole(open_stream(ds.dataset(str(tmp_path), partitioning="hive")))
    assert found["year"].tolist() == [2023, 2023, 2024, 2024]


def test_files_may_differ_in_columns_that_do_not_matter(table, tmp_path):
    for ending in ("parquet", "csv"):
        for name, part in (("a", table[:20].drop(columns="n")), ("b", table[20:].drop(columns="gap"))):
            path = tmp_path / f"{name}.{ending}"
            part.to_parquet(path) if ending == "parquet" else part.to_csv(path, index=False)
        source = f"{tmp_path}/*.{ending}"
        same(whole(open_stream(source, wanted=Wanted(["x"]))), table[["x"]])
        same(whole(open_stream(source, wanted=Wanted(drop=["n", "gap"])))[["x"]], table[["x"]])
        with pytest.raises(InputError, match=r"b\.\w+ lacks column 'gap'"):
            open_stream(source, wanted=Wanted(drop=["n"]))
    parts = [table[:20].drop(columns="n"), table[20:].drop(columns="gap")]
    same(whole(open_stream(parts, wanted=Wanted(["x"]))), table[["x"]])
    same(whole(open_stream([table[:20], parts[1]], wanted=Wanted(drop=["gap"])))[["x"]], table[["x"]])


def test_a_source_that_fails_is_said_to():
    def failing():
        yield pd.DataFrame({"x": [1.0]})
        raise OSError("the disk is gone")

    with pytest.raises(InputError, match=r"the iterable cannot be read to its end \(the disk is gone\)"):
        list(open_stream(failing()).batches())
    with pytest.raises(InputError, match="must return an iterable of tables, not an object of type NoneType"):
        open_stream(lambda: None)


def test_long_words_are_read_a_few_rows_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BATCH_WORDS", 2000)
    words = [f"{number} " + "long " * 20 for number in range(100)]
    pd.DataFrame({"text": words, "x": 1.0}).to_parquet(tmp_path / "t.parquet", compression=None)
    sizes = [len(batch.table) for batch in open_stream(tmp_path / "t.parquet").batches()]
    assert 10 <= max(sizes) <= 20
    assert sum(sizes) == 100
    assert [len(batch.table) for batch in open_stream(tmp_path / "t.parquet").select(["x"]).batches()] == [100]


def test_errors_of_lazy_tables_are_one_sentence():
    words = pl.LazyFrame({"x": ["1", "two"]})
    with pytest.raises(InputError, match=r"the lazy frame cannot be read to its end \(.*\); try again"):
        list(open_stream(words.select(pl.col("x").cast(pl.Int64))).batches())
    with pytest.raises(InputError, match=r"the source cannot be read \(.*nowhere.*\); look at what it reads"):
        open_stream(words.select("nowhere"))
