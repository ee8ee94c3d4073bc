"""Learning curves: lines, bands and names are those of the table."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from helpers.drawn import HOSTILE, line, texts

from bayesclf import plots
from bayesclf.errors import InputError
from bayesclf.plots import style


def curves(models, rules, sizes=(4, 40, 400)):
    """Return a table of learning curves, sizes in disorder."""
    lines = [
        {"model": model, "rule": rule, "m": m, "mean": 1 / m + 0.1 * i + 0.01 * j, "se": 0.02}
        for i, model in enumerate(models)
        for j, rule in enumerate(rules)
        for m in sizes
    ]
    return pd.DataFrame(lines).sample(frac=1, random_state=0)


def test_lines_and_bands_are_the_table():
    table = curves(["nb", "lr"], ["map", "gibbs"])
    ax = plots.learning_curve(table).axes[0]
    for (model, rule), lines in table.groupby(["model", "rule"]):
        np.testing.assert_allclose(line(ax, f"{model} {rule}"), lines.sort_values("m")[["m", "mean"]])
    assert len(ax.collections) == 4
    box = ax.collections[0].get_paths()[0].get_extents()
    first = table[(table["model"] == table["model"].iloc[0]) & (table["rule"] == table["rule"].iloc[0])]
    np.testing.assert_allclose([box.y0, box.y1], [first["mean"].min() - 0.02, first["mean"].max() + 0.02])
    assert not plots.learning_curve(table.drop(columns="se")).axes[0].collections


def test_rules_keep_their_look_and_models_get_lines():
    one = plots.learning_curve(curves(["nb"], ["map", "mean"])).axes[0].lines
    assert {line.get_label(): line.get_color() for line in one} == {
        rule: style.RULE_STYLE[rule].color for rule in ("map", "mean")
    }
    both = plots.learning_curve(curves(["nb", "lr"], ["map", "mean"])).axes[0].lines
    assert len({line.get_color() for line in both}) == 2
    assert len({line.get_linestyle() for line in both}) == 2
    models = plots.learning_curve(curves(["nb", "lr"], ["map"])).axes[0].lines
    assert len({line.get_color() for line in models}) == 2


@pytest.mark.parametrize("sizes", [(4, 1000), (4, 750), (9, 234), (20, 100_000)])
def test_curves_of_hostile_names_and_numbers_of_rows_are_named_in_plain(sizes):
    figure = plots.learning_curve(curves(HOSTILE, ["map", "mle"], sizes))
    ax = figure.axes[0]
    assert {"$x$ map", "<script> mle"} <= set(texts(figure))
    low, high = ax.get_xlim()
    shown = [label for label, at in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True) if low <= at <= high]
    boxes = [label.get_window_extent() for label in shown]
    assert len(shown) >= 2
    assert all(label.get_text().replace(",", "").isdecimal() for label in shown)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (curves(["nb"], ["map"]).drop(columns="mean"), "no column 'mean'"),
        (curves(["nb"], ["map"]).iloc[:0], "to draw at any training size"),
    ],
)
def test_a_table_that_cannot_be_drawn(table, sentence):
    with pytest.raises(InputError, match=sentence):
        plots.learning_curve(table)
