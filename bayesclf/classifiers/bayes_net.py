"""Bayesian network classifiers: within a class, columns depend on each other along the edges of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from bayesclf.classifiers.generative import GenerativeClassifier
from bayesclf.classifiers.joint import categories
from bayesclf.classifiers.learnt import ColumnBlock, FrozenPrior
from bayesclf.families import BayesianNetwork
from bayesclf.families.network import LEARNT
from bayesclf.families.structure import Edge
from bayesclf.inference import Engine
from bayesclf.rules import Gibbs
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd


class BayesNetClassifier(GenerativeClassifier):
    """P(x, y) = π_y Π_j P(x_j | x_parents(j), y), a Dirichlet for each configuration of class and parents.

    ``structure="tan"`` is tree-augmented naive Bayes: each column has one parent at most beside the class, along the
    tree of greatest information given the class, learnt from all rows so far. The posterior is that of the
    probabilities given the tree, whose own uncertainty is not in it. Columns are categories; numbers are refused.

    Parameters
    ----------
    structure
        ``"tan"``, or edges as pairs of column names, (parent, child), for every class.
    alpha
        Concentration of each cell, above 0: a number, or an array that broadcasts to (outcome, cell).
    basis
        As in `CategoricalNB`.
    class_prior, class_concentration, missing, unseen, inference, rule, random_state, prior
        As for every `bayesclf.classifiers.generative.GenerativeClassifier`.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X = [["a", "a"], ["b", "b"], ["a", "b"], ["b", "a"]]
    >>> clf = bc.BayesNetClassifier(random_state=1).fit(X, ["equal", "equal", "not", "not"])
    >>> clf.edges_
    (('x0', 'x1'),)
    >>> print(clf.predict(X))
    ['equal' 'equal' 'not' 'not']

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), *Bayesian network classifiers*, Machine Learning 29; Aberdeen.
    """

    def __init__(
        self,
        structure: Any = LEARNT,
        *,
        alpha: float | Array = 2.0,
        basis: str = "simplex",
        class_prior: Any = "dirichlet",
        class_concentration: float | Array = 1.0,
        missing: str = "ignore",
        unseen: str = "ignore",
        inference: str | Engine = "auto",
        rule: str | Gibbs | None = None,
        random_state: Any = None,
        prior: FrozenPrior | None = None,
    ) -> None:
        self.structure = structure
        self.alpha = alpha
        self.basis = basis
        self.class_prior = class_prior
        self.class_concentration = class_concentration
        self.missing = missing
        self.unseen = unseen
        self.inference = inference
        self.rule = rule
        self.random_state = random_state
        self.prior = prior

    @property
    def edges_(self) -> tuple[Edge, ...]:
        """The edges in use, (parent, child)."""
        check_is_fitted(self, "classes_")
        edges: list[Edge] = []
        for block in self.model_.blocks:
            if isinstance(block.family, BayesianNetwork) and not isinstance(block.family.edges, str):
                edges += block.family.edges
        return tuple(edges)

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold categories."""
        names = categories(frame, "a Bayesian network")
        return (ColumnBlock(BayesianNetwork(self.alpha, self.basis, edges=self.structure), names),)
