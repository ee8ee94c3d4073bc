"""Rules: from a posterior to class probabilities, written once for all models.

A posterior is a weighted set of hypotheses h_s, each of which gives P(y | x, h_s).

================= ==============================================================================
rule              P(y = k given x)
================= ==============================================================================
``mle``           P(k | x, θ_MLE)
``map``           P(k | x, θ_MAP): of the most probable hypothesis
``mean``          P(k | x, E[θ | D])
``bayes-optimal`` Σ_s w_s P(k | x, h_s)
``predictive``    p(x, k | D) / p(x | D): generative models, where the new x is itself evidence about θ;
                  for discriminative ones it is ``bayes-optimal``
``tempered``      Σ_s w_s P(k | x, T_s, b_s), P ∝ π_k exp(b_k + T log p(x | k, D)): how far a generative model is to
                  be believed, learned from rows left out (`bayesclf.models.tempered`); for discriminative ones it is
                  ``bayes-optimal``
``gibbs``         P(k | x, h_s) of one drawn hypothesis
================= ==============================================================================

"Bayes-optimal" means averaged over the posterior (Aberdeen; Mitchell 1997 §6.7), not the rule that knows the true
distribution, as some texts have it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Choice, require
from bayesclf.errors import InputError, PredictionWarning, warn
from bayesclf.posterior.averaging import answers, average_proba, conditional
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.tables.columns import Rows
from bayesclf.wording import LONGEST_NAME, did_you_mean, written

__all__ = [
    "RULES",
    "Gibbs",
    "Rule",
    "bayes_optimal",
    "log_proba",
    "predictive",
    "resolve",
]


@dataclass(frozen=True)
class Rule:
    """A rule, as tables name and explain it.

    Attributes
    ----------
    name
        Its name.
    source
        The hypotheses it asks: ``"mle"``, ``"map"`` or ``"mean"``, a point that is a set of one hypothesis;
        ``"posterior"``; or ``"tempered"``, draws of (T, b).
    summary
        What it does, in a few words.
    """

    name: str
    source: str
    summary: str

    @property
    def averages(self) -> bool:
        """Whether it needs a posterior rather than a point."""
        return self.source in ("posterior", "tempered")


RULES = {
    rule.name: rule
    for rule in (
        Rule("mle", "mle", "plug in the maximum likelihood estimate"),
        Rule("map", "map", "plug in the most probable parameters"),
        Rule("mean", "mean", "plug in the posterior mean of the parameters"),
        Rule("bayes-optimal", "posterior", "average the hypotheses' predictions over the posterior"),
        Rule("predictive", "posterior", "average, with the new x as one row more"),
        Rule("tempered", "tempered", "average, with the confidence adjusted to predict left-out rows well"),
        Rule("gibbs", "posterior", "ask one hypothesis drawn from the posterior"),
    )
}
"""Rules by name, in the order in which tables show them."""


def resolve(rule: str | Gibbs) -> tuple[Rule, Gibbs]:
    """Return the rule, named in small or capital letters, and its Gibbs settings; raises `InputError` for others."""
    if isinstance(rule, Gibbs):
        return RULES["gibbs"], rule
    if not isinstance(rule, str) or rule.lower() not in RULES:
        raise unknown(rule)
    return RULES[rule.lower()], _GIBBS


def unknown(rule: object) -> InputError:
    """Return the error for what is no rule; it lists the rules."""
    shown = written(rule, LONGEST_NAME)
    return InputError(f"unknown rule {shown}{did_you_mean(rule, RULES)}; the rules are {', '.join(RULES)}")


def log_proba(rule: str | Gibbs, hypotheses: HypothesisSet, rows: Rows, seed: int = 0) -> Array:
    """Return log P(y = k given x) under a rule, shape (row, outcome)."""
    resolved, gibbs = resolve(rule)
    match resolved.name:
        case "gibbs":
            return gibbs.log_proba(hypotheses, rows, seed)
        case "predictive":
            return predictive(hypotheses, rows)
        case _:  # a plug-in rule is the average over its one hypothesis
            return bayes_optimal(hypotheses, rows)


def bayes_optimal(hypotheses: HypothesisSet, rows: Rows) -> Array:
    """Return log Σ_s w_s P(k | x, h_s), shape (row, outcome). A single hypothesis is its own average."""
    return _averaged(hypotheses, rows, given_x=False)


def _averaged(hypotheses: HypothesisSet, rows: Rows, given_x: bool, numbers: Integers | None = None) -> Array:
    """Return log Σ_s w_s P(k | x, h_s), (row, outcome), and warn of rows that no hypothesis thinks possible."""
    log_proba, impossible = average_proba(hypotheses, rows, given_x, numbers)
    warn_impossible(impossible)
    return log_proba


def warn_impossible(impossible: NDArray[np.bool_]) -> None:
    """Say how many rows have probability zero under every class."""
    if impossible.any():
        warn(
            f"{int(impossible.sum())} of {len(impossible)} rows get the class prior, as every class gives them "
            "probability 0; use a rule with smoothing, such as 'map' or 'bayes-optimal'",
            PredictionWarning,
        )


def predictive(hypotheses: HypothesisSet, rows: Rows) -> Array:
    """Return log P(k | x, D) = log p(x, k | D) − log p(x | D), shape (row, outcome).

    Where it has no closed form, it is the average of p(x, k | h_s), refused when too few draws carry the weight.
    """
    if not hypotheses.generative:
        return bayes_optimal(hypotheses, rows)
    joint = hypotheses.log_predictive(rows)
    if joint is None:
        return _averaged(hypotheses, rows, given_x=True)
    by_draws = np.flatnonzero(np.isnan(joint).any(axis=1))
    if len(by_draws):
        joint[by_draws] = _averaged(hypotheses, rows[by_draws], given_x=True, numbers=by_draws)
    impossible = np.isneginf(joint).all(axis=1)
    if impossible.any():
        warn_impossible(impossible)
        prior = logsumexp(hypotheses.log_weights[:, None] + hypotheses.log_class_prior(), axis=0)
        joint = np.where(impossible[:, None], prior, joint)
    return np.asarray(log_softmax(joint, axis=1))


GIVEN = Choice(("data", "data and x"))
"""What the Gibbs classifier's hypothesis is drawn given."""


FEW_ROWS = 32
"""Rows that are evaluated under more hypotheses than their own: below this, calls cost more than what they compute."""


FEW_ROWS_BYTES = 2**22
"""Size of the hypotheses of such rows."""


@dataclass(frozen=True)
class Gibbs:
    """The Gibbs classifier: one hypothesis is drawn for each row, and answers.

    Parameters
    ----------
    draw : str or int
        ``"hypothesis"``: the drawn hypothesis's most probable class is predicted; ``"label"``: a class drawn from its
        probabilities. A number i, from 0: hypothesis i of the posterior answers every row, nothing is drawn.
    given : str
        ``"data"``: h is drawn from P(h | D); ``"data and x"``: from P(h | D, x), which for generative models is what
        the twofold bound needs.

    References
    ----------
    Mitchell 1997 §6.8; Aberdeen, lecture 3.
    """

    draw: str | int = "hypothesis"
    given: str = "data"
    _before: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.draw, str | bool):
            one_of = self.draw in ("hypothesis", "label")
        else:
            one_of = isinstance(self.draw, int | np.integer) and self.draw >= 0
        if not one_of:
            raise InputError(f"draw must be 'hypothesis', 'label' or the number of a hypothesis, not {self.draw!r}")
        require(GIVEN, given=self.given)
        if not isinstance(self.draw, str) and self.given != "data":
            raise InputError(
                f"Gibbs({self.draw}) draws nothing, so given={self.given!r} would change nothing; leave it out"
            )

    def log_proba(self, hypotheses: HypothesisSet, rows: Rows, seed: int) -> Array:
        """Return log P(k | x, h_s), shape (row, outcome), s a function of (seed, row number in the table) alone."""
        if not isinstance(self.draw, str):
            if self.draw >= len(hypotheses):
                raise InputError(f"there is no hypothesis {self.draw}: the posterior has 0 to {len(hypotheses) - 1}")
            return self._log_proba_of(hypotheses, rows, np.full(len(rows), self.draw))
        position = self._positions([seed, 0], len(rows))
        if self.given == "data":
            return self._log_proba_of(hypotheses, rows, _pick(np.exp(hypotheses.log_weights), position))
        log_proba, impossible = [], []
        for some in answers(hypotheses, rows, given_x=True):
            each = np.arange(len(some))
            weights = np.broadcast_to(some.weights, some.total.shape)
            drawn = _pick(weights, position[some.first : some.first + len(some)])
            log_proba.append(some.log_proba[each, :, drawn])
            impossible.append(some.impossible[each, drawn])
        warn_impossible(np.concatenate(impossible))
        return np.concatenate(log_proba)

    def decide(self, log_proba: Array, seed: int) -> Integers:
        """Return label codes (row), from the drawn hypotheses' probabilities."""
        if self.draw != "label":
            return np.asarray(log_proba.argmax(axis=1))
        return _pick(np.exp(log_proba), self._positions([seed, 1], len(log_proba)))

    def after(self, rows: int) -> Gibbs:
        """Return the classifier of rows before which a table has so many others: their draws are those of the table."""
        later = replace(self)
        object.__setattr__(later, "_before", rows)
        return later

    def _positions(self, seed: list[int], rows: int) -> Array:
        """Return uniform numbers (row), each a function of the seed and of the row's number in its table."""
        rng = np.random.Generator(np.random.PCG64(seed).advance(self._before))
        return rng.random(rows)

    @staticmethod
    def _log_proba_of(hypotheses: HypothesisSet, rows: Rows, drawn: Integers) -> Array:
        """Evaluate each row under its own hypothesis, the rows of one together, or of a few where one has few rows."""
        if hypotheses.linear_scores is not None:
            return np.asarray(log_softmax(hypotheses.linear_scores.own(rows, drawn), axis=1))
        log_proba = np.empty((len(rows), len(hypotheses.labels)))
        impossible = np.zeros(len(rows), dtype=bool)
        order = np.argsort(drawn, kind="stable")
        together = max(1, min(FEW_ROWS, int(FEW_ROWS_BYTES / max(hypotheses.draw_bytes, 1))))
        parts = np.split(order, _starts(drawn[order], together)) if len(order) else []
        for index in parts:
            values, own = np.unique(drawn[index], return_inverse=True)
            answer = conditional(hypotheses.take(values), rows[index])
            each = np.arange(len(index))
            log_proba[index] = answer.log_proba[each, :, own]
            impossible[index] = answer.impossible[each, own]
        warn_impossible(impossible)
        return log_proba


def _starts(drawn: Integers, least: int) -> list[int]:
    """Return where sorted hypothesis numbers (row) are cut into parts of at least so many rows, but the last."""
    starts, begin = [], 0
    for start in (np.flatnonzero(np.diff(drawn)) + 1).tolist():
        if start - begin >= least:
            starts.append(start)
            begin = start
    return starts


def _pick(weights: Array, position: Array) -> Integers:
    """Return, for each row, the index at which the cumulative weights (last axis) pass `position` in [0, 1)."""
    cumulative = np.cumsum(weights, axis=-1)
    target = position * cumulative[..., -1]
    if cumulative.ndim == 1:
        return np.minimum(np.searchsorted(cumulative, target, side="right"), len(cumulative) - 1)
    return np.asarray((cumulative <= target[:, None]).sum(axis=1).clip(max=cumulative.shape[1] - 1))


_GIBBS = Gibbs()
"""The settings of ``"gibbs"`` where it is named."""


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
