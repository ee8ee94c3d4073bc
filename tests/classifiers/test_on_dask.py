"""Learning on Dask: the posterior of the rows of all parts, and sentences for what can go wrong."""

import os
import signal
import subprocess
import sys
import types
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from helpers.clients import Within
from sklearn.base import clone

import bayesclf as bc
from bayesclf.classifiers.passes import LABEL, MOST_KEPT, WEIGHT, Counted, LeftOutRows, computed, parts_of
from bayesclf.errors import InputError

pytest.importorskip("distributed", reason="Dask, the extra 'dask', is not installed")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 400)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400) + (y == "b")),
            "word": rng.choice([f"level {i}" for i in range(14)], 400),
            "y": y,
        }
    )


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_declared_categories_are_written_alike(first):
    """Pandas has floats where a cell is missing."""
    parts = [pd.DataFrame({"n": cells, "y": list("pqpq")}) for cells in ([0, 1, 0, 1], [0.0, np.nan, 1.0, 1.0])]
    parts = [parts[first], parts[1 - first], parts[1]]
    fits = [
        bc.CategoricalNB(alpha=2.0, inference="map").fit_stream(parts, "y", kinds={"n": "category"}, client=client)
        for client in (None, Within())
    ]
    alone, on_dask = fits
    assert on_dask.columns_ == alone.columns_
    assert on_dask.columns_[0].levels == ("0", "1")
    for name, values in alone.posterior_["map"].items():
        np.testing.assert_array_equal(on_dask.posterior_["map"][name], values)
    words = [pd.DataFrame({"n": cells, "y": ["p", "q"]}) for cells in (["1", "2"], ["1.0", "2"])]  # versions, say
    found = bc.CategoricalNB(alpha=2.0, inference="map").fit_stream(words, "y", client=Within())
    assert found.columns_[0].levels == ("1", "1.0", "2")


def same(found, table):
    X = table[["x", "word"]]
    whole = clone(found).fit(X, table["y"])
    assert list(found.classes_) == ["a", "b", "c"]
    np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), atol=1e-11)
    assert found.columns_ == whole.columns_
    assert found.notes_ == whole.notes_


class Retried(Within):
    """One whose work is lost once, as with a worker that is killed, and done again."""

    def compute(self, graph):
        super().compute(graph).result()
        return super().compute(graph)


def test_parts_in_one_process_are_the_whole(table, tmp_path):
    clf = bc.NaiveBayes(inference="map")
    ordered = table.sort_values(["y", "word"])  # classes and levels come late
    parts = [ordered[:90], ordered[:0], ordered[90:91], ordered[91:]]
    same(clone(clf).fit_stream(parts, "y", client=Within()), ordered)
    same(clone(clf).fit_stream(parts, "y", client=Retried()), ordered)
    for number, part in enumerate(parts):
        if len(part):
            part.to_parquet(tmp_path / f"{number}.parquet")
    same(clone(clf).fit_stream(tmp_path, "y", client=Within()), ordered)


def test_what_parts_cannot_be_is_said(table):
    clf = bc.NaiveBayes(inference="map")
    with pytest.raises(InputError, match="with a client the source must be files that all workers can read"):
        clf.fit_stream(iter([table]), "y", client=Within())
    with pytest.raises(InputError, match="column 'word' is in one part and not in another"):
        clf.fit_stream([table[:50], table[50:].drop(columns="word")], "y", client=Within())
    with pytest.raises(InputError, match="holds numbers in the table, and words in the rows before"):
        clf.fit_stream([table[:50], table[50:].assign(word=1.0)], "y", client=Within())
    with pytest.raises(InputError, match="infinite value"):
        clf.fit_stream([table[:50], table[50:].assign(x=np.inf)], "y", client=Within())
    with pytest.raises(InputError, match="there is no row to learn from"):
        clf.fit_stream([table[:0]], "y", client=Within())


def test_parts_may_lack_rows_or_all_cells_of_a_column(table, tmp_path, monkeypatch):
    clf = bc.NaiveBayes(inference="map")
    empty = table[:100].assign(word=None)
    parts = [empty.astype({"word": float}), table[100:]]
    joined = pd.concat([empty, table[100:]])
    same(clone(clf).fit_stream(parts, "y", client=Within()), joined)
    for number, part in enumerate([*parts, table[:0]]):
        part.to_parquet(tmp_path / f"{number}.parquet")
    same(clone(clf).fit_stream(tmp_path, "y", client=Within()), joined)
    monkeypatch.chdir(tmp_path)
    assert all(part.is_absolute() for part in parts_of("*.parquet"))
    assert parts_of(["0.parquet"]) == [str(tmp_path / "0.parquet")]


def test_what_is_decided_about_columns_holds_for_all_parts(table, tmp_path):
    """A part whose cells are "1,137" does not tell its decimal mark, and one without codes or words has numbers."""
    rng = np.random.default_rng(0)
    sure = pd.DataFrame({"price": [f"{x:.2f}".replace(".", ",") for x in rng.uniform(1, 9, 40)], "code": "1", "y": "a"})
    unsure = pd.DataFrame(
        {"price": [f"{x:.3f}".replace(".", ",") for x in rng.uniform(1, 9, 40)], "code": "x", "y": "b"}
    )
    unsure.loc[3, "y"] = None
    for number, part in enumerate((unsure, sure, sure.assign(y=None))):
        part.to_csv(tmp_path / f"{number}.csv", sep=";", index=False)
    for number in (-1, 3):
        (tmp_path / f"{number}.csv").write_text("price;code;y\n", encoding="utf-8")
    clf = bc.NaiveBayes(inference="map")
    alone, on_dask = (clone(clf).fit_stream(tmp_path, "y", client=client) for client in (None, Within()))
    X = pd.DataFrame({"price": [1.137, 4.5], "code": ["x", "1"]})
    np.testing.assert_allclose(on_dask.predict_proba(X), alone.predict_proba(X), atol=1e-11)
    assert on_dask.notes_ == alone.notes_
    assert any("without a label left out" in note for note in on_dask.notes_)
    parts = [pd.DataFrame({"x": [f"{sign}{x}.5" for x in range(9)], "y": list("pqrpqrpqr")}) for sign in "$€"]
    with pytest.raises(InputError, match=r"column 'x' has '[$]' in one part and '€' in another; write all of them one"):
        clone(clf).fit_stream(parts, "y", kinds={"x": "number"}, client=Within())


def test_a_client_that_cannot_work_is_refused(table):
    clf = bc.NaiveBayes(inference="map")
    with pytest.raises(InputError, match=r"client must be a client of Dask, .*, not an object of type int"):
        clf.fit_stream([table], "y", client=5)
    closed = Within()
    closed.status = "closed"
    with pytest.raises(InputError, match="the client of Dask is closed; connect again"):
        clf.fit_stream([table], "y", client=closed)


def counted(frame, weight=None):
    return Counted(frame, np.zeros(len(frame), dtype=int), weight, classes=np.array(["a", "b"]))


def test_rows_are_kept_by_chance_whatever_their_part():
    """A part of 60,000 rows keeps twelve times as many as one of 5,000; many parts of a row end."""
    parts = []
    for number, rows in enumerate((60_000, 5_000)):
        parts.append(LeftOutRows(None, number))
        for start in range(0, rows, 20_000):
            some = np.full(min(20_000, rows - start), number)
            parts[-1] = parts[-1].with_rows(counted(pd.DataFrame({"part": some})))
    table, again = (parts[0] + parts[1]).rows(), (parts[1] + parts[0]).rows()
    assert len(table) == MOST_KEPT == len(again)
    assert table["part"].sum() == again["part"].sum()
    assert abs(table["part"].mean() - 1 / 13) < 5 * (1 / 13 * 12 / 13 / MOST_KEPT) ** 0.5
    total = LeftOutRows().with_rows(counted(pd.DataFrame({"part": np.zeros(300)})))
    for _ in range(6):
        total = total + total
    assert len(total.rows()) == MOST_KEPT


@pytest.mark.parametrize("total", [6, None])
def test_only_rows_that_count_at_least_once_can_be_left_out(total):
    weight = np.array([0.2, 1.0, 0.999, 2.5, 0.0, 7.0])
    kept = LeftOutRows(total).with_rows(counted(pd.DataFrame({"row": np.arange(6)}), weight)).rows()
    assert kept["row"].tolist() == [1, 3, 5]
    assert kept[LABEL].tolist() == ["a"] * 3
    assert kept[WEIGHT].tolist() == [1.0, 2.5, 7.0]


@pytest.mark.slow
def test_a_scheduler_and_workers_give_the_posterior_of_all_rows(table, tmp_path):
    import dask.dataframe as dd
    from distributed import Client

    environment = os.environ | {"DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "env": environment}
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", *here, "--port", "0"]
    scheduler = subprocess.Popen(start, stderr=subprocess.PIPE, text=True, **quiet)
    processes = [scheduler]
    try:
        address = next(line.split()[-1] for line in scheduler.stderr if "tcp://" in line)
        start = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
        processes += [subprocess.Popen(start, stderr=subprocess.DEVNULL, **quiet) for _ in range(2)]
        for number in range(4):
            table[100 * number : 100 * number + 100].to_parquet(tmp_path / f"{number}.parquet")
        clf = bc.NaiveBayes(inference="map")
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            same(clone(clf).fit_stream(f"{tmp_path}/*.parquet", "y", client=client), table)
            same(clone(clf).fit_stream(dd.from_pandas(table, npartitions=5), "y", client=client), table)
            flag = tmp_path / "killed"

            def part(number):
                """Return a part; the first worker that reads the third one is killed in the middle."""
                if number == 2 and not flag.exists():
                    flag.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return table[100 * number : 100 * number + 100]

            same(clone(clf).fit_stream(dd.from_map(part, range(4), meta=table[:0]), "y", client=client), table)
            assert flag.exists()
    finally:
        for process in processes:
            process.kill()
            process.wait()
        scheduler.stderr.close()


def test_folders_and_globs_of_a_list_are_their_files(table, tmp_path):
    cuts = [0, 60, 60, 150, 200, 280, 300, 400]  # one file has no rows
    for number, (start, stop) in enumerate(pairwise(cuts)):
        table[start:stop].to_parquet(tmp_path / f"{number}.parquet")
    source = [str(tmp_path / "[0-3].parquet"), str(tmp_path / "[4-6].parquet")]
    clf = bc.NaiveBayes(inference="map")
    same(clone(clf).fit_stream(source, "y", client=Within()), table)
    with pytest.raises(InputError, match=r"none\.parquet does not exist"):
        clone(clf).fit_stream([str(tmp_path / "none.parquet")], "y", client=Within())
    with pytest.raises(InputError, match="the list of tables is empty"):
        clone(clf).fit_stream([], "y", client=Within())


def test_what_is_not_needed_after_an_error_is_given_back():
    released = []

    def compute(graph):
        """Return what has the interface of a future, and has an error."""

        def result():
            raise InputError("cells are wrong")

        return types.SimpleNamespace(result=result, release=lambda: released.append(graph))

    with pytest.raises(InputError, match="cells are wrong"):
        computed(1, types.SimpleNamespace(compute=compute, status="running"))
    assert released == [1]
