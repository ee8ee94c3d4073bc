"""Decision curves: lines are the table's, and the class of interest is named."""

import numpy as np
import pytest
from helpers.drawn import line, texts

from bayesclf import plots
from bayesclf.errors import InputError


def test_lines_are_the_table(two_classes):
    figure = plots.decision_curve(two_classes, "nb", "map", thresholds=[0.1, 0.3, 0.6])
    table = two_classes.decision_curve("nb", "map", "<yes>", [0.1, 0.3, 0.6])
    above, below = figure.axes
    np.testing.assert_allclose(line(above, "nb"), table[["threshold", "net_benefit"]])
    np.testing.assert_allclose(line(above, "act on all"), table[["threshold", "treat_all"]])
    np.testing.assert_allclose(below.lines[0].get_xydata(), table[["threshold", "useful"]])
    box = above.collections[0].get_paths()[0].get_extents()
    np.testing.assert_allclose((box.y0, box.y1), (table["low"].min(), table["high"].max()))
    assert "risk of <yes> from which one acts" in texts(figure)


def test_the_rule_of_the_smallest_log_loss_is_the_default(two_classes):
    table = two_classes.table
    best = table.loc[table["log_loss"].idxmin(), "rule"]
    assert f"nb, {best}: " in two_classes.plot_decision_curve("nb", outcome="$no$").axes[0].get_title(loc="left")


def test_of_three_classes_one_must_be_named(comparison):
    with pytest.raises(InputError, match="say which class matters"):
        plots.decision_curve(comparison, "nb")
    assert len(plots.decision_curve(comparison, "nb", outcome="virginica", thresholds=[0.2, 0.5]).axes) == 2
