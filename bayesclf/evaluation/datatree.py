"""A fitted classifier as one ArviZ tree: prior, posterior, what they predict, and the densities of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.given import GIVEN, is_given
from bayesclf.classifiers.inputs import checked_labels, seed_of
from bayesclf.constraints import Whole, require
from bayesclf.errors import Refused
from bayesclf.evaluation.predictive_checks import drawn_labels
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses, to_constants, to_dataset
from bayesclf.tables.columns import Rows

LARGEST_BYTES = 2**30
"""Size of the arrays (chain, draw, row) of a tree above which it is refused."""

STREAM = 7
"""Number of the random stream, in addition to those of the classifier."""


def to_datatree(
    classifier: BayesClassifier, X: Any, y: Any, draws: int | None = None, random_state: Any = None
) -> xr.DataTree:
    """Return prior, posterior, predictions and log densities of a fitted classifier, for ArviZ.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted, with a posterior.
    X, y
        The training rows: ``log_likelihood`` is that of what the posterior was conditioned on.
    draws : int or None
        Draws of each chain to keep, evenly spaced; by default all.
    random_state : int, Generator or None
        Seed of the draws from the prior and of predicted labels; if None, the seed of the fit.

    Returns
    -------
    DataTree
        ``posterior`` and ``prior``: the parameters of `posterior_` (chain, draw, …); the prior has one chain.
        ``sample_stats``: statistics of the sampler, if there was one, and if all draws are kept.
        ``observed_data``: label codes ``y`` (row); ``attrs["classes"]`` names them.
        ``posterior_predictive``, ``prior_predictive``: label codes ``y`` (chain, draw, row), drawn from P(y | x_i, θ).
        ``log_likelihood``: ``y`` (chain, draw, row), log p(x_i, y_i | θ) for a generative model and
        log P(y_i | x_i, θ) for logistic regression; ``attrs["density"]`` says which, "joint" or "conditional".
        ``conditional_log_likelihood``: for a generative model, log P(y_i | x_i, θ), likewise.
        ``log_prior``: the log density of the prior (chain, draw), up to constants, one variable for each block of
        parameters; scales enter by log σ², so that a prior to the power α counts like α times as many rows.
        Where a prior has no density there is no such group, and ``attrs["no_log_prior"]`` says why; where it cannot be
        drawn from, there is neither ``prior`` nor ``prior_predictive``, and ``attrs["no_prior"]`` says why. After
        `with_posterior` all three are missing, as the draws may be of a model with another prior.

    Raises
    ------
    Refused
        Without a posterior, or where its draws, or the arrays of the tree, are too large to keep in memory.

    Notes
    -----
    For a generative model `arviz.loo` of this tree scores label and cells of a row together, because the posterior
    learned from both. So `arviz.compare` of trees compares generative models of the same columns only, and
    `bayesclf.loo` scores P(y | x) under any model: ``arviz.compare({name: bayesclf.loo(clf, X, y), …})``. The density
    has the name ``y`` of the labels, so that `arviz.loo_pit` weights predicted labels by it, as it should.

    Examples
    --------
    >>> import bayesclf as bc
    >>> days = bc.datasets.load("play_tennis")
    >>> tree = bc.CategoricalNB(random_state=1).fit(days.X, days.y).to_datatree(days.X, days.y, draws=10)
    >>> sorted(tree.log_likelihood.data_vars), tree.log_likelihood.attrs["density"]
    (['y'], 'joint')
    """
    posterior, dataset = _kept(classifier, draws)
    rows = classifier.rows(X)
    codes = classifier.known_codes(checked_labels(y, len(rows)))
    _check_size(classifier.model_, len(posterior), len(rows))
    rng = np.random.default_rng([classifier.seed_ if random_state is None else seed_of(random_state), STREAM])
    chains = dataset.sizes["chain"]
    attributes = {"classes": [str(label) for label in classifier.classes_]}
    observed = xr.Dataset({"y": ("row", codes)}, {"row": np.arange(len(rows))}, attributes)
    groups = {"posterior": dataset, "observed_data": observed}
    if draws is None and classifier.draws_ is not None and classifier.draws_.stats is not None:
        groups["sample_stats"] = classifier.draws_.sample_stats
    if constants := to_constants(classifier.model_.coords()):
        groups["constant_data"] = constants
    labels, own, joint = _evaluated(posterior, rows, codes, rng)
    groups["posterior_predictive"] = _of_rows(labels, chains)
    groups["log_likelihood"] = _of_rows(own if joint is None else joint, chains)
    groups["log_likelihood"].attrs["density"] = "conditional" if joint is None else "joint"
    if joint is not None:
        groups["conditional_log_likelihood"] = _of_rows(own, chains)
    missing = _of_prior(classifier, groups, posterior, rows, rng)
    result = xr.DataTree.from_dict(groups)
    result.attrs |= missing
    return result


def _kept(classifier: BayesClassifier, draws: int | None) -> tuple[Hypotheses, xr.Dataset]:
    """Return the posterior, or some of its draws, also as a data set; raises `Refused` where it is too large."""
    posterior = classifier.hypotheses("posterior")
    if not isinstance(posterior, Hypotheses):
        raise Refused(
            f"{len(posterior)} draws of this posterior are too large to keep in memory, and a tree holds all; fit with "
            "fewer draws, such as inference=bc.engines.Exact(draws=25)"
        )
    dataset = classifier.posterior_draws()
    if not dataset.data_vars:
        raise Refused(f"there is no posterior for a tree to hold: {dataset.attrs['not_held']}")
    if draws is None:
        return posterior, dataset
    chains, held = dataset.sizes["chain"], dataset.sizes["draw"]
    require(Whole(1, held), draws=draws)
    place = np.linspace(0, held - 1, draws).round().astype(np.intp)
    numbers = (np.arange(chains)[:, None] * held + place).ravel()
    return posterior.take(numbers), dataset.isel(draw=place).assign_coords(draw=np.arange(draws))


def _check_size(model: Any, draws: int, rows: int) -> None:
    """Raise `Refused` where the arrays (chain, draw, row) would be too large."""
    size = 8 * draws * rows * (4 if model.generative else 3)
    if size > LARGEST_BYTES:
        raise Refused(
            f"{draws:,} draws for each of {rows:,} rows would take {size / 2**30:.1f} GiB (limit "
            f"{LARGEST_BYTES / 2**30:.0f} GiB); keep fewer draws, to_datatree(X, y, draws=…), or fit on fewer rows"
        )


def _evaluated(
    hypotheses: Hypotheses, rows: Rows, codes: Integers, rng: np.random.Generator
) -> tuple[Integers, Array, Array | None]:
    """Return drawn labels, log P(y_i | x_i, θ_s) and log p(x_i, y_i | θ_s), if there is one, each (draw, row)."""
    labels, own, joint = [], [], []
    for block in averaging.blocks(hypotheses, rows):
        some = rows[block]
        answer = averaging.conditional(hypotheses, some)
        of_label = answer.log_proba[np.arange(len(some)), codes[block]]
        labels.append(drawn_labels(hypotheses, some, rng).T)
        own.append(of_label.T)
        joint.append((of_label + answer.log_x).T)
    together = np.concatenate(joint, axis=1) if hypotheses.generative else None
    return np.concatenate(labels, axis=1), np.concatenate(own, axis=1), together


def _of_prior(
    classifier: BayesClassifier,
    groups: dict[str, xr.Dataset],
    posterior: Hypotheses,
    rows: Rows,
    rng: np.random.Generator,
) -> dict[str, str]:
    """Add the groups of the prior, one draw for each of the posterior; return why some do not exist."""
    if is_given(classifier):
        reason = f"{GIVEN}, under an unknown prior"
        return {"no_prior": reason, "no_log_prior": reason}
    model: Any = classifier.model_
    chains = groups["posterior"].sizes["chain"]
    missing = {}
    try:
        parameters = model.prior_draw(rng, len(posterior))
        groups["prior"] = to_dataset(model.shown(parameters), model.dims(), model.coords())
        hypotheses = Hypotheses(model, parameters)
        blocks = averaging.blocks(hypotheses, rows)
        labels = np.concatenate([drawn_labels(hypotheses, rows[block], rng) for block in blocks])
        groups["prior_predictive"] = _of_rows(labels.T, 1)
    except Refused as refusal:
        missing["no_prior"] = str(refusal)
    try:
        densities = model.log_prior(posterior.parameters)
        variables = {name: (("chain", "draw"), values.reshape(chains, -1)) for name, values in densities.items()}
        groups["log_prior"] = xr.Dataset(variables, coords=groups["posterior_predictive"].coords).drop_vars("row")
    except Refused as refusal:
        missing["no_log_prior"] = str(refusal)
    return missing


def _of_rows(values: Any, chains: int) -> xr.Dataset:
    """Return values (draw, row), those of one chain together, as a variable ``y`` (chain, draw, row)."""
    by_chain = values.reshape(chains, -1, values.shape[1])
    coords = {name: np.arange(size) for name, size in zip(("chain", "draw", "row"), by_chain.shape, strict=True)}
    return xr.Dataset({"y": (("chain", "draw", "row"), by_chain)}, coords=coords)
