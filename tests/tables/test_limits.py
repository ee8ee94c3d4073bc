"""Files that would make a reader wait or fill the memory: refused by one sentence, before either happens."""

import gzip
import json
import os
import tracemalloc

import pandas as pd
import pytest
from helpers.odd_files import odd_files

from bayesclf.errors import InputError
from bayesclf.tables import datasets, kinds
from bayesclf.tables.reading import read_table

GOOD = "a,b,class\n" + "1.5,x,p\n2.5,y,q\n" * 6
MEGABYTE = 2**20


def refusal(path, **options):
    with pytest.raises(InputError) as refused:
        read_table(path, **options)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def peak(call):
    """Return the most memory in bytes that a call takes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class TestOrdinaryFiles:
    def test_no_other_file_is_opened(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name, said in odd_files(tmp_path).items():
            assert said in refusal(tmp_path / name), name
            with pytest.raises(InputError, match=said):
                datasets.load(name, "class")

    def test_a_pipe_in_the_folder_of_tables_is_not_one_of_them(self, tmp_path, monkeypatch):
        os.mkfifo(tmp_path / "pipe.csv")
        monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
        assert "pipe" not in [info.name for info in datasets.available()]


@pytest.fixture
def bomb(tmp_path):
    """Return a gzip file of about 300 KB that holds 315 MB: many parts, each a megabyte of zeros."""
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n") + gzip.compress(b"0" * MEGABYTE) * 300)
    assert path.stat().st_size < 445_000
    return path


class TestPackedFiles:
    def test_a_bomb_is_refused_before_the_memory_is_used(self, bomb):
        said = []
        assert peak(lambda: said.append(refusal(bomb))) < 10 * MEGABYTE
        assert "holds more than 268,435,456 bytes" in said[0]
        assert "--max-bytes (max_bytes=…)" in said[0]

    def test_what_is_allowed_is_read_to_the_last_byte(self, tmp_path):
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip.compress(GOOD.encode()))
        assert len(read_table(path, max_bytes=len(GOOD))) == 12
        assert f"more than {len(GOOD) - 1:,} bytes" in refusal(path, max_bytes=len(GOOD) - 1)

    def test_a_declared_size_is_not_believed(self, tmp_path):
        packed = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 10**6))
        packed[-4:] = (9).to_bytes(4, "little")
        (tmp_path / "t.csv.gz").write_bytes(packed)
        assert "more than 1,000,000 bytes" in refusal(tmp_path / "t.csv.gz", max_bytes=10**6)

    @pytest.mark.parametrize("most", [0, -1, 2.5, "x", None, True])
    def test_what_is_no_number_of_bytes(self, tmp_path, most):
        (tmp_path / "t.csv").write_text(GOOD)
        assert "max_bytes must be a whole number" in refusal(tmp_path / "t.csv", max_bytes=most)


class TestParquet:
    def write(self, path, **columns):
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table(columns), path, compression="zstd")
        return path

    def test_one_long_word_in_every_row(self, tmp_path):
        """A file of a kilobyte whose words, written out, take 20 GB."""
        pa = pytest.importorskip("pyarrow")
        codes = pa.array([0] * 200_000, pa.int32())
        coded = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 100_000]))
        for place, words in enumerate((coded, coded.slice(0, 500).cast(pa.string()))):
            path = self.write(tmp_path / f"{place}.parquet", a=words)
            assert path.stat().st_size < 2000
            said = refusal(path, max_bytes=2 * 10**7)
            assert "the words of " in said
            assert "take more than 20,000,000 bytes" in said

    def test_rows_that_are_all_equal(self, tmp_path):
        path = self.write(tmp_path / "t.parquet", a=[0] * 10**6)
        assert path.stat().st_size < 20_000
        assert "declares 1,000,000 rows of 1 column, which take more" in refusal(path, max_bytes=7_999_999)
        assert len(read_table(path, max_bytes=8_000_000)) == 10**6

    @pytest.mark.parametrize("cells", [[[1, 2], [3]], [{"u": 1}, {"u": 2}]])
    def test_cells_of_several_values(self, tmp_path, cells):
        said = refusal(self.write(tmp_path / "t.parquet", a=cells, b=[1, 2]))
        assert "column 'a' holds cells of the type" in said
        assert "the argument must be a string or a number" in said

    def test_words_and_categories_come_back_as_they_were(self, tmp_path):
        frame = pd.DataFrame({"w": ["a", None, "ä"], "c": pd.Categorical(["u", "v", "u"], ["v", "u"]), "n": [1, 2, 3]})
        frame.to_parquet(tmp_path / "t.parquet")
        pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), frame)


class TestJsonLines:
    def test_a_key_of_its_own_in_every_line(self, tmp_path):
        path = tmp_path / "t.jsonl"
        path.write_text("".join(json.dumps({f"k{line}": 1}) + "\n" for line in range(7000)))
        assert "7,000 lines of 7,000 keys in all, whose absent cells take more than" in refusal(path)


class TestText:
    def test_blank_lines_take_no_memory_of_their_own(self, tmp_path):
        text = "a,b\n1,2\n" + "\n" * 10**5
        (tmp_path / "t.csv").write_text(text)
        assert peak(lambda: read_table(tmp_path / "t.csv")) < 12 * len(text)

    def test_blank_lines_between_and_inside_cells(self, tmp_path):
        (tmp_path / "t.csv").write_bytes(b'\n\na,b\n\n"x\n\ny",1\r\n\r\n\nz,2\n\n')
        frame = read_table(tmp_path / "t.csv")
        assert frame.to_numpy().tolist() == [["x\n\ny", 1], ["z", 2]]

    def test_columns_that_stay_as_they_are_are_not_made_anew(self, tmp_path, monkeypatch):
        """In a table of 200,000 columns that would take most of the time."""
        monkeypatch.setattr(kinds, "_converted", None)
        (tmp_path / "t.csv").write_text(GOOD)
        assert read_table(tmp_path / "t.csv").shape == (12, 3)
