"""Leave-one-out scores, predictive counts and explanations: the numbers drawn are those of the results."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_stats import ELPDDataLOO
from helpers.drawn import HOSTILE, texts

from bayesclf import plots
from bayesclf.errors import InputError
from bayesclf.interpretation.explanation import Explanation
from bayesclf.plots import leave_one_out, predictions


def loo(khat):
    """Return leave-one-out scores of which only k̂ matters."""
    rows = len(khat)
    scores = xr.DataArray(np.full(rows, -0.5), dims="row", coords={"row": np.arange(rows)})
    return ELPDDataLOO(
        elpd=-0.5 * rows,
        se=1.0,
        p=0.1,
        n_samples=100,
        n_data_points=rows,
        scale="log",
        warning=True,
        good_k=0.5,
        elpd_i=scores,
        pareto_k=scores.copy(data=khat),
    )


def test_rows_beyond_the_limit_are_counted_from_one_and_named():
    khat = np.linspace(-0.2, 0.4, 30)
    khat[[3, 17]] = 0.9, 0.6
    figure = plots.pareto_k(loo(khat))
    assert {"2 of 30 rows beyond k̂ = 0.50", "4", "18"} <= set(texts(figure))
    every, beyond = (marks.get_offsets() for marks in figure.axes[0].collections)
    np.testing.assert_allclose(every, np.column_stack([np.arange(30), khat]))
    np.testing.assert_allclose(beyond, [[3, 0.9], [17, 0.6]])


def test_only_the_worst_rows_are_named_and_infinite_ones_are_counted():
    khat = np.append(np.linspace(0.6, 1, 40), np.inf)
    figure = plots.pareto_k(loo(khat))
    assert "41 of 41 rows beyond k̂ = 0.50" in texts(figure)
    assert len(figure.axes[0].texts) == leave_one_out.NAMED_ROWS


def test_rows_left_out_exactly_have_nothing_beyond():
    figure = plots.pareto_k(loo(np.zeros(5)))
    assert "0 of 5 rows beyond k̂ = 0.50" in texts(figure)
    assert figure.axes[0].get_ylim()[1] > 0.5


def test_models_stand_in_their_order_with_differences_and_errors():
    table = pd.DataFrame(
        {"rank": [0, 1, 2], "elpd_diff": [0.0, -3.25, -80.5], "dse": [0.0, 1.5, 9.0], "elpd": 0.0, "se": 1.0},
        index=list(HOSTILE),
    )
    figure = plots.elpd_compare(table)
    ax = figure.axes[0]
    assert {"best", "−3.2 ± 1.5", "−80.5 ± 9.0", "$x$", "<script>"} <= set(texts(figure))
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [[0, 3], [-3.25, 2], [-80.5, 1]])
    bars = [line.get_xdata() for line in ax.lines if np.ptp(line.get_ydata()) == 0]
    np.testing.assert_allclose(bars, [[0, 0], [-4.75, -1.75], [-89.5, -71.5]])


def check(prior=True):
    """Return a predictive check of three classes, the last of which is never made."""
    rng = np.random.default_rng(2)
    coords = {"outcome": ["$a$", "<b>", "w" * 200]}

    def dataset(values):
        return xr.Dataset({"class_count_given_x": (("chain", "draw", "outcome")[-values.ndim :], values)}, coords)

    made = np.stack([rng.binomial(50, 0.4, (1, 99)), rng.binomial(50, 0.6, (1, 99)), np.zeros((1, 99))], axis=2)
    groups = {"posterior_statistics": dataset(made), "observed_statistics": dataset(np.array([20.0, 28.0, 2.0]))}
    if prior:
        groups["prior_statistics"] = dataset(rng.integers(0, 51, (1, 99, 3)).astype(float))
    return xr.DataTree.from_dict(groups)


def test_predictive_counts_are_quantiles_and_rings():
    tree = check()
    figure = plots.predictive_counts(tree)
    ax = figure.axes[0]
    prior, wide, _ = (np.array([path[:, 0] for path in lines.get_segments()]) for lines in ax.collections)
    for drawn, name in ((wide, "posterior"), (prior, "prior")):
        values = tree[f"{name}_statistics"]["class_count_given_x"].values[0]
        np.testing.assert_allclose(drawn, np.quantile(values, [0.055, 0.945], axis=0).T)
    assert ax.lines[0].get_xdata().tolist() == [20, 28, 2]
    assert {"$a$", "<b>", "observed", "prior predictive", "posterior predictive"} <= set(texts(figure))


def test_a_prior_that_cannot_be_drawn_from_is_not_drawn():
    figure = plots.predictive_counts(check(prior=False))
    assert "prior predictive" not in texts(figure)
    assert len(figure.axes[0].collections) == 2


def explained(terms=5, interval=True):
    """Return an explanation of two rows by numbered features."""
    values = np.arange(1, terms + 1) * np.where(np.arange(terms) % 2, -1.0, 1.0)
    lines = []
    for row, factor in ((0, 1.0), (1, -2.0)):
        lines.append({"row": row, "feature": "(class prior)", "value": None, "contribution": 0.25})
        for place, value in enumerate(values):
            cell = "$w$" * 50 if place == 0 else 0.5 * place
            lines.append({"row": row, "feature": f"<f{place}>", "value": cell, "contribution": factor * value})
    table = pd.DataFrame(lines)
    if interval:
        table = table.assign(low=table["contribution"] - 0.5, high=table["contribution"] + 0.75)
    sums = table.groupby("row")["contribution"].sum().to_numpy()
    rows = pd.DataFrame({"row": [0, 1], "outcome": "$yes$", "against": "w" * 200, "log_odds": sums})
    rows = rows.assign(proba_outcome=[0.25, 0.75], proba_against=[0.5, 0.125], low=sums - 1, high=sums + 1)
    return Explanation(table, rows, "bayes-optimal" if interval else "map", 0.89 if interval else None)


@pytest.mark.parametrize("row", [0, 1])
def test_bars_are_the_contributions_largest_first_and_their_sum_last(row):
    found = explained()
    figure = plots.explanation(found, row)
    ax = figure.axes[0]
    widths = np.array([bar.get_width() for bar in ax.patches])
    np.testing.assert_allclose(widths, found.table(row)["contribution"])
    assert widths[-1] == pytest.approx(widths[:-1].sum())
    assert (np.diff(np.abs(widths[:-1])) <= 0).all()
    intervals = [line.get_xdata() for line in ax.lines[1:]]
    np.testing.assert_allclose(intervals, found.table(row)[["low", "high"]])
    colors = [bar.get_facecolor() for bar in ax.patches]
    assert len({(color, width > 0) for color, width in zip(colors, widths, strict=True)}) == 2
    words = texts(figure)
    assert {"(class prior)", "<f2> = 1", "sum"} <= set(words)
    assert any(word.startswith(f"Row {row + 1}: P($yes$) = {[0.25, 0.75][row]}") for word in words)


def test_small_contributions_are_added_up():
    found = explained(terms=20, interval=False)
    figure = plots.explanation(found, limit=3)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    table = found.table(0)["contribution"]
    np.testing.assert_allclose(widths, [*table[:3], table[3:-1].sum(), table.iloc[-1]])
    assert "18 others" in texts(figure)
    assert len(figure.axes[0].lines) == 1
    assert predictions.MOST_TERMS == 12


def test_a_row_that_was_not_explained():
    with pytest.raises(InputError, match="row must be between 0 and 1"):
        plots.explanation(explained(), 2)
