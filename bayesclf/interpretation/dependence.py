"""Which columns depend on each other given the class, pair by pair, by exact evidence.

The evidence that two columns depend compares one block for both with one for each, given the class. The independent
columns have the joint prior's own marginals. So the two hypotheses say the same about each column alone, and differ
only in the dependence. The evidence is a product over classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, gammaln, logsumexp, multigammaln

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.display import MOST_LINES, Display, Displayed
from bayesclf.errors import InputError, Refused
from bayesclf.families.dirichlet import log_beta
from bayesclf.families.networks.trees import EQUIVALENT_ROWS
from bayesclf.models.generative import independent_groups
from bayesclf.tables import columns
from bayesclf.tables.columns import SparseTable
from bayesclf.wording import counted, first_upper, joined, number

BINS = 4
"""Bins of a number beside a category."""

PROBABLE = 0.5
"""Probability above which two columns are called dependent."""

MOST_COLUMNS = 500
"""Columns above which pairs are not looked at."""

MOST_TRIED = 40
"""Columns above which their pairs are not looked at for advice, as that takes seconds."""

NAMED = 3
"""Pairs that a sentence names."""

FREEDOM = 3.0
"""Degrees of freedom of the inverse Wishart: with 3, two columns' correlation is uniform on (−1, 1)."""

JOIN = "Join them: bc.NaiveBayes(blocks=bc.dependent_pairs(clf, X, y).blocks)."

OTHER_MODEL = "Take a model that lets them depend on each other, such as BayesNetClassifier or LogisticRegression."

NONE = "No two columns that the model takes for independent probably depend on each other."

JOINT_FAMILIES = {"categories": "joint", "numbers": "multivariate-gaussian", "mixed": "conditional-gaussian"}
"""Family of a block of two columns, by the kind of the pair."""


@dataclass(frozen=True, eq=False, repr=False)
class DependentPairs(Displayed):
    """The evidence that pairs of columns depend on each other given the class, what `dependent_pairs` returns.

    Attributes
    ----------
    table
        One row per pair, the most probable first: `first` and `second`, the columns; `kind`, ``"categories"``,
        ``"numbers"`` or ``"mixed"``; `rows` with both cells; `log_bayes_factor`, log P(rows | dependent) −
        log P(rows | independent); `probability` that they depend; and `joined`, whether the model lets them.
    prior_odds
        Of each pair, for dependence.
    """

    table: pd.DataFrame
    prior_odds: float

    @property
    def to_join(self) -> tuple[tuple[str, str], ...]:
        """Pairs that probably depend on each other and that the model takes for independent, most probable first."""
        wanted = self.table[(self.table["probability"] > PROBABLE) & ~self.table["joined"]]
        return tuple(zip(wanted["first"], wanted["second"], strict=True))

    @property
    def blocks(self) -> dict[tuple[str, str], str]:
        """Those of `to_join` that can be blocks together, as ``NaiveBayes(blocks=…)`` takes them.

        A column belongs to one block, so that the most probable pairs go first. Columns that are in a block already are
        left out.
        """
        found: dict[tuple[str, str], str] = {}
        taken = {name for line in self.table[self.table["joined"]].itertuples() for name in (line.first, line.second)}
        kinds = {(line.first, line.second): str(line.kind) for line in self.table.itertuples()}
        for pair in self.to_join:
            if taken.isdisjoint(pair):
                found[pair] = JOINT_FAMILIES[kinds[pair]]
                taken.update(pair)
        return found

    @property
    def sentence(self) -> str:
        """Which pairs probably depend on each other that the model takes for independent; empty if none does."""
        pairs = [f"{first!r} with {second!r}" for first, second in self.to_join]
        more = [f"{len(pairs) - NAMED} more"] if len(pairs) > NAMED else []
        shown = joined([*pairs[:NAMED], *more])
        return f"taken for independent, but probably dependent given the class: {shown}" if pairs else ""

    def _display(self) -> Display:
        headline = f"Dependence of {counted(len(self.table), 'pair')} of columns given the class"
        shown = self.table.head(MOST_LINES).drop(columns="kind").round({"log_bayes_factor": 1, "probability": 3})
        lines = list(shown.astype(str).itertuples(index=False, name=None))
        advice = JOIN if self.blocks else OTHER_MODEL
        sentences = (f"{first_upper(self.sentence)}.", advice) if self.to_join else (NONE,)
        prior = f"Prior odds of a pair: {number(self.prior_odds, 2)}."
        left_out = len(self.table) - len(lines)
        return Display(headline, tuple(map(str, shown)), lines, left_out=left_out, sentences=(*sentences, prior))


def dependent_pairs(classifier: BayesClassifier, X: Any, y: Any) -> DependentPairs:
    """Compare "dependent given the class" with "independent given the class" for each pair of columns.

    X_a and X_b are conditionally independent given Y if P(X_a | X_b, Y) = P(X_a | Y), as Thunder and Rain are given
    Lightning. Naive Bayes assumes it of all pairs. Here the exact evidence of one block of both columns is compared
    with the evidence of a block for each: P(dependent) = odds/(1 + odds), odds = Bayes factor · prior odds. With d
    columns, the prior odds of a pair are 2/d: about d − 1 pairs are expected, as many as a tree has edges.

    ============ ===================================================================================================
    pair         dependent, against independent under the marginals of the same prior
    ============ ===================================================================================================
    categories   θ_y ~ Dirichlet(N'/(rs)), N' averaged over ½, 1, …, 32, against Dirichlet(N'/r) and Dirichlet(N'/s)
    numbers      jointly normal, Σ_y ~ inverse Wishart(3, diagonal), the correlation uniform a priori, against one
                 normal each: linear dependence therefore
    mixed        the number in four bins of equal size within each class, then as two categories
    ============ ===================================================================================================

    A number with at most four different values is a category of these values. Rows that lack one of the two cells are
    left out, and columns of one value; under ``missing="level"`` a missing cell is a level of its own, unless both are
    compared as numbers. The pairs are compared one at a time: two columns that depend on a third depend on each other
    too. To look for a dependence of numbers that is not linear, cut them into categories first, as by `pandas.qcut`.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted, generative, of a table of columns.
    X, y
        Its training rows, or others like them: table (row, feature) and labels (row).

    Returns
    -------
    DependentPairs
        The pairs with their evidence, and the blocks to join.

    Raises
    ------
    Refused
        For a model without conditional independence to look at: logistic regression, text and sparse tables; and for
        more than 500 columns.

    References
    ----------
    Mitchell §2 (conditional independence; Rain, Thunder and Lightning); Heckerman, Geiger & Chickering (1995); Geiger
    & Heckerman (2002).

    Examples
    --------
    >>> import bayesclf as bc
    >>> votes = bc.datasets.load("votes")
    >>> clf = bc.CategoricalNB(random_state=1).fit(votes.X, votes.y)
    >>> found = bc.dependent_pairs(clf, votes.X, votes.y)
    >>> found.to_join[0]
    ('el_salvador_aid', 'aid_to_nicaraguan_contras')
    """
    frame = _table(classifier, X)
    codes = classifier.known_codes(checked_labels(y, len(frame)))
    model = classifier.model_
    group = independent_groups(model.blocks)
    kept = [column for column in classifier.columns_ if column.name in group]
    if len(kept) > MOST_COLUMNS:
        raise Refused(
            f"dependence is measured between {MOST_COLUMNS} columns at most, but the model uses "
            f"{len(kept):,}; fit it on fewer"
        )
    level = classifier.missing == "level"
    kept = [column for column in kept if frame[column.name].nunique(dropna=not level) > 1]
    names = [column.name for column in kept]
    compared = [_column(frame[column.name], column.kind, codes, level) for column in kept]
    labels, odds = len(classifier.classes_), 2 / max(len(names), 2)
    linear, lines = _linear(compared, codes, labels), []
    known = frame[names].notna().to_numpy().T
    for i, j in combinations(range(len(names)), 2):
        a, b = compared[i], compared[j]
        if (i, j) in linear:
            kind, both, found = "numbers", known[i] & known[j], linear[i, j]
        else:
            kind = "categories" if a.values is None and b.values is None else "mixed"
            both = (a.codes >= 0) & (b.codes >= 0)
            found = log_evidence_of_table(_counts(a.codes[both], b.codes[both], codes[both], labels))
        joins = group[names[i]] == group[names[j]]
        lines.append((names[i], names[j], kind, int(both.sum()), found, expit(found + np.log(odds)), joins))
    heads = ["first", "second", "kind", "rows", "log_bayes_factor", "probability", "joined"]
    table = pd.DataFrame(lines, columns=heads).sort_values("log_bayes_factor", ascending=False, ignore_index=True)
    return DependentPairs(table.astype({"joined": bool}), odds)


def may_help(tried: Sequence[BayesClassifier], X: Any, y: Any, boosting: bool = False) -> str:
    """Return what may help where no fitted classifier of `tried` is clearly better than the class shares.

    Columns are joined where they probably depend on each other, and no network was tried.

    Parameters
    ----------
    tried
        The classifiers.
    X, y
        Their training rows.
    boosting
        Whether gradient boosting is clearly better than they are.
    """
    joins = not any(hasattr(one, "structure") for one in tried) and any(_depend(one, X, y) for one in tried)
    join = "compare bc.BayesNetClassifier() too, which joins columns (--models tan)"
    if boosting:
        step = f"{f'{join}, or ' * joins}use gradient boosting, in Python comparison.peers['boosting']"
        return f"these columns tell more than the models use, as gradient boosting shows; {step}"
    gather = f"gather rows, or columns that differ between the classes{f', or {join}' * joins}"
    return f"{gather}; in Python, bc.learning_curve(models, X, y) shows whether more rows help"


def _depend(classifier: BayesClassifier, X: Any, y: Any) -> bool:
    """Return whether few columns have some that a classifier takes for independent and that probably are not."""
    try:
        return len(classifier.columns_) <= MOST_TRIED and bool(dependent_pairs(classifier, X, y).to_join)
    except Refused:
        return False


@dataclass(frozen=True, eq=False)
class _Column:
    """The level codes of a column, negative where a cell is missing, and its numbers, where it is compared as such."""

    codes: Integers
    values: Array | None


def _table(classifier: BayesClassifier, X: Any) -> pd.DataFrame:
    """Return the table of a classifier that takes columns for independent, or refuse."""
    if not isinstance(classifier, BayesClassifier):
        raise InputError(f"dependent_pairs takes a fitted bayesclf classifier, not {classifier!r}")
    frame = classifier.frame(X)
    if not classifier.model_.generative:
        raise Refused(
            f"{type(classifier).__name__} assumes nothing about how columns depend on each other; ask NaiveBayes, "
            "fitted on the same rows"
        )
    if isinstance(frame, SparseTable) or classifier.columns_[0].kind == "text":
        raise Refused("dependence is looked at between columns of a table; text and sparse tables have words instead")
    return frame


def _column(column: pd.Series, kind: str, y: Integers, level: bool) -> _Column:
    """Return the cells of a column; a number's codes are its bin within the row's class."""
    codes, values = pd.factorize(column)[0], None
    if kind != "category" and codes.max(initial=-1) >= BINS:
        (values,) = columns.numbers(column.to_frame(), (str(column.name),)).T
        known, codes = ~np.isnan(values), np.full(len(values), -1)
        for k in np.unique(y[known]):
            own = np.flatnonzero((y == k) & known)
            cuts = np.quantile(values[own], np.arange(1, BINS) / BINS, method="inverted_cdf")
            codes[own] = np.searchsorted(cuts, values[own])
    if level:
        codes = np.where(codes < 0, codes.max(initial=-1) + 1, codes)
    return _Column(codes, values)


def _counts(first: Integers, second: Integers, y: Integers, labels: int) -> Array:
    """Return the rows with each pair of codes, (outcome, level, level); levels that no such row has are left out."""
    if not len(y):
        return np.zeros((labels, 1, 1))
    a, b = (np.unique(codes, return_inverse=True) for codes in (first, second))
    found = np.zeros((labels, len(a[0]), len(b[0])))
    np.add.at(found, (y, a[1], b[1]), 1)
    return found


def _linear(compared: list[_Column], y: Integers, labels: int) -> dict[tuple[int, int], float]:
    """Return the log Bayes factors of all pairs of numbers, all at once, by their places."""
    numbers = {place: column.values for place, column in enumerate(compared) if column.values is not None}
    if len(numbers) < 2:
        return {}
    places, X = list(numbers), np.column_stack(list(numbers.values()))
    known = ~np.isnan(X)
    X = _standardized(X, known, y, labels)
    n, first, second, cross = (np.zeros((labels, len(places), len(places))) for _ in range(4))
    for k in range(labels):
        seen, cells = known[y == k].astype(float), X[y == k]
        n[k] = seen.T @ seen
        total = cells.T @ seen  # of the first, over the rows that have both
        share = np.divide(1, n[k], out=np.zeros_like(n[k]), where=n[k] > 0)
        first[k] = np.maximum((cells**2).T @ seen - total**2 * share, 0)
        second[k], cross[k] = first[k].T, cells.T @ cells - total * total.T * share
    found = log_evidence_of_scatter(n, first, second, cross)
    return {(places[i], places[j]): float(found[i, j]) for i, j in combinations(range(len(places)), 2)}


def _standardized(X: Array, known: Any, y: Integers, labels: int) -> Array:
    """Return numbers as deviations from their class means, in units of their sd, 0 where they are missing."""
    largest = np.abs(np.where(known, X, 0.0)).max(axis=0)
    X = np.where(known, X / np.where(largest > 0, largest, 1.0), 0.0)  # whatever the unit, squares do not overflow
    for k in range(labels):
        own = y == k
        seen = np.maximum(known[own].sum(axis=0), 1)
        X[own] = np.where(known[own], X[own] - X[own].sum(axis=0) / seen, 0.0)
    scale = np.sqrt((X**2).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
    return np.asarray(X / np.where(scale > 0, scale, 1.0))


def log_evidence_of_table(counts: Array, equivalent_rows: tuple[float, ...] = EQUIVALENT_ROWS) -> float:
    """Return log P(D | dependent) − log P(D | independent) of two categorical columns.

    A class's cells have θ ~ Dirichlet(N'/(rs)) if dependent; if not, the two columns have Dirichlet(N'/r) and
    Dirichlet(N'/s), the marginals of the former. N' is averaged over. A class in which a column has one value only
    tells nothing of dependence and is left out: there the prior would prefer the concentrated table for itself.

    `counts`: Rows of each class with each pair of values, (outcome, level, level). `equivalent_rows`: Values of N',
    each as probable.

    See Good (1965), *The Estimation of Probabilities*, MIT Press, §5 (contingency tables); Heckerman, Geiger &
    Chickering (1995), Machine Learning 20, eq 28 (BDeu).

    Examples
    --------
    >>> import numpy as np
    >>> round(log_evidence_of_table(np.array([[[5.0, 0.0], [0.0, 5.0]]]), (4.0,)), 3)  # the log of 55.6
    4.018
    """
    varied = ((counts.sum(axis=2) > 0).sum(axis=1) > 1) & ((counts.sum(axis=1) > 0).sum(axis=1) > 1)
    if not varied.any():
        return 0.0
    counts, joint, apart = counts[varied], [], []
    for rows in equivalent_rows:
        pair = _log_dirichlet(counts.reshape(len(counts), -1), rows)
        joint.append(pair)
        apart.append(_log_dirichlet(counts.sum(axis=2), rows) + _log_dirichlet(counts.sum(axis=1), rows))
    return float(logsumexp(joint) - logsumexp(apart))


def _log_dirichlet(counts: Array, rows: float) -> float:
    """Return the log evidence of counts (outcome, cell) under Dirichlets with `rows` spread over their cells."""
    alpha, size = np.full(counts.shape, rows / counts.shape[1]), counts.shape[1:]
    return float((log_beta(counts + alpha, size) - log_beta(alpha, size)).sum())


def log_evidence_of_scatter(n: Array, first: Array, second: Array, cross: Array) -> Array:
    """Return log P(D | dependent) − log P(D | independent) of pairs of numbers, (…).

    In each class the columns are jointly normal with Σ ~ inverse Wishart(3, I) if dependent; if not, each is normal
    with σ² ~ inverse gamma(1, 1/2), the marginal of the former. The evidence is that of a class's deviations from its
    means, n − 1 independent contrasts, so that the means need no prior. With Λ(ν, Ψ) the normalizer of the inverse
    Wishart, each class adds the log of

        Λ₂(3 + n − 1, I + S)/Λ₂(3, I) · Π_j Λ₁(2, 1)/Λ₁(2 + n − 1, 1 + S_jj).

    `n`: Rows of each class, (outcome, …). `first`, `second`, `cross`: Sums of squares and products of deviations in
    each class, (outcome, …), in units in which a column's variance within the classes is about 1.

    See Geiger & Heckerman (2002), *Parameter priors for directed acyclic graphical models and the characterization of
    several probability distributions*, Annals of Statistics 30; Murphy (2007), *Conjugate Bayesian analysis of the
    Gaussian distribution*, §8 (inverse Wishart).

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> print(log_evidence_of_scatter(50 * one, 49 * one, 49 * one, 0 * one).round(2))  # no correlation
    -2.18
    >>> print(log_evidence_of_scatter(one, 0 * one, 0 * one, 0 * one))  # one row has no deviation
    0.0
    """
    contrasts = np.maximum(n - 1, 0.0)
    nu = FREEDOM + contrasts
    a, b = 1 + first, 1 + second
    # log det(I + S), relative to the product of its diagonal, which the marginals share
    log_remaining = np.log1p(-np.minimum(cross**2 / (a * b), 1 - np.finfo(float).eps))
    of_joint = multigammaln(nu / 2, 2) - nu / 2 * (np.log(a) + np.log(b) + log_remaining)
    of_columns = 2 * gammaln((nu - 1) / 2) - (nu - 1) / 2 * (np.log(a) + np.log(b))
    constant = multigammaln(FREEDOM / 2, 2) - 2 * gammaln((FREEDOM - 1) / 2)
    return np.asarray((of_joint - of_columns - constant).sum(axis=0))
