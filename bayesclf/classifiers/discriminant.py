"""Gaussian discriminant analysis: the features are jointly normal given the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayesclf.classifiers.generative import GenerativeClassifier
from bayesclf.classifiers.learnt import ColumnBlock, FrozenPrior
from bayesclf.families import LKJ, MultivariateGaussian
from bayesclf.inference import Engine
from bayesclf.rules import Gibbs
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd


class GaussianDiscriminantAnalysis(GenerativeClassifier):
    """P(x, y) = π_y Normal(x; μ_y, Σ): linear discriminant analysis, or quadratic with a Σ of each class's own.

    A column by itself is `GaussianNB`. The MLE divides scatters by the number of rows n, or n_k (Abu-El-Haija 2.1), as
    scikit-learn 1.9's `LinearDiscriminantAnalysis` and `QuadraticDiscriminantAnalysis` do.

    Parameters
    ----------
    covariance
        ``"shared"`` Σ, whose P(y | x) is logistic in x; ``"class"`` Σ_k.
    m, kappa, nu, psi, covariance_prior
        Hyperparameters as in `bayesclf.families.MultivariateGaussian`; where None, unit information from the pooled
        rows, which needs no more rows than features.
    class_prior, class_concentration, missing, unseen, inference, rule, random_state, prior
        As for every `bayesclf.classifiers.generative.GenerativeClassifier`. With missing cells in the training rows
        the posterior is not conjugate: ``"auto"`` samples it by NUTS.

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

    def __init__(
        self,
        covariance: str = "shared",
        *,
        m: float | Array | None = None,
        kappa: float | Array | None = None,
        nu: float | Array | None = None,
        psi: float | Array | None = None,
        covariance_prior: LKJ | None = None,
        class_prior: Any = "dirichlet",
        class_concentration: float | Array = 1.0,
        missing: str = "ignore",
        unseen: str = "ignore",
        inference: str | Engine = "auto",
        rule: str | Gibbs | None = None,
        random_state: Any = None,
        prior: FrozenPrior | None = None,
    ) -> None:
        self.covariance = covariance
        self.m = m
        self.kappa = kappa
        self.nu = nu
        self.psi = psi
        self.covariance_prior = covariance_prior
        self.class_prior = class_prior
        self.class_concentration = class_concentration
        self.missing = missing
        self.unseen = unseen
        self.inference = inference
        self.rule = rule
        self.random_state = random_state
        self.prior = prior

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold numbers."""
        family = MultivariateGaussian(self.covariance, self.m, self.kappa, self.nu, self.psi, self.covariance_prior)
        return (ColumnBlock(family, tuple(map(str, frame.columns))),)
