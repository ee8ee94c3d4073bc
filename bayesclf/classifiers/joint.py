"""Classifiers of columns that depend on each other given the class: discriminant analysis, networks, joint tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array
from bayesclf.classifiers.base import classifier
from bayesclf.classifiers.generative import GenerativeClassifier, is_exact
from bayesclf.classifiers.training import ColumnBlock
from bayesclf.errors import InputError, Refused, RefusedAttribute
from bayesclf.families import (
    BayesianNetwork,
    ConditionalGaussian,
    EveryTree,
    EveryTreeOfCells,
    JointTable,
    MultivariateGaussian,
)
from bayesclf.families.base import Family, Statistics
from bayesclf.families.networks.network import LEARNT
from bayesclf.families.networks.structure import Edge, check_names
from bayesclf.families.networks.trees import EQUIVALENT_ROWS
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.tables import columns
from bayesclf.wording import AND_MORE, LISTED_NAMES, listed

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.families.multivariate.groups import GroupedMoments


@classifier
class GaussianDiscriminantAnalysis(GenerativeClassifier):
    """P(x, y) = π_y Normal(x; μ_y, Σ): linear discriminant analysis, or quadratic with a Σ of each class's own.

    A column by itself is `GaussianNB`. The MLE divides scatters by the number of rows n, or n_k (Abu-El-Haija 2.1), as
    scikit-learn 1.9's `LinearDiscriminantAnalysis` and `QuadraticDiscriminantAnalysis` do.

    Parameters
    ----------
    covariance : {"shared", "class"}
        ``"shared"`` Σ, whose P(y | x) is logistic in x; ``"class"`` Σ_k.
    m : float, array or None
        Prior mean of the means, as in `bayesclf.families.MultivariateGaussian`; where None those of the pooled rows.
    kappa : float, array or None
        Rows that the prior mean is worth.
    nu : float, array or None
        Degrees of freedom of the inverse Wishart prior of Σ, above the number of features less 1. Where None they are
        learned, for each Σ: how strongly it is drawn to the variances within the classes and to no correlations.
        `notes_` and `prior_summary` say where they lie; the parameter is ``nu``.
    psi : float, array or None
        Scale matrix of the inverse Wishart prior of Σ; with it and without `nu` ν is the number of features plus 2.
    inference : {"auto", "exact", "augmentation", "nuts", "map", "mle"} or Engine
        ``"auto"`` is exact where the training rows have no missing cells; with missing cells the posterior is not
        conjugate, and data augmentation samples it. NUTS mixes slowly for the Σ_k of a class without rows: the scale of
        μ_k is that of Σ_k. Draw longer, or take the exact posterior. Where the default number of exact draws does not
        fit in memory, fewer are taken.

    Attributes
    ----------
    means_ : ndarray of shape (outcome, feature)
        Mean of each column in each class: the posterior mean, or the requested point. NaN where a column is not used.
    covariance_ : ndarray of shape (feature, feature) or (outcome, feature, feature)
        Σ, or Σ_k of each class, likewise.
    coef_ : ndarray of shape (1, feature) or (outcome, feature)
        Weights of the log-odds of a linear model, ``covariance="shared"``: of the second of two classes, or of each of
        more, adding up to 0. The average of `to_logistic` over the posterior, or that of the requested point.
    intercept_ : ndarray of shape (1,) or (outcome,)
        The log-odds at x = 0, likewise.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0, 2.1], [1.2, 1.8], [0.7, 1.2], [3.1, 0.4], [2.9, 0.9], [3.3, 1.1]], [0, 0, 0, 1, 1, 1]
    >>> clf = bc.GaussianDiscriminantAnalysis(random_state=1).fit(X, y)
    >>> print(clf.predict([[1.1, 1.9], [3.0, 0.7]]))
    [0 1]

    References
    ----------
    Abu-El-Haija 2.1; Murphy (2007), *Conjugate Bayesian analysis of the Gaussian distribution*, §9.
    """

    covariance: str = "shared"
    _: KW_ONLY
    m: float | Array | None = None
    kappa: float | Array | None = None
    nu: float | Array | None = None
    psi: float | Array | None = None
    _takes_words = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not is_exact(self.inference)
        return tags

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold numbers."""
        family = MultivariateGaussian(self.covariance, self.m, self.kappa, self.nu, self.psi)
        return (ColumnBlock(family, tuple(map(str, frame.columns))),)


ALL_TREES, ALL_FORESTS = "all-trees", "all-forests"
STRUCTURES = (LEARNT, ALL_TREES, ALL_FORESTS)
"""Structures that have names; others are edges."""


@classifier
class BayesNetClassifier(GenerativeClassifier):
    """P(x, y) = π_y Π_j P(x_j | x_parents(j), y), a Dirichlet for each configuration of class and parents.

    ``structure="tan"`` is tree-augmented naive Bayes: each column has at most one parent in addition to the class. The
    tree is that of greatest information given the class, learned from all rows so far. The posterior is that of the
    probabilities given the tree, and ignores the uncertainty of the tree.

    Along ``"tan"`` and given edges, columns of numbers are normal given their parents. The families by evidence of
    `NaiveBayes` are for columns that are independent given the class. Numbers are linear in their numeric parents, with
    coefficients and a variance for each class and configuration of their categorical parents,
    `bayesclf.families.ConditionalGaussian`; a category has only categorical parents. With numbers ``"tan"`` is the tree
    of greatest evidence, in which no column depends on one with missing cells. Along given edges missing cells are
    drawn with the parameters, by data augmentation, and there is neither MLE nor MAP. Codes of categories that are
    numbers in the table are made categories by ``astype("category")``.

    ``structure="all-trees"`` averages over all d^(d−2) trees between d columns, each weighted by its posterior
    probability. ``"all-forests"`` averages over all forests; naive Bayes is the one without edges. A hypothesis is a
    tree with its probabilities: ``"map"`` is the most probable tree, with the posterior mean of its probabilities;
    ``"mean"`` is the same. ``"bayes-optimal"`` and ``"gibbs"`` draw trees and probabilities, and ``"predictive"`` is
    exact, the sum over all trees. A number enters as the one of five cells between quantiles that it is in,
    `bayesclf.families.EveryTreeOfCells`; `notes_` name the cuts, and the fit keeps the rows. Training rows must be
    complete (`missing` = ``"level"`` makes a missing cell a level, or a cell, of its own). At prediction missing cells
    are summed out: exactly where they have few completions, else under each of 1,000 drawn trees.

    Parameters
    ----------
    structure : {"tan", "all-trees", "all-forests"} or sequence of pairs
        One of these, or edges as pairs of column names, (parent, child), for every class.
    class_free : sequence of str
        For edges: columns that do not depend on the class given their parents, P(x_j | x_parents(j)). An observed one
        changes P(y | x) only as a parent of others, or of what is missing; one without parents and children changes
        nothing. It has one table for all classes, or one regression, whose values the posterior repeats for each.
    alpha : float, array or None
        Concentration of each cell, above 0: a number, or an array that broadcasts to (outcome, cell); None is 2. For
        ``"tan"`` and edges; sums over all trees take `equivalent_rows`.
    basis : {"simplex", "softmax"}
        As in `CategoricalNB`.
    equivalent_rows : float, sequence of floats or None
        For ``"all-trees"`` and ``"all-forests"``: N', the weight of the prior in rows of each class, above 0, spread
        evenly over the cells of each pair of columns (BDeu). Several are averaged over by their evidence; None is
        1/2, 1, 2, …, 32.

    Attributes
    ----------
    edges_ : tuple of pairs
        The edges in use, (parent, child); of all trees those of the most probable one.
    edge_probabilities_ : DataFrame
        P(two columns are joined | D), (feature, feature).
    equivalent_rows_ : Series
        Posterior probability of each of the `equivalent_rows`.

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
    Friedman, Geiger and Goldszmidt (1997), *Bayesian network classifiers*, Machine Learning 29; Aberdeen; Meilă &
    Jaakkola (2006), *Tractable Bayesian learning of tree belief networks*, Statistics and Computing 16.
    """

    structure: Any = LEARNT
    _practical = True
    _: KW_ONLY
    class_free: Sequence[str] = ()
    alpha: float | Array | None = None
    basis: str = "simplex"
    equivalent_rows: float | Sequence[float] | None = None

    @property
    def edges_(self) -> tuple[Edge, ...]:
        """The edges in use, (parent, child)."""
        check_is_fitted(self, "classes_")
        edges: list[Edge] = []
        for block in self.model_.blocks:
            edges += block.family.pairs() if (trees := _posterior(block)) is None else trees.edges
        return tuple(edges)

    @property
    def edge_probabilities_(self) -> pd.DataFrame:
        """P(two columns are joined | D), (feature, feature)."""
        import pandas as pd

        posterior = self._trees("edge_probabilities_")
        names = pd.Index(posterior.axes.features, name="feature")
        return pd.DataFrame(posterior.edge_probabilities(), names, names.rename("other_feature"))

    @property
    def equivalent_rows_(self) -> pd.Series:
        """Posterior probability of each of the equivalent numbers of rows."""
        import pandas as pd

        posterior = self._trees("equivalent_rows_")
        grid = pd.Index(np.ravel(posterior.equivalent_rows), name="equivalent_rows")
        return pd.Series(posterior.node_probabilities, grid, name="probability")

    def _trees(self, attribute: str) -> EveryTree:
        """Return the posterior over trees, or say why an attribute of it is absent."""
        check_is_fitted(self, "classes_")
        for block in self.model_.blocks:
            if (trees := _posterior(block)) is not None:
                return trees
        raise RefusedAttribute(f"{attribute} is of structure='all-trees' or 'all-forests'; here the edges are fixed")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        complete = self._averages_trees or is_exact(self.inference)
        tags.input_tags.allow_nan = self.missing == "level" or not complete
        return tags

    @property
    def _averages_trees(self) -> bool:
        return isinstance(self.structure, str) and self.structure in (ALL_TREES, ALL_FORESTS)

    @property
    def _learns_unlabeled(self) -> bool:
        return not self._averages_trees

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns."""
        if isinstance(self.structure, str) and self._class_free:
            raise InputError("class_free is for edges that are given; give them as structure=[(parent, child), …]")
        names, numbers = tuple(map(str, frame.columns)), numbers_in(frame)
        family: Family[Any]
        if self._averages_trees:
            trees = self._every_tree()
            if not numbers:
                return (ColumnBlock(trees, names),)
            family = EveryTreeOfCells(trees, gaps=self.missing == "level")
        else:
            network = self._network()
            if not numbers:
                return (ColumnBlock(network, names),)
            family = ConditionalGaussian(network.alpha, network.basis, network.edges, network.class_free)
        return (ColumnBlock(family, names, mixed=tuple(name for name in names if name not in numbers)),)

    def _conditioned(self, of_all: tuple[Statistics, ...] | None = None) -> GenerativeModel:
        model = super()._conditioned(of_all)
        for block in model.blocks:
            if block.family.kind == "mixed" and self.structure == LEARNT and self.prior is None:
                gaps = [repr(name) for name in cast("GroupedMoments", block.statistics).incomplete()]
                if gaps:
                    self.notes_.append(
                        f"no column depends on {listed(gaps, LISTED_NAMES, AND_MORE)} in the tree, because cells are "
                        "missing; give the edges, or fill the cells in"
                    )
        return model

    def _every_tree(self) -> EveryTree:
        """Return the family of all trees; raises `InputError` for an option that it does not have."""
        if self.alpha is not None:
            raise InputError(
                f"structure={self.structure!r} takes equivalent_rows instead of alpha: all trees must agree on the "
                "prior of each pair of columns"
            )
        rows = EQUIVALENT_ROWS if self.equivalent_rows is None else _grid(self.equivalent_rows)
        return EveryTree(rows, self.structure == ALL_FORESTS)

    def _network(self) -> BayesianNetwork:
        """Return the family of a network with one structure; raises `InputError` for an option of all trees."""
        if isinstance(self.structure, str) and self.structure not in STRUCTURES:
            raise InputError(
                f"structure must be {', '.join(map(repr, STRUCTURES))}, or edges as pairs of column names, (parent, "
                f"child), not {self.structure!r}"
            )
        if self.equivalent_rows is not None:
            raise InputError(
                "equivalent_rows is for structure='all-trees' or 'all-forests'; leave it out for one structure"
            )
        alpha = 2.0 if self.alpha is None else self.alpha
        return BayesianNetwork(alpha, self.basis, edges=self.structure, class_free=self._class_free)

    @property
    def _class_free(self) -> tuple[str, ...]:
        return check_names(self.class_free)


def _posterior(block: Block) -> EveryTree | None:
    """Return the posterior over trees of a block that has one."""
    family: Any = block.family
    return family.posterior(block.statistics).trees if hasattr(family, "trees") else None


def _grid(rows: object) -> float | tuple[float, ...]:
    """Return equivalent numbers of rows, one or several, as the family takes them."""
    try:
        values = np.asarray(rows, dtype=float)
    except (ValueError, TypeError):
        raise InputError(f"equivalent_rows must be a number or several of them, not {rows!r}") from None
    return float(values) if values.ndim == 0 else tuple(values.ravel().tolist())


@classifier
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
        return (ColumnBlock(JointTable(self.alpha, self.basis), categories(frame)),)


def numbers_in(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the names of the columns that hold numbers; none where all of these are empty."""
    numbers = [name for name, kind in columns.kinds_of(frame).items() if kind == "number"]
    return tuple(numbers) if frame[numbers].notna().any(axis=None) else ()


def categories(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns' names, or refuse those that hold numbers."""
    names = tuple(map(str, frame.columns))
    if numbers := numbers_in(frame):
        shown = ", ".join(map(repr, numbers[:3])) + (f" and {len(numbers) - 3} more" if len(numbers) > 3 else "")
        raise Refused(
            f"a joint table takes categories, but there are numbers in {shown}; use pandas.cut, "
            f"NaiveBayes, or declare codes with --kind {numbers[0]}=category (astype('category') in Python)"
        )
    return names
