"""Dependence within a class: along the edges of a graph, or of all columns with all (the joint table)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from bayesclf.classifiers.generative import GenerativeClassifier, is_exact, own_options_first
from bayesclf.classifiers.training import ColumnBlock
from bayesclf.errors import Refused
from bayesclf.families import BayesianNetwork, JointTable
from bayesclf.families.networks.network import LEARNT
from bayesclf.families.networks.structure import Edge
from bayesclf.tables import columns
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd


@own_options_first
@dataclass(eq=False, repr=False)
class BayesNetClassifier(GenerativeClassifier):
    """P(x, y) = π_y Π_j P(x_j | x_parents(j), y), a Dirichlet for each configuration of class and parents.

    ``structure="tan"`` is tree-augmented naive Bayes: each column has at most one parent in addition to the class,
    along the tree of greatest information given the class, learned from all rows so far. The posterior is that of the
    probabilities given the tree, and ignores the uncertainty of the tree. Columns are categories; numbers are refused.

    Parameters
    ----------
    structure : "tan" or sequence of pairs
        ``"tan"``, or edges as pairs of column names, (parent, child), for every class.
    alpha : float or array
        Concentration of each cell, above 0: a number, or an array that broadcasts to (outcome, cell).
    basis : {"simplex", "softmax"}
        As in `CategoricalNB`.

    Attributes
    ----------
    edges_ : tuple of pairs
        The edges in use, (parent, child).

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

    structure: Any = LEARNT
    _: KW_ONLY
    alpha: float | Array = 2.0
    basis: str = "simplex"

    @property
    def edges_(self) -> tuple[Edge, ...]:
        """The edges in use, (parent, child)."""
        check_is_fitted(self, "classes_")
        edges: list[Edge] = []
        for block in self.model_.blocks:
            if isinstance(block.family, BayesianNetwork) and not isinstance(block.family.edges, str):
                edges += block.family.edges
        return tuple(edges)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "level" or not is_exact(self.inference)
        return tags

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold categories."""
        names = categories(frame, "a Bayesian network")
        return (ColumnBlock(BayesianNetwork(self.alpha, self.basis, edges=self.structure), names),)


@own_options_first
@dataclass(eq=False, repr=False)
class JointBayes(GenerativeClassifier):
    """P(x, y) = π_y θ_{y, x}: a probability for each combination of the columns' values, θ_y ~ Dirichlet(α).

    Naive Bayes is the other end: `NaiveBayes` with ``blocks={("a", "b"): JointTable()}`` lets just these two columns
    depend on each other. Columns are categories; one of numbers is refused, as every value would be its own.

    Parameters
    ----------
    alpha : float or array
        Concentration of each combination, above 0: a number, or an array that broadcasts to (outcome, cell).
    basis : {"simplex", "softmax"}
        As in `CategoricalNB`.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X = [["a", "a"], ["b", "b"], ["a", "b"], ["b", "a"]]
    >>> print(bc.JointBayes(random_state=1).fit(X, ["equal", "equal", "not", "not"]).predict(X))
    ['equal' 'equal' 'not' 'not']

    References
    ----------
    Mitchell §1.1; CS4780.
    """

    alpha: float | Array = 2.0
    _: KW_ONLY
    basis: str = "simplex"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "level" or not is_exact(self.inference)
        return tags

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold categories."""
        return (ColumnBlock(JointTable(self.alpha, self.basis), categories(frame, "a joint table")),)


def categories(frame: pd.DataFrame, what: str) -> tuple[str, ...]:
    """Return the columns' names, or refuse those that hold numbers, for `what`."""
    names = tuple(map(str, frame.columns))
    numbers = [name for name in names if columns.kind_of(frame[name]) == "number" and frame[name].notna().any()]
    if numbers:
        shown = ", ".join(map(repr, numbers[:3])) + (f" and {len(numbers) - 3} more" if len(numbers) > 3 else "")
        raise Refused(
            f"{what} takes categories, but numbers are in {shown}; make them categories with astype('category') if "
            "they are codes, cut them into a few bins with pandas.cut, or take NaiveBayes"
        )
    return names
