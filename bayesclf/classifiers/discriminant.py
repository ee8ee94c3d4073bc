"""Gaussian discriminant analysis: the features are jointly normal given the class."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

from bayesclf.arrays import Array
from bayesclf.classifiers.base import classifier
from bayesclf.classifiers.generative import GenerativeClassifier, is_exact
from bayesclf.classifiers.training import ColumnBlock
from bayesclf.families import MultivariateGaussian

if TYPE_CHECKING:
    import pandas as pd


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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.allow_nan = not is_exact(self.inference)
        return tags

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold numbers."""
        family = MultivariateGaussian(self.covariance, self.m, self.kappa, self.nu, self.psi)
        return (ColumnBlock(family, tuple(map(str, frame.columns))),)
