"""Figures are shown once, by whoever shows them: pyplot, or a notebook."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from IPython.core.formatters import DisplayFormatter

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.plots import style
from bayesclf.report import document


@pytest.mark.parametrize("ax", [False, True], ids=["new", "given"])
def test_a_figure_is_open_until_an_inline_notebook_displays_it(monkeypatch, ax):
    figure, _ = style.axes(plt.subplots()[1] if ax else None, (3.0, 2.0))
    assert plt.get_fignums() == [figure.number]
    DisplayFormatter().format(figure)  # in a terminal, or beside a window, it stays open
    assert plt.get_fignums() == [figure.number]
    monkeypatch.setattr(plt, "get_backend", lambda: "inline")
    data, _ = DisplayFormatter().format(figure)
    assert plt.get_fignums() == []
    assert data["text/plain"] == repr(figure)  # IPython goes on to the usual display


def test_a_figure_begun_before_an_error_is_closed():
    @style.figure
    def begun():
        """Draw."""
        style.axes(None, (3.0, 2.0))
        raise InputError("no rows")

    mine, _ = plt.subplots()
    with pytest.raises(InputError, match="no rows"):
        begun()
    assert plt.get_fignums() == [mine.number]


def test_a_page_leaves_no_figure_open(comparison):
    mine, _ = plt.subplots()
    with mpl.rc_context({"figure.max_open_warning": 2}):
        for name in ("one", "two", "three"):
            document.svg(lambda: bc.plots.rule_scores(comparison), name, "Scores", "Of each rule")
    assert plt.get_fignums() == [mine.number]
