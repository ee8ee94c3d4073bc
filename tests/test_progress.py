"""Progress is shown where somebody looks, after a moment, once, never on stdout; functions of the user's are told."""

import io
import sys
import threading
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import bayesclf as bc
from bayesclf import progress
from bayesclf.errors import InputError
from bayesclf.progress import shown


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Make stderr a terminal, on which progress is shown at once."""
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    written = Terminal()
    # not sys.stderr itself, which pytest sets again when the test begins
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=written, modules=sys.modules))
    return written


@pytest.fixture
def default():
    """Restore the default choice."""
    yield
    bc.set_progress(None)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    return rng.normal(size=(30, 2)) + y[:, None], y


def work(choice=None, units=3, begun=None):
    with shown("first", units, choice) as tell:
        if begun is not None:
            begun(tell)
        for done in range(1, units + 1):
            tell("unit", done, units)
    return tell


def wait(tell):
    """Wait until the thread that begins a bar has done so."""
    if timer := getattr(tell, "_timer", None):
        timer.join()


def test_a_terminal_shows_a_bar_and_is_left_as_it_was(terminal, capsys):
    with shown("first", 3) as tell:
        wait(tell)
        print("printed")
        tell("unit", 3, 3)
    written = terminal.getvalue()
    assert "unit" in written
    assert "3/3" in written
    assert written.rstrip().endswith("\x1b[2K")  # the last line is erased
    assert "\x1b[?25h" in written  # and the cursor is back
    assert capsys.readouterr().out == "printed\n"


def test_nothing_is_written_of_what_is_done_in_a_moment(terminal, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 60.0)
    work()
    work(True)
    assert terminal.getvalue() == ""
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


@pytest.mark.parametrize("choice", [None, False])
def test_no_bar_where_nobody_looks_or_none_is_wanted(capsys, monkeypatch, choice):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    work(choice, begun=wait)
    assert capsys.readouterr() == ("", "")


def test_lines_where_progress_is_wanted_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    work(True)
    assert capsys.readouterr() == ("", "unit: 1 of 3\n")


def test_the_default_can_be_set(default, terminal, capsys):
    told = []
    bc.set_progress(lambda *news: told.append(news))
    work()
    assert told == [("unit", done, 3) for done in (1, 2, 3)]
    bc.set_progress(False)
    work(begun=wait)
    assert terminal.getvalue() == ""
    with pytest.raises(InputError, match="progress must be True, False"):
        bc.set_progress("yes")


def test_work_inside_other_work_is_told_where_that_counts_nothing_itself():
    told = []
    with shown("outer", None, lambda *news: told.append(news)):
        work()
    assert told == [("unit", done, 3) for done in (1, 2, 3)]
    told.clear()
    with shown("outer", 1, lambda *news: told.append(news)):
        work()
        work(True)
    assert told == []


def test_after_an_error_the_next_work_is_shown_again(terminal):
    with pytest.raises(ZeroDivisionError), shown("outer", 1):
        raise ZeroDivisionError
    terminal.truncate(0)
    work(begun=wait)
    assert "unit" in terminal.getvalue()


def test_names_do_not_act_on_the_terminal(terminal):
    with shown("a", 1) as tell:
        wait(tell)
        tell("[red]\x1b]0;title\x07 name", 1, 1)
    assert "[red]" in terminal.getvalue()
    assert "\x1b]0;" not in terminal.getvalue()


class Told(list):
    """Keeps what it is told."""

    def __call__(self, what, done, total):
        self.append((what, done, total))

    def is_complete(self, total):
        return [news[1:] for news in self] == [(done, total) for done in range(1, total + 1)]


WORK = {
    "leave-one-out": (30, lambda rows: bc.GaussianNB(random_state=1).fit(*rows).loo(*rows, method="exact")),
    "stacking": (6, lambda rows: bc.StackedClassifier({"a": bc.GaussianNB(), "b": bc.NaiveBayes()}, cv=3).fit(*rows)),
    "checks": (3, lambda rows: bc.GaussianNB(random_state=1).fit(*rows).diagnose(checks=["P01", "P08", "M06"])),
}


@pytest.mark.parametrize("name", WORK)
def test_work_of_several_units_is_told_of(name, rows, default):
    told, (units, work) = Told(), WORK[name]
    bc.set_progress(told)
    work(rows)
    assert told.is_complete(units)


def test_nuts_tells_of_draws_and_its_function_is_not_saved(rows, tmp_path):
    told = Told()
    clf = bc.LogisticRegression(
        prior_scale=2.5, inference=bc.engines.NUTS(draws=400, chains=2, cores=1, progress=told), random_state=2
    )
    clf.fit(*rows)
    assert told[-1] == ("sampling", 1400, 1400)
    clf.save(tmp_path / "lr.nc")
    again = bc.load(tmp_path / "lr.nc")
    assert again.inference == clf.inference
    assert again.inference.progress is None


@pytest.mark.slow
def test_a_notebook_shows_progress_and_clears_it(tmp_path):
    cells = [
        "from bayesclf import progress\nprogress.DELAY = 0",
        "with progress.shown('folds', 2) as tell:\n    tell('<fold>', 1, 2)\n    print('here')",
        "with progress.shown('folds', 2, False) as tell:\n    tell('fold', 1, 2)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    seen = []

    class Client(NotebookClient):
        def process_message(self, message, cell, cell_index):
            seen.append(message)
            return super().process_message(message, cell, cell_index)

    Client(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    pages = [message["content"]["data"]["text/html"] for message in seen if "display_data" in message["msg_type"]]
    assert pages == ['<progress value="1" max="2"></progress> &lt;fold&gt;: 1 of 2', ""]
    _, told, quiet = notebook.cells
    assert [output.get("data", {}).get("text/html") for output in told.outputs] == ["", None]
    assert quiet.outputs == []
