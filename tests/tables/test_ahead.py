"""Reading ahead: the same items in the same order, one of them early, and errors and ends where they belong."""

import threading
from dataclasses import replace

import pandas as pd
import pytest

from bayesclf.tables import stream
from bayesclf.tables.stream import read_ahead
from bayesclf.tables.streams import open_stream

WAIT = 10.0


def numbered(made, closed, fail_at=None):
    """Yield numbers, and note which are made and when the generator is closed."""
    try:
        for number in range(5):
            made.append((number, threading.current_thread().name))
            if number == fail_at:
                raise ValueError("no more")
            yield number
    finally:
        closed.set()


def test_the_next_item_is_made_while_one_is_used_and_none_after_it():
    made, closed, asked = [], threading.Event(), threading.Event()

    def items():
        """Yield items of which the second waits until the first is in use."""
        for number in numbered(made, closed):
            if number == 1:
                assert asked.wait(WAIT)
            yield number

    ahead = read_ahead(items())
    assert not made
    assert next(ahead) == 0
    asked.set()  # the second item would otherwise never be made
    assert next(ahead) == 1
    assert len(made) <= 3
    ahead.close()
    assert closed.wait(WAIT)
    assert len(made) == 3
    assert {name for _, name in made} != {threading.current_thread().name}


def test_an_error_comes_after_the_items_before_it():
    closed = threading.Event()
    ahead = read_ahead(numbered([], closed, fail_at=3))
    assert [next(ahead) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="no more"):
        next(ahead)
    assert closed.is_set()


def test_only_files_are_read_in_another_thread(tmp_path):
    threads = []
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "a"]})
    frame.to_csv(tmp_path / "t.csv", index=False)

    def tables():
        """Yield a table, and note the thread, which a connection to a data base must not change."""
        threads.append(threading.current_thread())
        yield frame

    of_file = replace(open_stream(tmp_path / "t.csv"), ahead=True)
    of_function = replace(open_stream(tables), ahead=True)
    for table in (of_file, of_function):
        (batch,) = table.batches()
        assert batch.table["x"].tolist() == [1.0, 2.0, 3.0]
    assert set(threads) == {threading.current_thread()}
    names = []

    def read(*given):
        """Read the file, and note in which thread."""
        names.append(threading.current_thread().name)
        yield from of_file.read(*given)

    assert len(list(replace(of_file, read=read).batches())) == 1
    assert names
    assert all(name.startswith("bayesclf reads ahead") for name in names)


def test_a_second_interruption_is_an_interruption(monkeypatch):
    """The first one waits for the item that is being made, and the second ends that wait."""
    begun, go_on = threading.Event(), threading.Event()

    class Impatient(stream.ThreadPoolExecutor):
        def __exit__(self, *_):
            raise KeyboardInterrupt

    def items():
        """Yield an item, and another when it may."""
        yield 0
        begun.set()
        go_on.wait(WAIT)
        yield 1

    monkeypatch.setattr(stream, "ThreadPoolExecutor", Impatient)
    found = read_ahead(items())
    assert next(found) == 0
    assert begun.wait(WAIT)
    try:
        with pytest.raises(KeyboardInterrupt):
            found.throw(KeyboardInterrupt)
    finally:
        go_on.set()
