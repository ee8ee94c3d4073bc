"""Data sets replicated under prior and posterior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from bayesclf import averaging
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.training import checked_labels, seed_of
from bayesclf.errors import InputError, Refused
from bayesclf.families.base import Rows
from bayesclf.families.generative import GenerativeModel
from bayesclf.families.logistic import LogisticModel
from bayesclf.hypothesis_set import Hypotheses
from bayesclf.predictive_checks.p_values import p_values
from bayesclf.predictive_checks.summaries import AXIS_OF, Summary, joined
from bayesclf.typing import Array, Integers, Parameters

if TYPE_CHECKING:
    import xarray as xr

MOST_ROWS = 2_000
"""Rows that are replicated at most."""

MOST_CELLS = 200_000
"""Cells of a replicated table at most; a wider table has fewer rows, but never below `LEAST_ROWS`."""

LEAST_ROWS = 50

STREAM = 4
"""Number of the random stream, beside those of the classifier."""


def predictive_check(
    classifier: BayesClassifier, X: Any, y: Any, draws: int = 200, random_state: Any = None, prior: bool = True
) -> xr.DataTree:
    """Replicate labelled rows under prior and posterior, and compare them with the rows that were seen.

    Parameters
    ----------
    classifier
        Fitted, with a posterior.
    X, y
        Training rows; a random `MOST_ROWS` of a larger table.
    draws
        Replicated data sets.
    random_state
        Seed; that of the fit where None.
    prior
        Whether to replicate data under the prior too.

    Returns
    -------
    DataTree
        ``posterior_predictive``, ``prior_predictive``: label codes ``y`` (chain, draw, row) given each row's x;
        ``observed_data``: those seen (row). `arviz.plot_ppc_pava` takes them (``data_type="categorical"`` for more than
        two classes), and for more than two `arviz.plot_ppc_rootogram` and, where the codes' order has a meaning,
        `arviz.plot_ppc_pit`.
        ``posterior_statistics``, ``prior_statistics`` (chain, draw, …), ``observed_statistics``: of each data set
        ``class_count_given_x`` and ``class_count`` (outcome), ``mean``, ``sd`` and ``max`` (outcome, feature) and
        ``share`` (outcome, level).
        ``p_value``: P(T(replicated) > T(observed)) + ½P(=) under the posterior, near 0 or 1 where the model does not
        make such data; ``adjusted_p_value``: two-sided and over all statistics at once, by the largest studentised
        deviation of each replicated data set. A prior that cannot be drawn from has no groups, and its reason in
        ``attrs["no_prior"]``.

    Raises
    ------
    Refused
        Without a posterior, or where its draws are too large to hold.

    References
    ----------
    Gelman, Meng, Stern (1996), Posterior predictive assessment of model fitness, Statistica Sinica 6. Westfall, Young
    (1993), Resampling-based multiple testing (the adjusted p-values, maxT).

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> tree = bc.GaussianNB(random_state=1).fit(X, y).predictive_check(X, y)
    >>> tree["observed_statistics"]["mean"].values.ravel()
    array([2.5, 1.5])
    """
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    rows = classifier.rows(X)
    codes = classifier._known_codes(checked_labels(y, len(rows)))
    posterior = classifier.hypotheses("posterior")
    if not isinstance(posterior, Hypotheses):
        raise Refused(f"{len(posterior)} draws of this posterior are too large to hold, and to replicate data from")
    rng = np.random.default_rng([classifier.seed_ if random_state is None else seed_of(random_state), STREAM])
    chosen = _some_rows(rows, rng)
    seen = _Seen(classifier.model_, rows[chosen], codes[chosen], chosen)
    groups = seen.observed()
    groups |= seen.replicated("posterior", posterior.take(rng.integers(len(posterior), size=draws)), rng)
    attributes: dict[str, Any] = {"rows": len(chosen), "of_rows": len(rows)}
    if prior:
        try:
            hypotheses = Hypotheses(classifier.model_, _prior_draws(classifier.model_, rng, draws))
            groups |= seen.replicated("prior", hypotheses, rng)
        except Refused as refusal:
            attributes["no_prior"] = str(refusal)
    p_value, adjusted = p_values(groups["posterior_statistics"], groups["observed_statistics"])
    import xarray as xr

    tree = xr.DataTree.from_dict({**groups, "p_value": p_value, "adjusted_p_value": adjusted})
    tree.attrs |= attributes
    return tree


def _some_rows(rows: Rows, rng: np.random.Generator) -> Integers:
    """Return the numbers of the rows to replicate, in order."""
    cells = sum(part.shape[1] for part in rows.parts if not sparse.issparse(part))
    most = min(len(rows), MOST_ROWS, max(MOST_CELLS // max(cells, 1), LEAST_ROWS))
    return np.sort(rng.choice(len(rows), most, replace=False))


def _prior_draws(model: Any, rng: np.random.Generator, draws: int) -> Parameters:
    """Draw hypotheses from the prior; raises `Refused` where it is improper."""
    if isinstance(model, GenerativeModel):
        return model.prior_draw(rng, draws)
    assert isinstance(model, LogisticModel)
    prior = model.weight_prior
    if prior.flat_intercept:
        raise Refused("the intercept's prior is flat, and nothing can be drawn from it")
    vectors, columns = prior.mean.shape
    noise = rng.standard_normal((draws, vectors + 1, columns))
    # The difference of two independent vectors has the correlation ½ that the symmetric prior has between labels.
    z = (noise[:, :-1] - noise[:, -1:]) / np.sqrt(2) if prior.symmetric else noise[:, :-1]
    u = prior.mean + prior.scale * z
    weight = u[:, :, 1:]
    return {"intercept": u[:, :, 0] + weight @ prior.shift, "weight": weight / model.design.scale}


@dataclass(frozen=True, eq=False)
class _Seen:
    """The rows that were seen: what is replicated, and compared with.

    Attributes
    ----------
    model
        That was fitted.
    rows
        In its encoding.
    y
        Label codes (row).
    numbers
        Of the rows in the user's table.
    """

    model: Any
    rows: Rows
    y: Integers
    numbers: Integers

    def observed(self) -> dict[str, xr.Dataset]:
        """Return the groups of what was seen."""
        import xarray as xr

        counts = np.bincount(self.y, minlength=len(self.model.labels)).astype(float)
        statistics = {"class_count_given_x": counts}
        if self.model.generative:
            statistics |= {"class_count": counts} | joined([summary.of(summary.X) for summary in self._summaries()])
        return {
            "observed_data": xr.Dataset({"y": ("row", self.y)}, coords={"row": self.numbers}),
            "observed_statistics": self._dataset({name: values[None] for name, values in statistics.items()}).isel(
                chain=0, draw=0, drop=True
            ),
        }

    def replicated(self, source: str, hypotheses: Hypotheses, rng: np.random.Generator) -> dict[str, xr.Dataset]:
        """Return the groups of what these hypotheses make, one data set each."""
        import xarray as xr

        y = np.concatenate(
            [_drawn_labels(hypotheses, self.rows[b], rng) for b in averaging.blocks(hypotheses, self.rows)]
        )
        labels = len(self.model.labels)
        statistics: dict[str, Array] = {
            "class_count_given_x": np.stack([np.bincount(of_draw, minlength=labels) for of_draw in y.T]).astype(float)
        }
        if self.model.generative:
            pi = np.broadcast_to(np.exp(hypotheses.log_class_prior()), (len(hypotheses), labels))
            statistics["class_count"] = rng.multinomial(len(self.y), pi).astype(float)
            summaries = list(self._summaries())
            made = [
                joined([summary.of(summary.made(one.parameters, self.y, rng)) for summary in summaries])
                for one in (hypotheses.take(np.array([number])) for number in range(len(hypotheses)))
            ]
            statistics |= {name: np.stack([values[name] for values in made]) for name in made[0]}
        data = xr.Dataset({"y": (("chain", "draw", "row"), y.T[None])}, coords={"row": self.numbers})
        return {f"{source}_predictive": data, f"{source}_statistics": self._dataset(statistics)}

    def _summaries(self) -> Iterator[Summary]:
        """Yield what is looked at in each block; documents are not, as the model does not say how long they are."""
        for block, part in zip(self.model.blocks, self.rows.parts, strict=True):
            if block.family.kind != "count" and not sparse.issparse(part):
                yield Summary(block, part, self.y)

    def _dataset(self, statistics: Mapping[str, Array]) -> xr.Dataset:
        """Return statistics (draw, outcome) or (draw, outcome, feature or level) with their names."""
        import xarray as xr

        names: dict[str, list[str]] = {"feature": [], "level": []}
        for summary in self._summaries() if self.model.generative else ():
            names[summary.axis] += summary.names
        dims = {
            name: ("chain", "draw", "outcome", *([AXIS_OF[name]] if name in AXIS_OF else [])) for name in statistics
        }
        coords = {"outcome": list(self.model.labels), **{axis: found for axis, found in names.items() if found}}
        return xr.Dataset({name: (dims[name], values[None]) for name, values in statistics.items()}, coords=coords)


def _drawn_labels(hypotheses: Hypotheses, rows: Rows, rng: np.random.Generator) -> Integers:
    """Draw a label for each row under each hypothesis, (row, draw)."""
    cumulative = np.cumsum(np.exp(averaging.conditional(hypotheses, rows).log_proba), axis=1)
    position = rng.random((len(rows), 1, len(hypotheses))) * cumulative[:, -1:]
    return np.asarray((position >= cumulative[:, :-1]).sum(axis=1))
