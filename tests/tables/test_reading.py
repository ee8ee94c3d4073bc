import csv
import gzip
import io
import json
import math
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from bayesclf.errors import InputError
from bayesclf.tables import reading
from bayesclf.tables.columns import column_kind
from bayesclf.tables.reading import open_stream, read_table
from bayesclf.tables.remarks import describe_columns, oddities
from bayesclf.tables.writing import CODES

# any character of a text file: no half surrogates, and NUL is refused
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
ODD_WORDS = st.one_of(
    WORDS, st.sampled_from(["", "NA", "nan", "None", "01", " 1", "a,b", 'say "no"', "two\nlines", "\r", "\t"])
)
NAMES = st.lists(WORDS.filter(str.strip), min_size=1, max_size=4, unique=True).filter(
    # a byte order mark at the start of a file is not part of the first name
    lambda names: not names[0].startswith("\ufeff") and len({name.strip() for name in names}) == len(names)
)
QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def message(path: Path, **kwargs: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    assert not text.endswith(".")
    return text


def bare(word: str) -> str:
    """Return a word without the blanks around it, as it is read."""
    return pc.utf8_trim_whitespace(pa.scalar(word)).as_py()


class TestTypes:
    def test_numbers_and_words_are_inferred(self, tmp_path):
        frame = read_table(write(tmp_path, "n,x,w\n1,0.5,a\n2,,b\n"))
        assert frame.dtypes.astype(str).tolist()[:2] == ["int64", "float64"]
        assert frame["w"].tolist() == ["a", "b"]
        assert math.isnan(frame["x"][1])

    @pytest.mark.parametrize("word", [*sorted(CODES), " "])
    def test_a_code_is_missing_among_numbers_and_a_word_among_words(self, tmp_path, word):
        frame = read_table(write(tmp_path, f"x,y\n1,a\n{word},b\n,c\n2,{word}\n"))
        assert frame["x"].isna().tolist() == [False, True, True, False]
        assert frame["y"].tolist()[:3] == ["a", "b", "c"]
        assert (frame["y"][3] == word) == bool(word.strip())

    @pytest.mark.parametrize("cell", ["True", "true", "TRUE", "False"])
    def test_truth_values_stay_words(self, tmp_path, cell):
        frame = read_table(write(tmp_path, f"x,y\n{cell},1\n,2\n{cell},3\n"))
        assert frame["x"].dropna().tolist() == [cell, cell]

    def test_a_category_keeps_what_is_written(self, tmp_path):
        path = write(tmp_path, "code,y\n01,a\n1,b\n1.0,a\n,b\n")
        assert read_table(path)["code"].dtype == float
        code = read_table(path, {"code": "category"})["code"]
        assert code.cat.categories.tolist() == ["01", "1", "1.0"]
        assert code.isna().tolist() == [False, False, False, True]

    def test_number_names_the_cells_that_are_none(self, tmp_path):
        text = message(write(tmp_path, "age,y\n3,a\nold,b\nx,c\nold,c\nNA,c\n"), kinds={"age": "number"})
        assert "column 'age'" in text
        assert "'old', 'x'" in text
        assert "rows 2, 3, 4" in text

    def test_integers_beyond_64_bits_are_numbers(self, tmp_path):
        assert read_table(write(tmp_path, f"x,y\n1,a\n{10**25},b\n"))["x"].tolist() == [1.0, 1e25]

    def test_an_unknown_column_or_dtype_is_refused(self, tmp_path):
        path = write(tmp_path, "weight,y\n1,a\n")
        text = message(path, kinds={"wieght": "number"})
        assert "no column 'wieght'" in text
        assert "did you mean 'weight'" in text
        assert "weight, y" in text
        text = message(path, kinds={"weight": "float"})
        assert "'float'" in text
        assert "number, category, text" in text


class TestFiles:
    @pytest.mark.parametrize("ending", [own for own in reading.ENDINGS if own not in (".parquet", ".xlsx")])
    def test_every_text_ending_reads_the_same_table(self, tmp_path, ending):
        plain = ending.removesuffix(".gz").removesuffix(".zip")
        rows = "a,b\n1,x y\n,z\n"
        content = {
            ".jsonl": '{"a": 1, "b": "x y"}\n{"a": null, "b": "z"}\n',
            ".json": '[{"a": 1, "b": "x y"}, {"b": "z"}]',
            ".arff": "% old\n@RELATION t\n@attribute 'a' real\n@attribute b {'x y', z}\n\n@DATA\n1,'x y'\n?,z\n",
            ".tsv": rows.replace(",", "\t"),
        }.get(plain, rows)
        path = tmp_path / f"t{ending.upper()}"
        data = content.encode()
        if ending.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as packed:
                packed.writestr("folder/t.csv", data)
        else:
            path.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
        found = read_table(path)
        assert found["a"].isna().tolist() == [False, True]
        assert found["a"][0] == 1
        assert found["b"].astype("str").tolist() == ["x y", "z"]

    def test_packed_files_that_cannot_be_read(self, tmp_path):
        path = tmp_path / "t.csv.zip"
        path.write_bytes(b"no zip")
        assert "not a whole zip file" in message(path)
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("t.csv", "a,b\n1,2\n")
            packed.writestr("u.csv", "a,b\n1,2\n")
        assert "holds 2 files" in message(path)

    @pytest.mark.parametrize(("name", "line"), [("t.dta", "pandas.read_stata("), ("t.rds", "Rscript -e")])
    def test_files_of_other_programs_are_converted_by_a_line(self, tmp_path, name, line):
        assert line in message(write(tmp_path, "x", name))

    def test_excel_needs_a_library(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        path = tmp_path / "t.xlsx"
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("xl/workbook.xml", "<workbook/>")
        assert "pip install openpyxl" in message(path)

    @pytest.mark.parametrize("name", ["t.pickle", "t", "t.parquet.gz", "csv"])
    def test_an_unknown_ending_lists_the_known_ones(self, tmp_path, name):
        text = message(write(tmp_path, "a,b\n1,2\n", name))
        assert all(ending in text for ending in reading.ENDINGS)

    @pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl"])
    def test_an_empty_file(self, tmp_path, name):
        assert "is empty" in message(write(tmp_path, b"", name))

    @pytest.mark.parametrize("content", ["a,b\n", "a,b", "\na,b\r\n\r\n"])
    def test_a_header_without_rows(self, tmp_path, content):
        assert "no rows" in message(write(tmp_path, content))

    @pytest.mark.parametrize(
        "data",
        [b"no gzip", gzip.compress(b"a,b\n1,2\n" * 99)[:-9], b"\x1f\x8b\x08\0\0\0\0\0\0\0xyz"],
        ids=["another format", "cut off", "damaged"],  # gzip writes the time, and workers must see the same names
    )
    def test_a_corrupt_gzip(self, tmp_path, data):
        assert "not a whole gzip file" in message(write(tmp_path, data, "t.csv.gz"))

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
    def test_the_encoding_is_found(self, tmp_path, encoding):
        frame = read_table(write(tmp_path, "größe,b\n1,Köln\n2,Bonn\n".encode(encoding)))
        assert frame.columns.tolist() == ["größe", "b"]
        assert frame["b"].tolist() == ["Köln", "Bonn"]

    def test_a_byte_of_no_encoding_is_located(self, tmp_path):
        text = message(write(tmp_path, b"a,b\n1,x\n2,caf\x81\n"))
        assert "neither UTF-8 nor cp1252" in text
        assert "byte 0x81 at offset 13 (line 3)" in text
        assert "NUL character is in line 2" in message(write(tmp_path, b"a,b\n1,\0x\n2,y\n"))


class TestDelimited:
    def test_repeated_names(self, tmp_path):
        text = message(write(tmp_path, "a,b,a\n1,2,3\n"))
        assert "columns 1 and 3 are both named 'a'" in text

    @pytest.mark.parametrize(("header", "position"), [(",a,b", 1), ("a, ,b", 2), ('a,b,""', 3)])
    def test_a_column_without_a_name(self, tmp_path, header, position):
        path = write(tmp_path, f"{header}\n4,2,3\n4,5,7\n")
        text = message(path)
        assert f"column {position} has no name" in text
        assert f"keep=['c{position}']" in text
        kept = read_table(path, keep=[f"c{position}"])
        assert kept.columns[position - 1] == f"c{position}"
        assert kept.shape == (2, 3)

    @pytest.mark.parametrize(
        ("row", "count"), [("1,2,3", "3 cells"), ("1", "1 cell"), ("1,2,", "3 cells"), (" ", "1 cell")]
    )
    def test_a_ragged_row(self, tmp_path, row, count):
        text = message(write(tmp_path, f'a,b\n1,"x\ny"\n\n{row}\n3,4\n'))
        assert f"row 2 (line 5) has {count} where the header has 2" in text
        assert "or leave line 5 out with skip_rows=[5]" in text

    @pytest.mark.parametrize("row", ['"open,2', '"shut"x,2'])
    def test_quotes_that_do_not_match(self, tmp_path, row):
        assert "row that starts in line 3" in message(write(tmp_path, f"a,b\n1,2\n{row}\n3,4\n"))

    def test_quotes_inside_a_plain_cell_are_kept(self, tmp_path):
        assert read_table(write(tmp_path, 'a,b\n5" disk,1\n'))["a"].tolist() == ['5" disk']

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    def test_blank_lines_are_skipped_and_line_ends_may_differ(self, tmp_path, newline):
        frame = read_table(write(tmp_path, newline.join(["", "a,b", "", "1,x", "", "2,y", "", ""])))
        assert frame["a"].tolist() == [1, 2]
        assert frame["a"].dtype == "int64"

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_a_blank_line_is_a_missing_cell_of_a_column_that_is_alone(self, tmp_path, encoding):
        path = write(tmp_path, '# made by hand\na\n\n1\n""\n\n2\n'.encode(encoding))
        for found in (read_table(path), next(open_stream(path).batches()).table):
            assert found["a"].isna().tolist() == [True, False, True, True, False]

    def test_a_document_in_a_cell(self, tmp_path):
        limit = csv.field_size_limit()
        document = "word " * 40_000
        assert read_table(write(tmp_path, f"t,y\n{document},a\n"))["t"][0] == document.strip()
        assert csv.field_size_limit() == limit

    @QUICK
    @given(data=st.data(), separator=st.sampled_from([".csv", ".tsv"]), newline=st.sampled_from(["\n", "\r\n"]))
    def test_round_trip_of_odd_words(self, tmp_path, data, separator, newline):
        names = data.draw(NAMES)
        rows = data.draw(
            st.lists(st.lists(ODD_WORDS, min_size=len(names), max_size=len(names)), min_size=1, max_size=5)
        )
        buffer = io.StringIO(newline="")
        writer = csv.writer(
            buffer, delimiter={".csv": ",", ".tsv": "\t"}[separator], lineterminator=newline, quoting=csv.QUOTE_ALL
        )
        writer.writerows([names, *rows])
        path = write(tmp_path, buffer.getvalue(), f"t{separator}")
        kinds = {bare(name): data.draw(st.sampled_from(["category", "text"])) for name in names}
        frame = read_table(path, kinds)
        assert frame.columns.tolist() == [bare(name) for name in names]
        found = frame.astype(object).where(frame.notna(), "").to_numpy().tolist()
        assert found == [[bare(cell) for cell in row] for row in rows]

    @QUICK
    @given(values=st.lists(st.none() | st.floats(allow_nan=False), min_size=1, max_size=9))
    def test_round_trip_of_numbers(self, tmp_path, values):
        cells = "".join(f"{'' if value is None else repr(value)},end\n" for value in values)
        found = read_table(write(tmp_path, f"x,y\n{cells}"))["x"]
        np.testing.assert_array_equal(found, np.array(values, dtype=float))


class TestJsonLines:
    def test_gaps_types_and_order(self, tmp_path):
        lines = ['{"n": 1, "w": "", "t": true}', "", '{"w": "NA", "n": null, "x": NaN, "t": null}']
        frame = read_table(write(tmp_path, "\r\n".join(lines), "t.jsonl"))
        assert frame.columns.tolist() == ["n", "w", "t", "x"]
        assert frame["n"].dtype == float
        assert frame["w"].tolist() == ["", "NA"]
        assert frame["t"].dropna().tolist() == ["True"]
        assert frame["x"].isna().all()
        assert frame["x"].dtype == float

    def test_a_category_of_integers_with_gaps_has_no_decimals(self, tmp_path):
        path = write(tmp_path, '{"n": 1}\n{"n": null}\n{"n": 20}', "t.jsonl")
        assert read_table(path, {"n": "category"})["n"].cat.categories.tolist() == ["1", "20"]

    def test_strings_of_digits_become_numbers_on_request(self, tmp_path):
        path = write(tmp_path, '{"n": "7"}\n{"n": "8"}\n', "t.jsonl")
        assert read_table(path)["n"].tolist() == ["7", "8"]
        assert read_table(path, {"n": "number"})["n"].tolist() == [7, 8]

    def test_huge_integers(self, tmp_path):
        frame = read_table(write(tmp_path, f'{{"n": {10**30}}}\n{{"n": {10**400}}}\n', "t.jsonl"))
        assert frame["n"].tolist() == [1e30, np.inf]

    @pytest.mark.parametrize(
        ("line", "parts"),
        [
            ('{"a": 1', ["line 2", "not valid JSON"]),
            ("{'a': 1}", ["line 2", "not valid JSON", "character 2"]),
            ("[1, 2]", ["line 2", "a list", "object"]),
            ("null", ["line 2", "None", "object"]),
            ("3.5", ["line 2", "3.5"]),
            ('{"a": "\\ud800"}', ["line 2", "cannot be read as JSON", "\\ud800"]),
            ('{"a": ' + "9" * 5000 + "}", ["line 2", "cannot be read as JSON"]),
            ("[" * 200_000, ["line 2", "cannot be read as JSON"]),
            ('{"": 1}', ["column 2 has no name"]),
            ('{"a": [1]}', ["column 'a'", "holds [1] (row 2)"]),
            ('{"a": {"b": 1}}', ["column 'a'", "holds {'b': 1} (row 2)"]),
        ],
    )
    def test_a_bad_line_is_located(self, tmp_path, line, parts):
        text = message(write(tmp_path, f'{{"a": 0}}\n{line}\n{{"a": 2}}\n', "t.jsonl"))
        assert all(part in text for part in parts), text

    @QUICK
    @given(data=st.data(), ascii_only=st.booleans())
    def test_round_trip(self, tmp_path, data, ascii_only):
        names = data.draw(st.lists(st.text(max_size=5).filter(str.strip), min_size=1, max_size=4, unique=True))
        rows = data.draw(
            st.lists(st.lists(st.none() | ODD_WORDS, min_size=len(names), max_size=len(names)), min_size=1, max_size=5)
        )
        records = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=ascii_only) for row in rows]
        frame = read_table(write(tmp_path, "\n".join(records), "t.jsonl"), dict.fromkeys(names, "text"))
        assert frame.columns.tolist() == names
        assert frame.astype(object).where(frame.notna(), None).to_numpy().tolist() == rows


class TestParquet:
    def test_types(self, tmp_path):
        frame = pd.DataFrame(
            {
                "n": pd.array([1, None, 3], dtype="Int64"),
                "x": [0.5, np.inf, np.nan],
                "w": ["a", None, "NA"],
                "c": pd.Categorical(["u", "v", "u"], categories=["v", "u"]),
                "t": pd.array([True, None, False], dtype="boolean"),
                "d": pd.to_datetime(["2020-01-02", None, "2020-01-03"]),
            }
        )
        frame.to_parquet(tmp_path / "t.parquet")
        found = read_table(tmp_path / "t.parquet")
        np.testing.assert_array_equal(found["n"], [1, np.nan, 3])
        np.testing.assert_array_equal(found["x"], [0.5, np.inf, np.nan])
        assert found["w"].isna().tolist() == [False, True, False]
        assert found["c"].cat.categories.tolist() == ["v", "u"]
        assert found["t"].dropna().tolist() == ["True", "False"]
        assert found["d"].dropna().str.startswith("2020-01-0").all()
        assert [column_kind(found[name]) for name in found] == ["number", "number", *["category"] * 4]
        kept = read_table(tmp_path / "t.parquet", {"n": "category"})
        assert kept["n"].cat.categories.tolist() == ["1", "3"]

    def test_only_a_named_index_is_a_column(self, tmp_path):
        frame = pd.DataFrame({"a": [1, 2, 3]})
        frame[frame["a"] > 1].to_parquet(tmp_path / "plain.parquet")
        assert read_table(tmp_path / "plain.parquet").columns.tolist() == ["a"]
        frame.set_index(pd.Index(["u", "v", "w"], name="id")).to_parquet(tmp_path / "named.parquet")
        assert sorted(read_table(tmp_path / "named.parquet").columns) == ["a", "id"]

    def test_metadata_that_are_no_text(self, tmp_path):
        pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
        data = (tmp_path / "t.parquet").read_bytes()
        assert b'"pandas_version"' in data
        path = write(tmp_path, data.replace(b'"pandas_version"', b'"\xc0andas_version"'), "t.parquet")
        assert read_table(path)["a"].tolist() == [1, 2]

    def test_a_corrupt_file(self, tmp_path):
        pd.DataFrame({"a": range(1000)}).to_parquet(tmp_path / "t.parquet")
        data = (tmp_path / "t.parquet").read_bytes()
        for broken in (data[:-20], b"PAR1" + b"\0" * 40 + b"PAR1", b"a,b\n1,2\n"):
            assert "not a whole parquet file" in message(write(tmp_path, broken, "t.parquet"))

    def test_no_rows_repeated_names_and_nested_cells(self, tmp_path):
        path = tmp_path / "t.parquet"
        pd.DataFrame({"a": []}).to_parquet(path)
        assert "no rows" in message(path)
        pq.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
        assert "both named 'a'" in message(path)
        pq.write_table(pa.table({"a": [[1, 2]], "b": [1]}), path)
        assert "column 'a'" in message(path)
        pq.write_table(pa.table({"a": [b"x"]}), path)
        assert "holds b'x' (row 1)" in message(path)


class TestDescribeColumns:
    def test_one_line_a_column(self, tmp_path):
        text = "text,age,wind,play\n" + "".join(f"the {row} cats sat on the mat,{row},weak,yes\n" for row in range(9))
        frame = read_table(write(tmp_path, text + "one last line about cats and mats,,strong,no\n"))
        table = describe_columns(frame, target="play").set_index("column")
        assert table["kind"].to_dict() == {"text": "text", "age": "number", "wind": "category", "play": "label"}
        assert table["missing"].to_dict() == {"text": 0, "age": 1, "wind": 0, "play": 0}
        assert table["distinct"].to_dict() == {"text": 10, "age": 9, "wind": 2, "play": 2}
        assert table.loc["age", "summary"] == "0 to 8"
        assert table.loc["wind", "summary"] == "weak 9, strong 1"
        assert table.loc["text", "summary"] == "the 0 cats sat on the mat"

    def test_words_in_a_column_of_numbers_are_pointed_out(self, tmp_path):
        path = write(tmp_path, "age,y\n1,a\n2,a\nold,b\n4,b\nx,a\n6,a\n7,b\n8,a\nold,b\n")
        (note,) = oddities(read_table(path), ["age", "y"])
        assert "column 'age' is read as categories because of 'old' (rows 3, 9), 'x' (row 5)" in note
        assert "leave those cells empty (missing={'age': ['old', 'x']})" in note
        assert "with kinds={'age': 'category'}" in note
        assert oddities(read_table(path, {"age": "category"}), ["age", "y"]) == []

    def test_levels_that_differ_in_case_alone_are_named(self):
        frame = pd.DataFrame({"unit": ["Sales", "sales", "HR", "Sales"], "y": list("aAbb")})
        notes = oddities(frame, ["unit"])
        said = "levels 'Sales' (2 rows) and 'sales' (1 row) of column 'unit' differ only in case; write them one way"
        assert notes == [f"{said} if they are one"]

    @pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%y", "%Y-%m-%dT%H:%M:%S"])
    def test_dates_that_repeat_are_named(self, form):
        days = pd.date_range("2025-01-01", periods=40).strftime(form)
        (note,) = oddities(pd.DataFrame({"day": [*days, *days]}), ["day"])
        assert note.startswith("column 'day' holds dates and is read as 40 categories, one for each date; derive")

    def test_few_dates_and_other_words_with_digits_get_no_note(self):
        for cells in (["2025-01-01", "2025-02-01"] * 20, [f"{i}-{i}-x" for i in range(30)] * 2):
            assert oddities(pd.DataFrame({"a": cells}), ["a"]) == []

    def test_a_column_without_values(self, tmp_path):
        frame = read_table(write(tmp_path, "x,y\n,a\n,b\n"))
        line = describe_columns(frame).iloc[0]
        assert (line["kind"], line["distinct"], line["summary"]) == ("number", 0, "no values")
        assert "no values at all" in oddities(frame, ["x"])[0]


class TestColumnKind:
    @pytest.mark.parametrize(
        ("cells", "kind"),
        [
            ([1, 2], "number"),
            ([0.5, None], "number"),
            ([True, False], "category"),
            ([True, None], "category"),
            (["a", None], "category"),
            ([None, None], "category"),
            (["a sentence of more than five words", "another sentence of seven words or so"], "text"),
            (["the same sentence of more than five words"] * 3, "category"),
        ],
    )
    def test_guesses(self, cells, kind):
        assert column_kind(pd.Series(cells)) == kind

    def test_a_categorical_is_never_text(self):
        sentences = pd.Series([f"sentence number {row} of this little list" for row in range(5)])
        assert column_kind(sentences) == "text"
        assert column_kind(sentences.astype("category")) == "category"
