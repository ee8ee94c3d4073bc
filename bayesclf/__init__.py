"""Simple classifiers as PyMC generative models: MAP, Bayes-optimal and Gibbs answers of one posterior, side by side.

Names are looked up on first use, so that ``import bayesclf`` loads neither PyMC nor ArviZ nor matplotlib.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesclf import diagnostics, families, plots, rules
    from bayesclf.classifiers import (
        BayesNetClassifier,
        BernoulliNB,
        CategoricalNB,
        GaussianDiscriminantAnalysis,
        GaussianNB,
        JointBayes,
        LogisticRegression,
        MultinomialNB,
        NaiveBayes,
        TextNB,
    )
    from bayesclf.conformal import SplitConformal
    from bayesclf.evaluation import predictive_checks, selective
    from bayesclf.evaluation.comparison import Comparison, compare
    from bayesclf.evaluation.leave_one_out import compare_elpd, loo
    from bayesclf.inference import (
        MAP,
        MLE,
        NUTS,
        Auto,
        ConjugateGradient,
        Exact,
        GradientAscent,
        Laplace,
        LBFGSOptimiser,
        Newton,
    )
    from bayesclf.interpretation.weights import compare_weights
    from bayesclf.posterior import averaging
    from bayesclf.rules import Gibbs
    from bayesclf.stacking import StackedClassifier
    from bayesclf.storage import load
    from bayesclf.tables import datasets

__version__ = version("bayesclf")

_HOMES = {
    "bayesclf.classifiers": (
        "BayesNetClassifier",
        "BernoulliNB",
        "CategoricalNB",
        "GaussianDiscriminantAnalysis",
        "GaussianNB",
        "JointBayes",
        "LogisticRegression",
        "MultinomialNB",
        "NaiveBayes",
        "TextNB",
    ),
    "bayesclf.evaluation.comparison": ("Comparison", "compare"),
    "bayesclf.conformal": ("SplitConformal",),
    "bayesclf.inference": (
        *("Auto", "MAP", "MLE", "NUTS", "Exact", "Laplace"),
        *("ConjugateGradient", "GradientAscent", "LBFGSOptimiser", "Newton"),
    ),
    "bayesclf.evaluation.leave_one_out": ("compare_elpd", "loo"),
    "bayesclf.interpretation.weights": ("compare_weights",),
    "bayesclf.rules": ("Gibbs",),
    "bayesclf.stacking": ("StackedClassifier",),
    "bayesclf.storage": ("load",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("averaging", "coverage", "datasets", "diagnostics", "families", "plots", "predictive_checks", "rules")

__all__ = [
    "MAP",
    "MLE",
    "NUTS",
    "Auto",
    "BayesNetClassifier",
    "BernoulliNB",
    "CategoricalNB",
    "Comparison",
    "ConjugateGradient",
    "Exact",
    "GaussianDiscriminantAnalysis",
    "GaussianNB",
    "Gibbs",
    "GradientAscent",
    "JointBayes",
    "LBFGSOptimiser",
    "Laplace",
    "LogisticRegression",
    "MultinomialNB",
    "NaiveBayes",
    "Newton",
    "SplitConformal",
    "StackedClassifier",
    "TextNB",
    "averaging",
    "compare",
    "compare_elpd",
    "compare_weights",
    "coverage",
    "datasets",
    "diagnostics",
    "families",
    "load",
    "loo",
    "plots",
    "predictive_checks",
    "rules",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"bayesclf.{name}")
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'bayesclf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
