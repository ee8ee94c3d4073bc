"""Files that would make a reader wait or fill the memory: refused by one sentence, before either happens."""

import gzip
import json
import os
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.effort import peak
from helpers.odd import odd_files

from bayesclf.constraints import SETTING
from bayesclf.errors import InputError, Refused
from bayesclf.tables import datasets
from bayesclf.tables.reading import read_table


def test_no_file_but_an_ordinary_one_is_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, said in odd_files(tmp_path).items():
        with pytest.raises(InputError, match=said):
            read_table(tmp_path / name)
        with pytest.raises(InputError, match=said):
            datasets.load(name, "class")
    os.mkfifo(tmp_path / "another.csv")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    assert "another" not in [info.name for info in datasets.available()]


def gzipped(path):
    path.write_bytes(gzip.compress(b"a,b\n") + gzip.compress(b"0" * 10**6) * 300)


def zipped(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("t.csv", b"0" * 10**8)


def words(path, use_dictionary=True):
    pq.write_table(pa.table({"a": ["x" * 100_000] * 500}), path, compression="zstd", use_dictionary=use_dictionary)


def plain_words(path):
    words(path, use_dictionary=False)


def rows(path):
    pq.write_table(pa.table({"a": [0] * 2_000_000}), path)


def keys(path):
    path.write_text("".join(json.dumps({f"k{line}": 1}) + "\n" for line in range(1500)))


BOMBS = {"t.csv.gz": gzipped, "t.csv.zip": zipped, "words.parquet": words, "plain.parquet": plain_words,
         "rows.parquet": rows, "t.jsonl": keys}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_of_large_tables_are_refused_before_the_memory_is_used(name, tmp_path, monkeypatch):
    path = tmp_path / name
    BOMBS[name](path)
    assert path.stat().st_size < 445_000
    monkeypatch.setenv(SETTING, "1e7")

    def read():
        with pytest.raises(Refused, match=rf"^.*raise the limit by the environment variable {SETTING}"):
            read_table(path)

    assert peak(read) < 4e7


def test_a_declared_size_is_not_believed(tmp_path, monkeypatch):
    packed = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 10**6))
    packed[-4:] = (9).to_bytes(4, "little")
    (tmp_path / "t.csv.gz").write_bytes(packed)
    monkeypatch.setenv(SETTING, "1e6")
    with pytest.raises(Refused, match=r"t\.csv\.gz, unpacked, would take"):
        read_table(tmp_path / "t.csv.gz")


def test_blank_lines_take_no_memory_of_their_own(tmp_path):
    text = "a,b\n1,2\n" + "\n" * 10**5
    (tmp_path / "t.csv").write_text(text)
    assert peak(read_table, tmp_path / "t.csv") < 12 * len(text)
    (tmp_path / "t.csv").write_bytes(b'\n\na,b\n\n"x\n\ny",1\r\n\r\n\nz,2\n\n')
    assert read_table(tmp_path / "t.csv").to_numpy().tolist() == [["x\n\ny", 1], ["z", 2]]
