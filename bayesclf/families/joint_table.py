"""The joint table: one probability for each combination of its features' values, no independence assumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bayesclf.families.base import Axes
from bayesclf.families.conditional_tables import ConditionalTables
from bayesclf.families.layout import Factor, Layout


@dataclass(frozen=True)
class JointTable(ConditionalTables):
    """P(x = c | y = k) = θ_kc over all combinations c of the features' values: the unrestricted Bayes classifier.

    ========== ================================= ================ ====================
    parameter  support                           prior            posterior
    ========== ================================= ================ ====================
    θ_k        simplex over the combinations     Dirichlet(α_k)   Dirichlet(α_k + n_k)
    ========== ================================= ================ ====================

    MLE n_kc/n_k: P(y | x) is then the share of y among the training rows that equal x (CS4780), and undefined without
    such a row; MAP (n_kc + α − 1)/(n_k + Σα − C). K classes and features with J_1, J_2, … levels have K(Π J − 1)
    parameters: 2(2^n − 1) for n boolean features and two classes, against naive Bayes's 2n (Mitchell §1.1). A table
    too large to hold is refused.

    Missing cells are summed over: in prediction exactly; in training rows MLE and MAP are found by EM, and the
    posterior by NUTS on the likelihood of what is seen.

    Parameters
    ----------
    alpha
        Concentration of each combination, above 0: a number, or an array that broadcasts to (outcome, cell), the last
        feature's values fastest. 2 is Laplace's rule. The prior weighs as much as Σα = αC rows, which is much for a
        large table; 1 + m/C is the m-estimate, whose MAP adds m rows in all.
    basis
        As in `Categorical`.
    axes
        Set by `resolve_prior`.

    References
    ----------
    Mitchell §1.1; CS4780, Bayes classifier and naive Bayes.
    """

    name: ClassVar[str] = "joint"

    def layout(self, axes: Axes) -> Layout:
        """Return one table of all features."""
        return Layout(axes, (Factor(tuple(range(len(axes.features)))),))

    def _what(self, layout: Layout) -> str:
        return f"the joint table of {layout.features} columns"
