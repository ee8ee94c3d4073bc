"""Finite hypothesis spaces: the rules on a handful of hypotheses, as in the textbook examples.

A hypothesis here is a row of a table instead of a draw of parameters, and the space holds the whole posterior;
everything else, including the rules, is the same as for any other model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from bayesclf import rules
from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Flag, Instance, Several, require
from bayesclf.decisions import decide
from bayesclf.errors import InputError, Refused
from bayesclf.families.dirichlet import logs
from bayesclf.rules import Gibbs
from bayesclf.tables.columns import Rows
from bayesclf.wording import LONGEST_NAME, written

__all__ = ["FiniteSpace", "extended_with_bayes_optimal"]


@dataclass(frozen=True, eq=False)
class FiniteSpace:
    """Hypotheses h with a prior P(h), what each says about y given x, and the likelihood P(D | h) of the data so far.

    P(h | D) ∝ P(h) P(D | h).

    Parameters
    ----------
    names
        Names of the hypotheses.
    labels
        Names of the classes.
    prior
        P(h), (hypothesis), adding up to 1.
    table
        P(y | x, h), (hypothesis, x, outcome), for x = 0, 1, ….
    generative
        Whether `table` is P(x, y | h) instead, so that x is itself evidence about h.
    log_likelihood
        log P(D | h), (hypothesis), up to a constant; set by `update`.

    Raises
    ------
    InputError
        Where a table or the prior is not one of probabilities, or no hypothesis is possible.

    References
    ----------
    Aberdeen, lecture 3; Mitchell 1997 §6.7, §6.8.

    Examples
    --------
    The most probable hypothesis says +, the most probable classification is −:

    >>> space = FiniteSpace(("h1", "h2", "h3"), ("+", "-"), (0.4, 0.3, 0.3), [[[1, 0]], [[0, 1]], [[0, 1]]])
    >>> space.answers("map", 0), space.answers("bayes-optimal", 0)
    (('+',), ('-',))
    >>> space.proba("bayes-optimal", 0).round(2)
    array([[0.4, 0.6]])

    A cloudy day in spring is .1 probable if rain is to come and .5 if not:

    >>> weather = FiniteSpace(("rain", "dry"), ("rain", "dry"), (0.5, 0.5), [[[1, 0]], [[0, 1]]])
    >>> round(weather.update((0.1, 0.5)).posterior["rain"], 4)
    0.1667
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    prior: ArrayLike
    table: ArrayLike
    generative: bool = False
    log_likelihood: ArrayLike = 0.0
    exact: ClassVar[bool] = True
    in_parts: ClassVar[bool] = False
    linear_scores: ClassVar[None] = None
    linear_odds: ClassVar[None] = None
    draw_bytes: ClassVar[float] = np.inf

    def __post_init__(self) -> None:
        require(Several("names", least=1), names=self.names, labels=self.labels)
        require(Flag(), generative=self.generative)
        prior = _numbers(self.prior)
        if prior.shape != (len(self.names),) or not _adds_up(prior):
            raise InputError(f"prior must be {len(self.names)} probabilities that add up to 1, not {self.prior!r}")
        if len(set(self.names)) < len(self.names):
            raise InputError(f"names of hypotheses must differ, but these do not: {', '.join(map(repr, self.names))}")
        given = _numbers(self.log_likelihood)
        if given.shape not in ((), prior.shape) or np.isnan(given).any():
            raise InputError(f"log_likelihood must be {len(self.names)} numbers, not {given.tolist()}")
        self._check_table(_numbers(self.table))
        if np.isneginf(self._log_joint()).all():
            raise InputError("no hypothesis is possible: P(h) P(D | h) is 0 for all of them; add one that allows D")

    def _check_table(self, table: Array) -> None:
        """Raise for a table of the wrong shape, or of other numbers than probabilities."""
        if table.ndim != 3 or table.shape[::2] != (len(self.names), len(self.labels)):
            raise InputError(
                f"table must be (hypothesis, x, outcome) = ({len(self.names)}, ·, {len(self.labels)}), "
                f"not {table.shape}"
            )
        if not _adds_up(table, (1, 2) if self.generative else 2):
            raise InputError(
                "table must hold probabilities that add up to 1 over "
                + ("x and label for each hypothesis" if self.generative else "the labels for each hypothesis and x")
            )

    def _log_joint(self) -> Array:
        """Return log P(h) P(D | h), (hypothesis)."""
        return logs(_numbers(self.prior)) + _numbers(self.log_likelihood)

    @property
    def log_weights(self) -> Array:
        """log P(h | D), (hypothesis)."""
        joint = self._log_joint()
        return np.asarray(joint - logsumexp(joint))

    @property
    def posterior(self) -> dict[str, float]:
        """P(h | D) by name."""
        return dict(zip(self.names, np.exp(self.log_weights).tolist(), strict=True))

    @property
    def map(self) -> str:
        """Name of the most probable hypothesis; the first of equals."""
        return self.names[int(self._log_joint().argmax())]

    @property
    def mle(self) -> str:
        """Name of the hypothesis under which the data are most probable; the first of equals."""
        return self.names[int(np.broadcast_to(self.log_likelihood, len(self)).argmax())]

    def __len__(self) -> int:
        return len(self.names)

    def parts(self) -> Iterator[FiniteSpace]:
        """Yield itself."""
        yield self

    def take(self, draws: Integers) -> FiniteSpace:
        """Return some of the hypotheses, equally weighted."""
        names = tuple(self.names[draw] for draw in draws)
        prior, table = np.full(len(names), 1 / len(names)), _numbers(self.table)[draws]
        return FiniteSpace(names, self.labels, prior, table, self.generative)

    def rows(self, x: ArrayLike) -> Rows:
        """Return rows with these x, numbers of the table's rows."""
        values = _codes("x", np.atleast_1d(np.asarray(x)), _numbers(self.table).shape[1])
        return Rows((values,), len(values))

    def log_scores(self, rows: Rows) -> Array:
        """Return log P(y | x, h), or log P(x, y | h) in a generative space, (hypothesis, row, outcome)."""
        (x,) = rows.parts
        return logs(_numbers(self.table)[:, x])

    def log_class_prior(self) -> Array:
        """Return log P(y | h), (hypothesis, outcome); equal for all classes where there is no P(x | h)."""
        if self.generative:
            return logs(_numbers(self.table).sum(axis=1))
        return np.full((1, len(self.labels)), -np.log(len(self.labels)))

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return log p(x, y | D) = log Σ_h P(h | D) P(x, y | h), (row, outcome), in a generative space."""
        if not self.generative:
            return None
        return np.asarray(logsumexp(self.log_weights[:, None, None] + self.log_scores(rows), axis=0))

    def update(
        self, likelihood: ArrayLike | None = None, *, x: ArrayLike | None = None, y: ArrayLike | None = None
    ) -> FiniteSpace:
        """Condition on further data.

        Parameters
        ----------
        likelihood
            P(D | h), (hypothesis), up to a factor.
        x, y
            Instead: rows, x as in `rows` and y as numbers of the labels, (row) each. A discriminative space is
            conditioned on Π P(y | x, h), a generative one on Π P(x, y | h).

        Returns
        -------
        FiniteSpace
            The same hypotheses with P(h | D).
        """
        given = (likelihood is not None, x is not None, y is not None)
        if given not in ((True, False, False), (False, True, True)):
            raise InputError("update needs either the likelihoods P(D | h), or rows: both x and y")
        more = self._log_likelihood_of_rows(x, y) if likelihood is None else self._log_of(likelihood)
        return replace(self, log_likelihood=_numbers(self.log_likelihood) + more)

    def _log_of(self, likelihood: ArrayLike) -> Array:
        given = _numbers(likelihood)
        if given.shape != (len(self),) or not (np.isfinite(given) & (given >= 0)).all():
            raise InputError(f"likelihood must be {len(self)} finite numbers from 0 up, not {likelihood!r}")
        return logs(given)

    def _log_likelihood_of_rows(self, x: Any, y: Any) -> Array:
        rows, codes = self.rows(x), _codes("y", np.atleast_1d(np.asarray(y)), len(self.labels))
        if len(rows) != len(codes):
            raise InputError(f"x has {len(rows)} rows but y has {len(codes)}; give one label per row")
        return np.asarray(self.log_scores(rows)[:, np.arange(len(codes)), codes].sum(axis=1))

    def version_space(self, consistent: ArrayLike) -> FiniteSpace:
        """Return the space with P(h | D) uniform over the consistent hypotheses.

        It is the posterior of a uniform prior and deterministic hypotheses, which give the data probability 1 or 0;
        its Gibbs classifier asks one consistent hypothesis, each as likely as the other.

        Parameters
        ----------
        consistent
            True or False for each hypothesis, (hypothesis).

        References
        ----------
        Aberdeen, lecture 3 (version spaces); Mitchell 1997 §6.3, §6.8.
        """
        uniform = replace(self, prior=np.full(len(self), 1 / len(self)), log_likelihood=0.0)
        return uniform.update(np.asarray(consistent, dtype=bool).astype(float))

    def proba(self, rule: str | Gibbs, x: ArrayLike, seed: int = 0) -> Array:
        """Return P(y given x) under a rule, (row, outcome)."""
        return np.exp(self._log_proba(rule, x, seed))

    def answers(self, rule: str | Gibbs, x: ArrayLike, seed: int = 0) -> tuple[str, ...]:
        """Return the label that a rule predicts for each x."""
        log_proba = self._log_proba(rule, x, seed)
        resolved, gibbs = rules.resolve(rule)
        codes = gibbs.decide(log_proba, seed) if resolved.name == "gibbs" else decide(log_proba)
        return tuple(self.labels[code] for code in codes)

    def _log_proba(self, rule: str | Gibbs, x: ArrayLike, seed: int) -> Array:
        """Return log P(y given x) of the hypotheses that the rule uses."""
        resolved, _ = rules.resolve(rule)
        if resolved.source == "mean":
            raise Refused("hypotheses that are no numbers have no mean; use the rule 'map' or 'bayes-optimal'")
        if resolved.source == "tempered":
            raise Refused("a finite space leaves out no rows to learn T from; use the rule 'map' or 'bayes-optimal'")
        asked = self
        if resolved.source in ("map", "mle"):
            name = self.map if resolved.source == "map" else self.mle
            asked = self.take(np.array([self.names.index(name)]))
        return rules.log_proba(rule, asked, self.rows(x), seed)


def extended_with_bayes_optimal(
    space: FiniteSpace, prior_of_new: ArrayLike, name: str = "h3", probabilistic: bool = False
) -> FiniteSpace:
    """Return H' = H ∪ {h3}, h3 the Bayes-optimal classifier of H, under a prior P' and before any data.

    Condition H' on the data of H by `update`. Its MAP hypothesis is h3 iff P'(h3) P(D | h3) exceeds that of all others.
    Its Bayes-optimal classifier answers as h3 does where H keeps its prior ratios, as H then contributes the average
    that h3 decides by. So it does wherever P'(h3 | D) > 1/2, as a classifier holds its answer for certain. This does
    not hold for a `probabilistic` h3, which can be outvoted.

    Parameters
    ----------
    space
        H, conditioned on the data.
    prior_of_new
        P'(h3), the others sharing the rest in their old ratios; or P' of all hypotheses, h3 the last.
    name
        What to call h3.
    probabilistic
        Whether h3 answers with H's averaged probabilities rather than with its most probable class for certain.

    Raises
    ------
    Refused
        For a generative space: a classifier has no P(x | h).

    References
    ----------
    Mitchell, exercise 4; Mitchell 1997 §6.7.

    Examples
    --------
    >>> H = FiniteSpace(("h1", "h2"), ("+", "-"), (0.6, 0.4), [[[0.6, 0.4]], [[0.1, 0.9]]])
    >>> H.answers("map", 0), H.answers("bayes-optimal", 0)
    (('+',), ('-',))
    >>> extended_with_bayes_optimal(H, 0.1).answers("bayes-optimal", 0)
    ('-',)
    >>> extended_with_bayes_optimal(H, (0.9, 0.05, 0.05)).answers("bayes-optimal", 0)
    ('+',)
    """
    require(Instance(FiniteSpace), space=space)
    require(Flag(), probabilistic=probabilistic)
    if space.generative:
        raise Refused("h3 is a classifier, without a P(x | h), so it cannot join a generative space; use P(y | x, h)")

    rows = space.rows(np.arange(_numbers(space.table).shape[1]))
    averaged = np.exp(rules.bayes_optimal(space, rows))
    new = averaged if probabilistic else np.eye(len(space.labels))[averaged.argmax(axis=1)]
    prior = _numbers(prior_of_new)
    if prior.ndim == 0:
        prior = np.append((1 - prior) * _numbers(space.prior), prior)
    return FiniteSpace((*space.names, name), space.labels, prior, np.concatenate([_numbers(space.table), new[None]]))


def _codes(name: str, values: NDArray[Any], size: int) -> Integers:
    """Return positions along an axis of a table, or raise."""
    if not values.size:
        return np.empty(0, dtype=np.intp)
    if values.ndim > 1 or values.dtype.kind not in "iu" or not 0 <= values.min() <= values.max() < size:
        raise InputError(f"{name} must be whole numbers from 0 to {size - 1}, not {values.tolist()}")
    return values.astype(np.intp)


def _numbers(values: Any) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"hypotheses need numbers, not {written(values, LONGEST_NAME)}") from None


def _adds_up(values: Array, axis: int | tuple[int, ...] = 0) -> bool:
    """Return whether these are probabilities that add up to 1 over `axis`."""
    return bool((values >= 0).all() and np.allclose(values.sum(axis=axis), 1))
