"""Simple classifiers as PyMC generative models: MAP, Bayes-optimal and Gibbs answers of one posterior, side by side.

Names are looked up on first use, so that ``import bayesclf`` loads neither PyMC nor ArviZ nor matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayesclf import methods as _methods  # noqa: F401 - puts methods on classes that are imported later

if TYPE_CHECKING:
    from bayesclf import diagnostics, engines, families, plots, pymc_models, rules
    from bayesclf.classifiers import (
        AODE,
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
    from bayesclf.evaluation.comparison import compare
    from bayesclf.evaluation.learning import learning_curve
    from bayesclf.evaluation.leave_one_out import loo
    from bayesclf.interpretation.dependence import dependent_pairs
    from bayesclf.models.logistic.prior import LearnedScale
    from bayesclf.progress import set_progress
    from bayesclf.stacking import StackedClassifier
    from bayesclf.storage import load
    from bayesclf.tables import datasets

_NAMES = {
    "bayesclf.classifiers": (
        *("AODE", "BayesNetClassifier", "BernoulliNB", "CategoricalNB", "GaussianDiscriminantAnalysis", "GaussianNB"),
        *("JointBayes", "LogisticRegression", "MultinomialNB", "NaiveBayes", "TextNB"),
    ),
    "bayesclf.conformal": ("SplitConformal",),
    "bayesclf.interpretation.dependence": ("dependent_pairs",),
    "bayesclf.evaluation.comparison": ("compare",),
    "bayesclf.evaluation.learning": ("learning_curve",),
    "bayesclf.evaluation.leave_one_out": ("loo",),
    "bayesclf.models.logistic.prior": ("LearnedScale",),
    "bayesclf.progress": ("set_progress",),
    "bayesclf.stacking": ("StackedClassifier",),
    "bayesclf.storage": ("load",),
}
"""Public names by the module that defines them."""
_HOME = {name: home for home, names in _NAMES.items() for name in names}

_MODULES = {
    **{name: name for name in ("diagnostics", "engines", "experiments", "families", "plots", "pymc_models", "rules")},
    "datasets": "tables.datasets",
}
"""Modules that are attributes of the package without an import of their own, by name."""

__all__ = [
    "AODE",
    "BayesNetClassifier",
    "BernoulliNB",
    "CategoricalNB",
    "GaussianDiscriminantAnalysis",
    "GaussianNB",
    "JointBayes",
    "LearnedScale",
    "LogisticRegression",
    "MultinomialNB",
    "NaiveBayes",
    "SplitConformal",
    "StackedClassifier",
    "TextNB",
    "compare",
    "datasets",
    "dependent_pairs",
    "diagnostics",
    "engines",
    "experiments",
    "families",
    "learning_curve",
    "load",
    "loo",
    "plots",
    "pymc_models",
    "rules",
    "set_progress",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("bayesclf")
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'bayesclf' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that an editor completes: those that are public, and Python's own."""
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *__all__, *_MODULES, "__version__"})
