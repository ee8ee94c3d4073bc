"""Figures: what they show equals what the comparison says, and hostile names stay names."""

import numpy as np
import pytest
from helpers.drawn import texts

from bayesclf import plots
from bayesclf.errors import InputError
from bayesclf.plots import style
from bayesclf.plots.scores import METRICS, draw
from bayesclf.rules import RULES


def test_every_rule_has_a_look_of_its_own():
    assert list(plots.RULE_STYLE) == list(RULES)
    for part in ("color", "marker", "line"):
        assert len({getattr(look, part) for look in plots.RULE_STYLE.values()}) == len(RULES)


@pytest.mark.parametrize("name", ["a$b$c", "$x_1^2$", r"\$", "a\nb", "$", "x" * 300, "\x00\x1b"])
def test_names_are_never_mathematics(name):
    figure = plots.style.axes(None, (2, 2))[0]
    figure.axes[0].set_title(style.plain(name))
    figure.canvas.draw()
    assert "\n" not in style.plain(name)
    assert len(style.plain(name)) <= style.LONGEST_NAME + style.plain(name).count(r"\$")


@pytest.mark.parametrize("metric", METRICS)
def test_rule_scores_marks_are_the_table(comparison, metric):
    figure = plots.rule_scores(comparison, metric)
    table = comparison.table
    shown = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() not in ("None", None)]
    np.testing.assert_allclose(shown, table[metric].dropna())
    words = " ".join(texts(figure))
    assert "n/a" in words
    assert "lr in $" in words


def test_infinite_log_loss_stands_at_the_margin(comparison):
    table = comparison.table
    table.loc[0, ["log_loss", "log_loss_se", "log_loss_infinite"]] = [np.inf, np.nan, 3]
    words = texts(draw(table, "log_loss"))
    assert "∞" in words
    assert "3 rows" in words


@pytest.mark.parametrize(
    ("draw_it", "sentence"),
    [
        (lambda c: plots.reliability(c, "svm"), "no model 'svm'"),
        (lambda c: plots.reliability(c, "lr in $", rules=["gibbs"]), "no answers under the rule 'gibbs'"),
        (lambda c: plots.rule_scores(c, "auc"), "metric must be one of .log_loss"),
    ],
)
def test_what_does_not_exist_is_named(comparison, draw_it, sentence):
    with pytest.raises(InputError, match=sentence):
        draw_it(comparison)
