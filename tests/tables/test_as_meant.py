"""Files as people keep them, read as their owners mean them, in memory and batch by batch; what was done is said."""

import zipfile

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf import datasets
from bayesclf.errors import InputError, PredictionWarning
from bayesclf.interpretation.predictions import as_read
from bayesclf.tables.columns import column_kind
from bayesclf.tables.options import Wish, named_for, wish_of
from bayesclf.tables.reading import open_stream, read_table
from bayesclf.tables.remarks import about_columns

LABELS = ["yes", "no", "no"]


def rows(line, first="", size=40):
    return first + "".join(line.format(i=i, j=i % 7, k=i % 4, y=LABELS[i % 3]) + "\n" for i in range(size))


def with_code(code, line="{x},{y}\n"):
    cells = [code if i in (3, 9) else f"{20 + 1.37 * i:g}" for i in range(40)]
    return "fee,cls\n" + "".join(line.format(x=cell, y=LABELS[i % 3]) for i, cell in enumerate(cells))


def file(text, note="", kinds="a: number", gaps=0):
    return text, dict(kind.split(": ") for kind in kinds.split(", ")), gaps, note


CASES = {
    "blank": file(with_code(" "), "column 'fee': blanks (2 cells) taken for missing", "fee: number", gaps=2),
    "na": file(with_code("NA"), "column 'fee': 'NA' (2 cells) taken for missing", "fee: number", gaps=2),
    "tab and ?": file(with_code("\t?"), "'?' (2 cells) taken for missing (kinds={'fee':", "fee: number", gaps=2),
    "names like the first bytes of Parquet": file(
        rows("{j},{k},{y}", "PAR1,PAR2,cls\n"), "", "PAR1: number, PAR2: number"
    ),
    "tabs within cells": file(rows("{y}\tx,{j},{y}", "na\tme,a,cls\n"), "", "na\tme: category, a: number"),
    "percent": file(rows("{j}.5%,{y}", "a,cls\n"), "column 'a' is read as numbers, without '%'"),
    "unit": file(rows("5{j} kg,{y}", "a,cls\n"), "without 'kg' (kinds={'a': 'category'}"),
    "currency": file(rows('"$1,{j}37.00",{y}', "a,cls\n"), "without '$' and without the marks"),
    "currency in some cells": file(
        rows("{j},{y}", "a,cls\n").replace("\n3,", "\n$3,"), "column 'a' is read as numbers, without '$'"
    ),
    "percent in some cells": file(
        rows("{j},{y}", "a,cls\n").replace("\n3,", "\n3%,"),
        "'a' has numbers without a sign (34 cells) and with '%' (6 cells) and is",
        "a: category",
    ),
    "codes of a currency in some cells": file(
        rows("{j},{y}", "a,cls\n").replace("\n3,", "\nUSD 3,"), "column 'a' is read as numbers, without 'USD'"
    ),
    "levels of letters and digits": file(rows("EUR{k},TRY{j},{y}", "a,b,cls\n"), "", "a: category, b: category"),
    "no answers": file(
        rows("{j},{k},{y}", "a,b,cls\n")
        .replace("\n3,", "\nDon't know,")
        .replace(",2,", ",k.A.,")
        .replace("\n1,", "\nx,"),
        "column 'a': \"Don't know\" (6 cells) among words is a level",
        "a: category, b: number",
        gaps=10,
    ),
    "answers from 1 to 5": file(
        rows("1,{y}", "a,cls\n", 10) + "".join(f"{a},no\n" for a in [2, 3, 4, 5, 8, 9] * 5),
        "column 'a' is 8 or 9 in 10 cells, far from",
    ),
    "no thousands of India": file(rows('"1,234,56,78{k}",{y}', "a,cls\n"), "", "a: category"),
    "versions with powers": file(rows("1.2.{k}E5,{y}", "a,cls\n"), "", "a: category"),
    "ticks of 1": file(
        rows("{k},{j},{y}", "a,b,cls\n").replace("\n2,", "\n,").replace("\n3,", "\n,").replace("\n0,", "\n,"),
        "column 'a' is '1' in 10 cells",
        "a: number, b: number",
        gaps=30,
    ),
    "a sum below where the first cell says nothing": file(
        rows("{j},{k},{y}", "a,b,cls\n") + "5,Total,no\n",
        "leave the last line out (skip_rows=…) if it is a sum, or",
        "a: number, b: category",
    ),
    "codes of a currency": file(rows("CHF 1'13{j}.50,{y}", "a,cls\n"), "without 'CHF' and without"),
    "thousands of India": file(rows('"1,13,{j}37",{y}', "a,cls\n"), "without the marks between"),
    "powers with a comma": file(rows("1,{j}E+02;{y}", "a;cls\n"), "with a decimal comma"),
    "errors of a spreadsheet": file(
        with_code("#DIV/0!"), "'#DIV/0!' (2 cells) taken for missing", "fee: number", gaps=2
    ),
    "ticks": file(
        rows("{j},{k},{y}", "a,b,cls\n")
        .replace(",3,", ",x,")
        .replace(",2,", ",,")
        .replace(",1,", ",,")
        .replace(",0,", ",,"),
        "column 'b' is 'x' in 10 cells and empty in the others; an empty",
        "a: number, b: category",
        gaps=30,
    ),
    "rows drawn by pandas": file(
        "".join(f"{i * 7 % 41},{i % 5},{LABELS[i % 3]}\n" for i in range(-1, 40)).replace("34,4,no", ",a,cls", 1),
        "the column without a name at place 1 numbers or names the rows and is left out",
    ),
    "rows drawn by R": file(
        "a,cls\n" + "".join(f'"{i * 7 % 41}",{i % 5}.5,{LABELS[i % 3]}\n' for i in range(40)),
        "the column without a name at place 1 numbers or names the rows and is left out",
    ),
    "accounting": file(
        rows("{k}.5,{y}", "a,cls\n").replace("\n3.5", "\n($3.50)"),
        "without '$' and those in parentheses as negative ones (kinds={'a': 'category'} keeps",
    ),
    "a minus sign behind": file(
        rows("{k}.50,{y}", "a,cls\n").replace("\n3.50", "\n3.50-"),
        "is read as numbers, those that end in a minus sign as negative ones",
    ),
    "numbers in parentheses alone": file(rows("({k}),{y}", "a,cls\n"), "", "a: category"),
    "two numbers in a cell": file(
        rows("12{j}/8{k},{y}", "a,cls\n"),
        "column 'a' has pairs of numbers such as 120/80 and is read as categories; write",
        "a: category",
    ),
    "bounds": file(
        rows("{k}.5,{y}", "a,cls\n").replace("\n0.5", "\n<1.0"),
        "write a number for each bound, such as 0.5 for '<1.0', to read the column as numbers",
        "a: category",
    ),
    "bounds and words": file(
        rows("{k}.5,{y}", "a,cls\n").replace("\n0.5", "\n<1.0", 1).replace("\n1.5", "\nn.d.", 2),
        "for '<1.0', and leave the other cells empty (missing={'a': ['n.d.']}) to read",
        "a: category",
    ),
    "a word": file(rows("{j},{y}", "a,cls\n").replace("\n3,", "\nold,"), "because of 'old' (rows 4,", "a: category"),
    "a code in most cells": file(
        rows("999,{y}", "a,cls\n", 300) + rows("{i}.5,{y}"),
        "column 'a' is 999 in 300 cells, far from the nearest other value (39.5); if that means",
    ),
    "several codes": file(
        rows("{k},{y}", "a,cls\n") + rows("88,{y}", size=3) + rows("99,{y}", size=3),
        "column 'a' is 88 or 99 in 6 cells, far from the nearest other value (3); if that means",
    ),
    "a sum below words": file(
        rows("r{k},{j},{y}", "r,a,cls\n") + "Total,99,no\n",
        "the last row (line 42) begins with 'Total', like a line about all rows",
        "r: category, a: number",
    ),
    "a level that is also a sum's word": file(
        rows("{y},{j},{y}", "r,a,cls\n").replace("\nyes,", "\naverage,"), "", "r: category, a: number"
    ),
    "percent in parentheses": file(
        rows("({j}.5)%,{y}", "a,cls\n").replace("(0.5)%", "1.5%"),
        "without '%' and those in parentheses as negative ones (kinds=",
    ),
    "two currencies": file(
        rows("${j},{y}", "a,cls\n").replace("\n$3,", "\n€3,", 1),
        "'a' has numbers with '$' (39 cells) and with '€' (1 cell) and is read as categories",
        "a: category",
    ),
    "semicolon": file(rows("{j};{k};{y}", "a;b;cls\n"), "the separator is ';'", "a: number, b: number"),
    "sep=": file(rows("{j}|{k}|{y}", "sep=|\na|b|cls\n"), "", "a: number, b: number"),
    "blanks between": file(rows("{j}  {k} {y}", "a b cls\n"), "the separator is blanks", "a: number, b: number"),
    "decimal comma": file(
        rows("{j},5;1.13{k},25;{y}", "a;b;cls\n"),
        "'b' is read as numbers, with a decimal comma",
        "a: number, b: number",
    ),
    "thousands beside points": file(
        rows("{j}.5;1,13{k};{y}", "a;b;cls\n"),
        "'b' is read as numbers, without the marks between thousands",
        "a: number, b: number",
    ),
    "ISO thousands": file(rows("1 13{j},{y}", "a,cls\n"), "without the marks between thousands"),
    "cp1252": file(rows("Köln {k},{y}", "a,cls\n"), "the text is cp1252", "a: category"),
    "blanks before quotes": file(
        rows('{j}, "x, {k}", {y}', '"a", b, cls\n'),
        "the blanks before cells in quotes are left out",
        "a: number, b: category",
    ),
    "index": file(rows("{i},{j},{y}", ",a,cls\n"), "numbers or names the rows and is left out"),
    "trail": file(
        rows("{j},{k},{y},", "a,b,cls,\n"), "the column without a name at place 4 is empty", "a: number, b: number"
    ),
    "trail of rows": file(
        rows("{j},{k},{y},", "a,b,cls\n"), "the column without a name at place 4 is empty", "a: number, b: number"
    ),
    "row names of R": file(rows('"{i}",{j},{y}', '"a","cls"\n'), "place 1 numbers or names the rows"),
    "id": file(rows("1{i:03d},{j},{y}", "id,a,cls\n"), "column 'id' numbers the rows and is left out"),
    "blanks in names of rows": file(
        rows('"row {i}" {j} "{y}"', '"a" "cls"\n'), "the column without a name at place 1 numbers or names the rows"
    ),
    "padded ids": file(
        rows("00{i:03d},{j},{y}", "PassengerId,a,cls\n"),
        "column 'PassengerId' has a different value in almost every row and is left out",
    ),
    "rows of few patients": file(
        "patient_id,clinic_id,a,cls\n" + "".join(f"p{i // 3},{i % 4},{i % 7},{LABELS[i % 3]}\n" for i in range(40)),
        "'patient_id' is an identifier with fewer than 5 rows for each",
        "clinic_id: number, a: number",
    ),
    "names": file(rows("w{i},{j},{y}", "who,a,cls\n"), "'who' has a different value in almost every row"),
    "times": file(rows("{i}:{j:02d},{j},{y}", "at,a,cls\n"), "column 'at' holds times and is left"),
    "durations": file(rows("{j}m {i}s,{j},{y}", "at,a,cls\n"), "column 'at' holds times and is left"),
    "few times": file(rows("1{j}:00,{j},{y}", "at,a,cls\n"), "one for each time; derive", "at: category, a: number"),
    "parts, no months and no times": file(
        rows("10{j}{k}-1{j},{j}M{k},{j},{y}", "part,screw,a,cls\n"), "", "part: category, screw: category, a: number"
    ),
    "laps": file(rows("1:2{j}.5,{j},{y}", "at,a,cls\n"), "one for each time; derive", "at: category, a: number"),
    "weeks": file(rows("2020 W1{k},{j},{y}", "at,a,cls\n"), "one for each date;", "at: category, a: number"),
    "places on Earth": file(rows("5{j}.5° N,{y}", "a,cls\n"), "read as numbers, without '° N'"),
    "dashes": file(with_code("—"), "column 'fee': '—' (2 cells) taken for missing", "fee: number", gaps=2),
    "Markdown": file(
        rows("| {j} | {k} | {y} |", "| a | b | cls |\n|---|---:|---|\n"),
        "the separator is '|' (separator=… says another one) | the column without a name at place 1",
        "a: number, b: number",
    ),
    "commas between tabs": file(
        rows("{j}\tw{k}, w\t{y}", "a\tb,2\tcls\n"), "the separator is a tab", "a: number, b,2: category"
    ),
    "months": file(rows("Jan 19{i:02d},{j},{y}", "at,a,cls\n"), "column 'at' holds dates and is left"),
    "days": file(rows("{i}. März 2020,{j},{y}", "at,a,cls\n"), "column 'at' holds dates and is left"),
    "dates": file(rows("5-Jan-{i:02d},{j},{y}", "day,a,cls\n"), "column 'day' holds dates and is left"),
    "constant": file(rows("kg,{j},{y}", "unit,a,cls\n"), "column 'unit' has one value only and is left"),
    "text beside": file(
        rows("please send the red boxes number {i} today to us,{j},{y}", "t,a,cls\n"),
        "'t' holds free text and is left out (keep=['t'] keeps it; bc.TextNB fits a text model to 't' alone)",
    ),
    "only text": file(rows("please send the red boxes number {i} today to us,{y}", "t,cls\n"), "", "t: text"),
    "padded": file(rows("0010{k},{y}", "a,cls\n"), "column 'a' has digits padded with zeros", "a: category"),
    "codes among words": file(
        rows("{j},{y}", "a,cls\n").replace("\n3,", "\nNA,").replace("\n1,", "\none,"),
        "'NA' (6 cells) among words is a level (missing={'a': ['NA']} empties it)",
        "a: category",
    ),
    "codes and blanks among words": file(
        rows("w{k},{j},{y}", "a,b,cls\n").replace("\nw3,", "\n?,").replace("\nw2,", "\nNA,").replace("\nw1,", "\n ,"),
        "'NA' (10 cells), '?' (10 cells) among words are levels (missing={'a':",
        "a: category, b: number",
        gaps=10,
    ),
    "a sum below": file(
        rows("{j},{k},{y}", "a,b,cls\n") + "Total,,no\n",
        "begins with 'Total', like a line about all rows; skip_rows=[42] leaves",
        "a: category, b: number",
        gaps=1,
    ),
    "comments": file(
        rows("{j},{k},{y}", "# made by hand\na,b,cls\n"),
        "lines that begin with '#' are left out",
        "a: number, b: number",
    ),
    "a comment's mark in a cell of three lines": file(
        rows("{j},{y}", "a,cls\n") + '"7\n%\n8",no\n', "'7\\n%\\n8'", "a: category"
    ),
    "feet and inches": file(rows('"5\'10{k}""",{y}', "a,cls\n"), "", "a: category"),
    "lines in quotes": file(
        rows('"{j},{k},{y}"', '"a,b,cls"\n'), "the quotes around each line are left out", "a: number, b: number"
    ),
    "labels": file(rows("{j},{y}", "a,cls\n").replace("no\n", "NO\n", 1), "label 'NO' (1 row) is taken"),
    "blanks of labels": file(rows("{j},{y}", "a,cls\n").replace("no\n", "no \n", 2), "blanks around 2"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_what_its_owner_means(case, tmp_path):
    text, kinds, gaps, note = CASES[case]
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="cp1252")
    found = datasets.read(path, "cls")
    assert list(found.X.columns) == list(kinds)
    assert {name: column_kind(found.X[name]) for name in found.X} == kinds
    assert found.X.isna().to_numpy().sum() == gaps
    assert sorted(set(found.y)) == ["no", "yes"]
    assert note in " | ".join(found.notes)
    if "accounting" in case:
        assert found.X["a"].tolist()[:4] == [0.5, 1.5, 2.5, -3.5]
    assert bool(found.notes) == bool(note)


@pytest.mark.parametrize("case", CASES)
def test_batches_are_read_in_the_same_way(case, tmp_path):
    text, kinds, _, _ = CASES[case]
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="cp1252")
    found = datasets.read(path, "cls", labels_as_written=True)
    (batch,) = open_stream(path, Wish(labels_as_written=True, target="cls")).batches()
    expected = found.frame
    words = [name for name in expected if expected[name].dtype.kind not in "iuf"]
    pd.testing.assert_frame_equal(
        batch.table.astype(dict.fromkeys(words, object)),
        expected.astype(dict.fromkeys(words, object)),
        check_dtype=False,
    )
    if list(kinds.values()) == ["text"]:
        return
    with named_for("command"):
        clf = bc.NaiveBayes(random_state=0).fit_stream(path, "cls")
        told = datasets.read(path, "cls").notes
    assert clf.notes_[: len(told)] == list(told)
    assert [column.name for column in clf.columns_] == list(kinds)
    assert bc.NaiveBayes(random_state=0).fit(found.X, found.y).notes_[: len(found.notes)] == list(found.notes)


def test_a_model_reads_further_files_as_its_own(tmp_path):
    path, other, answers = tmp_path / "t.csv", tmp_path / "o.csv", tmp_path / "a.csv"
    path.write_text(rows("{j},{k};{i}1,5 $;{k};{y}", "a;price;dose;cls\n"))
    found = datasets.read(path, "cls", missing={"dose": [3]})
    in_memory = bc.NaiveBayes(inference="map").fit(found.X, found.y)
    streamed = bc.NaiveBayes(inference="map").fit_stream(path, "cls", reading={"missing": {"dose": [3]}})
    in_memory.save(tmp_path / "m.nc")
    everywhere = datasets.read(path, "cls", missing=[3])
    assert bc.NaiveBayes(inference="map").fit(everywhere.X, everywhere.y).reading_["missing"] == {None: ["3"]}
    other.write_text("a;price;dose\n1,125;1,5 €;3\n")
    told = []
    for clf in (in_memory, streamed, bc.load(tmp_path / "m.nc")):
        with pytest.warns(PredictionWarning, match=r"'price' has '€' where the training rows have '\$'"):
            clf.predict_stream(other, answers, copy=["dose"])
        told.append(answers.read_text())
    expected = in_memory.predict_proba(pd.DataFrame({"a": [1.125], "price": [1.5], "dose": [np.nan]}))
    assert told[0] == told[1] == told[2]
    np.testing.assert_allclose([float(cell) for cell in told[0].split(",")[-2:]], expected[0], atol=1e-9)
    with pytest.warns(PredictionWarning, match="'€' where"):
        in_memory.predict(datasets.read(other, decimal=",").X)
    other.write_text("a,price,dose\n1,2,3\n")
    with pytest.raises(InputError, match=r"where unknown, or give another separator than reading={'separator': ';'}"):
        in_memory.predict_stream(other, answers, reading={"separator": ";"})


def read_as(clf, path, text, **reading):
    """Return the columns of a further file as its model reads them."""
    path.write_text(text, encoding="utf-8")
    how = as_read(clf, reading)
    return next(open_stream(path, wish_of(how)).batches()).table


def test_each_file_tells_its_own_encoding_and_separator(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(rows("{j};né{k};{y}", "a;b;cls\n").encode("cp1252"))
    how = {"encoding": "cp1252", "separator": ";"}
    found = datasets.read(path, "cls", **how)
    for clf in (
        bc.NaiveBayes(inference="map").fit(found.X, found.y),
        bc.NaiveBayes(inference="map").fit_stream(path, "cls", reading=how),
    ):
        assert read_as(clf, tmp_path / "o.csv", "a,b\n1,né1\n2,né2\n")["b"].tolist() == ["né1", "né2"]


def test_the_decimal_mark_of_a_model_decides_only_where_all_numbers_of_a_file_fit_both(tmp_path, monkeypatch):
    monkeypatch.setattr("bayesclf.tables.reading._of_excel", lambda data, *_: (data, "s", []))
    path = tmp_path / "t.csv"
    path.write_text(rows("{i},5;{k},25;{y}", "w;h;cls\n"))
    other = tmp_path / "o.csv"
    for how in ({}, {"decimal": ","}):
        found = datasets.read(path, "cls", **how)
        clf = bc.NaiveBayes(inference="map").fit(found.X, found.y)
        assert read_as(clf, other, "w,h\n1.250,4.5\n2.750,5.1\n")["w"].tolist() == [1.25, 2.75]
        assert read_as(clf, other, "w;h\n1.250;4,5\n2.750;5,1\n")["w"].tolist() == [1250, 2750]
        assert read_as(clf, other, "w,h\n1.250,4\n2.750,5\n")["w"].tolist() == [1250, 2750]
        assert read_as(clf, other, "w,h\n1.250,4\n2.750,5\n", decimal=".")["w"].tolist() == [1.25, 2.75]
        assert read_as(clf, tmp_path / "o.xlsx", "w,h\n1.125,4\n2.375,5\n")["w"].tolist() == [1.125, 2.375]


def test_quantities_are_no_labels_from_any_door(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(rows("{j},{i}.5", "a,size\n"))
    with pytest.raises(InputError, match=r"this is a quantity, not a class; make classes with classes=\[20.0\]"):
        datasets.read(path, "size")
    counts = datasets.read(path, "size", classes=[10, 30]).y.value_counts().to_dict()
    assert counts == {"10 to 30": 20, "below 10": 10, "from 30": 10}
    with pytest.raises(InputError, match=r"make classes with reading={'classes': \[20.0\]}"):
        bc.NaiveBayes().fit_stream(path, "size")
    clf = bc.NaiveBayes(inference="map").fit_stream(path, "size", reading={"classes": [20.0]})
    assert dict(zip(clf.classes_, clf.class_count_, strict=True)) == {"below 20": 20, "from 20": 20}
    path.write_text(rows("{j},{i}", "a,size\n") + rows("{j},{i}"))  # more numbers than classes, unless they are named
    assert len(bc.NaiveBayes(inference="map").fit_stream(path, "size", classes=range(40)).classes_) == 40


def test_what_is_said_undoes_what_was_done(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(rows("{i},{j}.5%,0010{k},{y}", "id,a,b,cls\n"))
    found = datasets.read(path, "cls", {"a": "category", "b": "number"}, keep=["id"])
    assert found.notes == ()
    (tmp_path / "texts.csv").write_text(CASES["text beside"][0])
    kept = datasets.read(tmp_path / "texts.csv", "cls", keep=["t"])
    assert kept.notes == ("column 't' holds free text and is kept as 40 categories",)
    assert list(found.X.columns) == ["id", "a", "b"]
    assert found.X["a"].tolist()[:2] == ["0.5%", "1.5%"]
    assert found.X["b"].tolist()[:2] == [100, 101]
    other = datasets.read(path, "4", header=False, separator=",", missing=["id", 3])
    assert other.target == "c4"
    assert len(other.frame) == 41
    path.write_text(rows("{j},{y}", "a,cls\n").replace("no\n", "NO \n", 1))
    assert sorted(set(datasets.read(path, "last", labels_as_written=True).y)) == ["NO ", "no", "yes"]


def test_each_column_has_one_note_and_labels_need_not_be_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(rows("1{i}/8{k},{j},{y}", "a,b,cls\n").replace("yes", "1/2").replace("no", "2/3"))
    (note,) = datasets.read(path, "cls").notes
    assert note.startswith(
        "column 'a' has pairs of numbers such as 120/80 (write them into two columns) and is left out"
    )
    assert bc.NaiveBayes(inference="map").fit_stream(path, "cls").notes_[0].partition(" (")[0] in note
    path.write_text(rows("{j},{k},{y}", "a,b,cls\n") + "Total,Total,no\n")
    (note,) = datasets.read(path, "cls").notes
    assert note.startswith("the last row (line 42) begins with 'Total'")


def test_the_sheet_of_excel_with_the_label_column_is_read_and_others_are_told_of(tmp_path, monkeypatch):
    class Book:
        def __init__(self, *_, **__):
            self.sheets = {
                "info": [["read me", "of"], ["cls", "x"]],
                "data": [["a", "cls"], ["1.5", "yes"]],
                "old": [["a", "cls"]],
            }

        __enter__, __exit__ = lambda self: self, lambda *_: None

        def parse(self, *_, **__):
            return {name: pd.DataFrame(cells) for name, cells in self.sheets.items()}

    monkeypatch.setattr(pd, "ExcelFile", Book)
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("xl/workbook.xml", "")
    found = datasets.read(path, "cls")
    assert found.X["a"].tolist() == [1.5]
    assert found.notes[0] == "the sheet 'data' is read, and not 'old', 'info'; save another one as csv"
    clf = bc.NaiveBayes(inference="map")
    for read in (datasets.read, clf.fit_stream):
        with pytest.raises(InputError, match=r"sheet 'info' is read, and not 'data', 'old'\) has no column 'class'"):
            read(path, "class")


def test_notes_name_the_option_of_who_reads_the_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(rows("{i},{j}.5%,{y}", "id,a,cls\n"))
    clf = bc.NaiveBayes(inference="map").fit_stream(path, "cls")
    assert "(reading={'keep': ['id']} keeps it)" in clf.notes_[0]
    clf = bc.NaiveBayes(inference="map").fit_stream(path, "cls", reading={"keep": ["id"]}, kinds={"a": "category"})
    assert [column.name for column in clf.columns_] == ["id", "a"]
    assert "(keep=['id'] keeps it)" in datasets.read(path, "cls").notes[0]
    path.write_text(rows("{j}.5%,{y}", "a,cls\n") + "kg,no\n")
    with pytest.raises(InputError, match="'a' should be a number but contains 'kg' in row 41;"):
        datasets.read(path, "cls", {"a": "number"})


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            rows("{j},{k},{y}", "a,b,cls\nkg,cm,word\n"),
            {},
            "line 2 has 'kg', 'cm' where the rows below it have numbers",
        ),
        (
            rows("{j},{k},{y}", "Body,,Answer\na,b,cls\n"),
            {},
            "where the rows below it have numbers, like a second row of names; leave line 1 out with skip_rows=[1]",
        ),
        (
            rows("{j},{k},{y}", "a,b,cls\nkg,cm,\n").replace("3,", "n.d.,"),
            {},
            "line 2 has 'kg', 'cm' where the rows below it have numbers",
        ),
        (rows("{i},{j},{k},{y}", ",a,b,cls\nunit,kg,cm,word\n"), {}, "leave line 2 out with skip_rows=[2]"),
        (rows("{j},{k},{y}", "body,,cls\na,b,\n"), {}, "names; write the name of each column into one line"),
        (rows("{j},{k},{y}", "Weights, 2020\n\na,b,cls\n"), {}, "line 1 has 2 cells, each row below it 3; name"),
        (
            rows("{j};{k};{y}", "Weights\nby hand\na;b;cls\n"),
            {},
            "which may be a title; leave it out with skip_rows=[1, 2]",
        ),
        (rows("{j},{k},{y}", "Weights,,\n,,\na,b,cls\n"), {}, "only 'Weights', which may be a title"),
        (rows("{j},{k},{y}", "a,b,cls\n") + "Total,40\n", {}, "or leave line 42 out with skip_rows=[42]"),
        (rows("{j};{k};{y}", "a;b;cls\n") + "\nBy us\n2020\n", {}, "or leave lines 43, 44 out with skip_rows=[43, 44]"),
        (rows("{j},{y}", "a,cls\n"), {"keep": ["id"]}, "has no column 'id'"),
        ("\n<!DOCTYPE html>\n", {}, "t.csv is a web page; download the file itself"),
        ("+1 qid:2 1:0.5 7:-3\n", {}, "in the format of svmlight; sklearn.datasets.load_svmlight_file reads"),
        ("+---+---+\n| a | y |\n+---+---+\n", {}, "a table drawn with lines; export it as csv"),
        ("PK\x03\x04\x14\x00", {}, "t.csv is an Excel file or an archive; end its name in .xlsx or .zip"),
        (rows("{j},{i}.5", "a,cls\n"), {"classes": [30, 10]}, "must rise"),
        (rows("{i},{y}", "id,cls\n"), {}, "no column is left, as 'id' numbers the rows; keep=['id']"),
        (rows("{j},{y}", "a,cls\n"), {"encoding": "utf-17"}, "the encoding 'utf-17' is not known"),
        (rows("{j},{y}", "a,cls\n"), {"separator": ";;"}, "the separator must be one character"),
        (rows("{j},{y}", "a,cls\n"), {"seperator": ";"}, "no option 'seperator' (did you mean 'separator'?)"),
        (rows("{j},{y}", "a,cls\n"), {"missing": ["NA"]}, "no cell is NA, the value given as missing"),
        (rows("{j},{y}", "a,cls\n"), {"decimal": "'"}, "the decimal mark must be '.' or ','"),
        (rows("{j},{y}", "a,cls\n"), {"skip_rows": [0]}, "lines are counted from 1"),
    ],
)
def test_what_cannot_be_read_is_said_with_what_to_do(text, options, said, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        datasets.read(path, "cls", **options)
    assert said in str(refused.value)


def test_times_after_a_number_are_no_svmlight(tmp_path):
    (tmp_path / "t.csv").write_text("20240101 12:00:00,0.5,a\n20240102 12:00:00,0.7,b\n" * 20)
    assert read_table(tmp_path / "t.csv", header=False).shape == (40, 3)


def test_numbers_that_cannot_be_decided_stay_words(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;cls\n" + "1,5;1.137;x\n2.5;2.250;y\n" * 20)
    found = datasets.read(path, "cls")
    assert found.X.dtypes.astype(str).tolist() == ["str", "float64"]
    path.write_text("a;b;cls\n" + "1,5;1.137;x\n2,5;2.250;y\n" * 20)
    np.testing.assert_array_equal(datasets.read(path, "cls").X[:2], [[1.5, 1137], [2.5, 2250]])


def test_words_of_declared_numbers_must_each_tell_their_number(tmp_path):
    path, clf, declared = tmp_path / "t.parquet", bc.GaussianNB(inference="map"), {"kinds": {"x": "number"}}
    parts = [pd.DataFrame({"x": words, "y": ["a", "b"]}) for words in (["2,399", "2,401"], ["2,4", "2,5"])]
    with pytest.raises(InputError, match=r"'2,399', '2,401' in rows 1, 2; write .* or save the table as \.csv"):
        clf.fit_stream(parts, "y", **declared)
    pd.concat(parts).to_csv(tmp_path / "t.csv", index=False)
    assert datasets.read(tmp_path / "t.csv", "y").X["x"].tolist() == [2.399, 2.401, 2.4, 2.5]
    with pytest.raises(InputError, match="table 2 of the iterable: column 'x' should be a number but contains '5 g'"):
        clf.fit_stream([parts[0].assign(x=["1 kg", "2 kg"]), parts[0].assign(x=["5 g", "6 g"])], "y", **declared)
    parts[0].assign(x=["$1,399.50", "$2.5"]).to_parquet(path)
    clf.fit_stream(path, "y", **declared)
    for words in (["1,500", "2"], ["€1.5", "€2"]):
        parts[0].assign(x=words).to_parquet(path)
        with pytest.raises(InputError, match=f"should be a number but contains '{words[0]}'"):
            clf.predict_stream(path, tmp_path / "p.csv")


@pytest.mark.parametrize("sign", ";|\t")
def test_a_cell_that_is_alone_in_a_first_line_may_be_a_name_or_a_row(sign, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"review\nI liked it\nplot {sign} fine\nplot {sign} bad\n")
    assert read_table(path).shape == (3, 1)
    path.write_text(f"alpha{sign}\nbeta{sign}x\ngamma{sign}y\n")
    assert read_table(path, header=False, separator=sign).shape == (3, 2)


def test_a_comparison_and_its_report_say_first_what_was_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(rows("{i},{j}.5%,{y}", "id,a,cls\n"))
    found = datasets.read(path, "cls")
    comparison = bc.compare([bc.GaussianNB(inference="map")], found.X, found.y, ["map"], cv=2)
    assert comparison.read == found.notes
    assert not any("'a'" in note for notes in comparison.notes.values() for note in notes)
    comparison.report(tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    section = text.partition("What not to trust here")[2].partition("\n#")[0]
    assert "Column 'id' numbers the rows and is left out" in section


def test_a_table_in_memory_is_fitted_as_it_is_and_its_odd_columns_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr("bayesclf.tables.remarks.LOOKED_AT", 30)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(60)],
            "when": pd.date_range("2020-01-01", periods=60).astype(str),
            "first": [*range(30), *range(30)],
            "price": [f"${price:,.2f}" for price in rng.uniform(-50, 5000, 60)],
            "x": rng.normal(size=60),
        }
    )
    clf = bc.NaiveBayes(inference="map").fit(X, LABELS * 20)
    comparison = bc.compare([bc.NaiveBayes(inference="map")], X, LABELS * 20, ["map"], cv=2)
    told = tuple(note for note in clf.notes_ if "X" in note)
    assert comparison.read == told
    assert all(sentence[:40] in repr(comparison) for sentence in told)
    assert not any("X.drop" in note for notes in comparison.notes.values() for note in notes)
    assert (
        "'id' has a different value in almost every row, column 'when' holds dates; X.drop(columns=['id', 'when'])"
        in (told[0])
    )
    assert "column 'price' holds numbers as words; " in told[1]
    command = told[1].partition("; ")[2].removesuffix(" reads them")
    mended = X.drop(columns=["id", "when"]).assign(price=eval(command))
    assert mended["price"].dtype == float
    amounts = pd.DataFrame({"a": X["price"], "y": LABELS * 20})
    amounts.to_parquet(tmp_path / "t.parquet")
    assert "'a' holds numbers as words; kinds={'a': 'number'}" in datasets.read(tmp_path / "t.parquet", "y").notes[0]
    read = datasets.read(tmp_path / "t.parquet", "y", {"a": "number"}).X["a"]
    np.testing.assert_array_equal(read, mended["price"])
    bracketed = X[["price"]].replace("^[$]-(.*)", r"($\1)", regex=True)
    (said,) = about_columns(bracketed)
    np.testing.assert_array_equal(
        eval(said.partition("; ")[2].removesuffix(" reads them"), {"X": bracketed}), mended["price"]
    )
    assert not any("X" in note for note in bc.NaiveBayes(inference="map").fit(mended, LABELS * 20).notes_)
    for form, size in {"−{}.25": -7.25, "${}.5e2": 750.0, "{}.5E-1 kg": 0.75}.items():
        powers = pd.DataFrame({"a": [form.format(place) for place in range(30)]})
        (said,) = about_columns(powers, named=False)
        assert eval(said.partition("; ")[2].removesuffix(" reads them"), {"X": powers})[7] == size


def test_a_level_that_only_case_or_blanks_set_apart_is_warned_of():
    X = pd.DataFrame({"smoker": ["yes", "no"] * 10})
    for clf in (bc.NaiveBayes(inference="map"), bc.LogisticRegression(inference="map")):
        clf.fit(X, ["a", "b"] * 10)
        with pytest.warns(PredictionWarning, match="'smoker' has ' Yes', .* did you mean 'yes'"):
            clf.predict(pd.DataFrame({"smoker": ["no", " Yes"]}))
        clf.predict(pd.DataFrame({"smoker": ["no", "never", None]}))
        clf.fit(pd.DataFrame({"smoker": [True, False] * 10}), ["a", "b"] * 10)
        with pytest.warns(PredictionWarning, match="'smoker' has 'tRue', .* did you mean True"):
            clf.predict(pd.DataFrame({"smoker": ["tRue"]}))


def test_bounds_of_classes_hold_for_a_label_column_by_its_place(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,bmi\n" + "".join(f"{i % 7},{i}.5\n" for i in range(40)))
    clf = bc.NaiveBayes(inference="map").fit_stream(path, "last", reading={"classes": [20]})
    assert clf.classes_.tolist() == ["below 20", "from 20"]
