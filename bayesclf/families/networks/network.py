"""Tables of features that depend on each other: the joint table, and Bayesian networks.

In a network each feature depends on the class and on its parents among the features; in the joint table on all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError
from bayesclf.families.base import Axes
from bayesclf.families.networks import structure
from bayesclf.families.networks.factors import Factor, Layout
from bayesclf.families.networks.row_counts import RowCounts
from bayesclf.families.networks.tables import ConditionalTables

LEARNT = "tan"
"""The tree that is learned from the rows."""


@dataclass(frozen=True, repr=False)
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
    too large to keep in memory is refused.

    Missing cells are summed over: in prediction exactly; in training rows MLE and MAP are found by EM, and the
    posterior is sampled by data augmentation, or by NUTS on the likelihood of the observed cells.

    Parameters
    ----------
    alpha : float or array
        Concentration of each combination, above 0: a number, or an array that broadcasts to (outcome, cell), the last
        feature's values fastest. 2 is Laplace's rule. The prior has the weight of Σα = αC rows, which is large for a
        large table; 1 + m/C is the m-estimate, whose MAP adds m rows in all.
    basis : str
        As in `Categorical`.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Mitchell §1.1; CS4780, Bayes classifier and naive Bayes.
    """

    name: ClassVar[str] = "joint"
    likelihood: ClassVar[str] = "Categorical(theta) over all combinations of values"

    def layout(self, axes: Axes) -> Layout:
        """Return one table of all features."""
        return Layout(axes, (Factor(tuple(range(len(axes.features)))),))

    @override
    def _what(self, layout: Layout) -> str:
        return f"the joint table of {layout.features} columns"


@dataclass(frozen=True, repr=False)
class BayesianNetwork(ConditionalTables):
    """P(x | y = k) = Π_j P(x_j | x_parents(j), y = k), with a Dirichlet for each configuration u of class and parents.

    ========== ============================ ================= =======================
    parameter  support                      prior             posterior
    ========== ============================ ================= =======================
    θ_jku      simplex over the levels of j Dirichlet(α_jku)  Dirichlet(α_jku + n_jku)
    ========== ============================ ================= =======================

    MLE n_jkul/n_jku; MAP (n_jkul + α − 1)/(n_jku + Σα − J). Without edges it is naive Bayes; with all edges of an
    order of the features its MLE is the joint table's.

    Missing cells are summed out in prediction, exactly: along a tree by message passing. In training rows a missing
    cell that no observed one depends on is not informative; others couple the tables, so that MLE and MAP are found by
    EM, and the posterior is sampled by data augmentation, or by NUTS on the likelihood of the observed cells.

    Parameters
    ----------
    alpha : float or array
        Concentration of each cell, above 0: a number, or an array that broadcasts to (outcome, cell).
    basis : {"simplex", "softmax"}
        As in `Categorical`.
    axes : Axes
        Set by `resolve_prior`.
    edges : str or tuple of pair of str
        ``"tan"``: the tree that `structure.tan` learns from the rows; or pairs of column names, (parent, child).
    class_free : tuple of str
        Columns that do not depend on the class given their parents: P(x_j | x_parents(j)), with one table for all
        classes. Only for edges that are given.

    References
    ----------
    Aberdeen (belief networks); Friedman, Geiger and Goldszmidt (1997), *Bayesian network classifiers*.

    Examples
    --------
    >>> import bayesclf as bc
    >>> bc.families.BayesianNetwork(edges=(("outlook", "humidity"),)).edges
    (('outlook', 'humidity'),)
    """

    edges: str | tuple[structure.Edge, ...] = LEARNT
    class_free: tuple[str, ...] = ()
    name: ClassVar[str] = "network"
    likelihood: ClassVar[str] = "Categorical(theta) of each column given its parents"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.edges, str):
            object.__setattr__(self, "edges", structure.check_edges(self.edges))
        elif self.edges != LEARNT:
            raise InputError(f"edges must be {LEARNT!r} or pairs of column names, (parent, child), not {self.edges!r}")
        object.__setattr__(self, "class_free", structure.check_names(self.class_free))
        if self.class_free and isinstance(self.edges, str):
            raise InputError(
                f"class_free is for edges that are given, and the tree of edges={self.edges!r} is one of columns that "
                "depend on the class; give the edges, or leave class_free out"
            )

    def informative(self, statistics: RowCounts) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell; raises `InputError` for edges of unknown columns."""
        if not isinstance(self.edges, str):
            structure.check_columns(self.edges, statistics.axes.features)
            structure.check_known(self.class_free, statistics.axes.features)
        return super().informative(statistics)

    def resolve_prior(self, statistics: RowCounts) -> Self:
        """Return the prior with its edges, without those of features that are not used, and α in numbers."""
        learned = structure.tan(statistics) if isinstance(self.edges, str) else self.edges
        used = set(statistics.axes.features)
        edges = tuple((parent, child) for parent, child in learned if {parent, child} <= used)
        free = tuple(name for name in self.class_free if name in used)
        return super(BayesianNetwork, replace(self, edges=edges, class_free=free)).resolve_prior(statistics)

    def layout(self, axes: Axes) -> Layout:
        """Return a table for each feature, parents first."""
        if isinstance(self.edges, str):
            raise InputError("the edges are not learned yet; resolve_prior learns them")
        position = {name: j for j, name in enumerate(axes.features)}
        ordered = structure.in_order(self.edges, axes.features)
        factors = (
            Factor((position[name],), tuple(position[other] for other in given), name in self.class_free)
            for name, given in ordered
        )
        return Layout(axes, tuple(factors))

    @override
    def _what(self, layout: Layout) -> str:
        largest = max(layout.factors, key=lambda factor: layout.count(factor.scope))
        name = layout.axes.features[largest.of[0]]
        return f"the network, the most of it in column {name!r} with {len(largest.given)} parents,"
