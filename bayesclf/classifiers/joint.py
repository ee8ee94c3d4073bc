"""The unrestricted Bayes classifier: no independence assumed, one table of all columns for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayesclf import columns
from bayesclf.classifiers.generative import GenerativeClassifier
from bayesclf.classifiers.learnt import ColumnBlock, FrozenPrior
from bayesclf.errors import Refused
from bayesclf.families import JointTable
from bayesclf.inference import Engine
from bayesclf.rules import Gibbs
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd


class JointBayes(GenerativeClassifier):
    """P(x, y) = π_y θ_{y, x}: a probability for each combination of the columns' values, θ_y ~ Dirichlet(α).

    Naive Bayes is the other end: `NaiveBayes` with ``blocks={("a", "b"): JointTable()}`` lets just these two columns
    depend on each other. Columns are categories; one of numbers is refused, as every value would be its own.

    Parameters
    ----------
    alpha
        Concentration of each combination, above 0: a number, or an array that broadcasts to (outcome, cell).
    basis
        As in `CategoricalNB`.
    class_prior, class_concentration, missing, unseen, inference, rule, random_state, prior
        As for every `bayesclf.classifiers.generative.GenerativeClassifier`.

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

    def __init__(
        self,
        alpha: float | Array = 2.0,
        *,
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
