"""Traces, ranks and energies: the worst parameters, of samplers only."""

from types import SimpleNamespace

import arviz as az
import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from helpers.drawn import texts
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf import plots
from bayesclf.errors import Refused


def fitted(**attributes):
    """Return a classifier with given attributes of a fit."""
    clf = bc.NaiveBayes()
    vars(clf).update(attributes)
    return clf


@pytest.fixture(scope="module")
def chains():
    """Return what a fit by NUTS has: one weight of which no two chains agree, and names that look like mathematics."""
    rng = np.random.default_rng(7)
    weight = rng.normal(size=(4, 100, 50))
    weight[..., 3] += np.arange(4)[:, None]
    coords = {"chain": np.arange(4), "draw": np.arange(100)}
    names = [f"${place}_{{x}}$" for place in range(50)]
    posterior = xr.Dataset({"weight": (("chain", "draw", "feature"), weight)}, coords | {"feature": names})
    stats = xr.Dataset({"energy": (("chain", "draw"), rng.normal(size=(4, 100)).cumsum(axis=1))})
    tree = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})
    return fitted(
        posterior_=tree,
        model_=SimpleNamespace(dims=lambda: {"weight": ("feature",)}),
        inference=bc.engines.NUTS(),
        inference_=bc.engines.NUTS(),
        classes_=np.array(["a", "b"]),
    )


@pytest.mark.parametrize("draw_it", [plots.posterior_trace, plots.posterior_rank])
def test_the_worst_parameters_are_drawn_and_counted(chains, draw_it):
    figure = draw_it(chains, limit=3)
    titles = [ax.get_title(loc="left").replace(r"\$", "$") for ax in figure.axes if ax.get_visible()]
    assert titles[0] == "weight[$3_{x}$]"
    assert len([title for title in titles if title]) == 3
    assert "3 of 50 parameters: those whose chains mix worst" in texts(figure)


def test_no_more_panels_than_arviz_allows(chains):
    with az.rc_context({"plot.max_subplots": 2}):
        figure = plots.posterior_trace(chains, limit=50)
    assert any(text.startswith("2 of 50 parameters") for text in texts(figure))


def test_trace_lines_are_the_draws(chains):
    lines = plots.posterior_trace(chains, limit=1).axes[0].get_lines()
    draws = chains.posterior_["posterior"]["weight"].values[..., 3]
    np.testing.assert_allclose([line.get_ydata() for line in lines], draws)
    assert all(line.get_rasterized() for line in lines)


def test_ranks_of_disagreeing_chains_leave_zero_and_have_a_small_p_value(chains):
    ax = plots.posterior_rank(chains, limit=1).axes[0]
    lowest, *_, highest = (line.get_ydata() for line in ax.get_lines() if len(line.get_ydata()) > 2)
    assert lowest.max() > 0.3  # the chain of the smallest draws has most of its ranks early
    assert highest.min() < -0.3
    assert ax.texts[0].get_text() == "p = 0.00"


def test_ranks_follow_the_color_of_the_paper(chains):
    with mpl.rc_context({"text.color": "#aabbcc"}):
        ax = plots.posterior_rank(chains, limit=1).axes[0]
    assert ax.texts[0].get_color() == "#aabbcc"


def test_energy_shows_both_densities_and_the_fractions(chains):
    figure = plots.energy(chains)
    energies = chains.posterior_["sample_stats"]["energy"].values
    by_hand = (np.diff(energies, axis=1) ** 2).mean(axis=1) / energies.var(axis=1)
    (title,) = [text for text in texts(figure) if text.startswith("E-BFMI")]
    shown = np.array(title.split(": ")[1].split(" (")[0].split(", "), dtype=float)
    np.testing.assert_allclose(shown, by_hand, rtol=0.03, atol=0.006)
    assert {"energies, from their mean", "changes in one step"} <= set(texts(figure))


def test_independent_draws_have_no_chains_to_look_at(comparison):
    for draw_it in (plots.posterior_trace, plots.posterior_rank, plots.energy):
        with pytest.raises(Refused, match="independent"):
            draw_it(comparison.fits["nb"])
        with pytest.raises(Refused, match="leaves no posterior"):
            draw_it(comparison.fits["lr in $"])


def test_a_sampler_without_energies_is_refused(chains):
    tree = xr.DataTree.from_dict({"posterior": chains.posterior_["posterior"].to_dataset()})
    with pytest.raises(Refused, match="no energies"):
        plots.energy(fitted(**(vars(chains) | {"posterior_": tree})))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_chains_of_nuts():
    data = load_iris(as_frame=True)
    fit = bc.LogisticRegression(
        prior_scale=2.5, inference=bc.engines.NUTS(draws=100, tune=300, chains=2), random_state=0
    )
    fit.fit(data.data, data.target)
    for draw_it in (plots.posterior_trace, plots.posterior_rank):
        assert any(text.startswith("3 of 15 parameters") for text in texts(draw_it(fit, limit=3)))
    assert any(text.startswith("E-BFMI") for text in texts(plots.energy(fit)))
