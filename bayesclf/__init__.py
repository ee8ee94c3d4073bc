"""Simple classifiers as PyMC generative models: MAP, Bayes-optimal and Gibbs answers of one posterior, side by side.

Names are looked up on first use, so that ``import bayesclf`` loads neither PyMC nor ArviZ nor matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesclf import (
        diagnostics as diagnostics,
        engines as engines,
        families as families,
        plots as plots,
        pymc_models as pymc_models,
        rules as rules,
    )
    from bayesclf.classifiers import (
        BayesNetClassifier as BayesNetClassifier,
        BernoulliNB as BernoulliNB,
        CategoricalNB as CategoricalNB,
        GaussianDiscriminantAnalysis as GaussianDiscriminantAnalysis,
        GaussianNB as GaussianNB,
        JointBayes as JointBayes,
        LogisticRegression as LogisticRegression,
        MultinomialNB as MultinomialNB,
        NaiveBayes as NaiveBayes,
        TextNB as TextNB,
    )
    from bayesclf.conformal import SplitConformal as SplitConformal
    from bayesclf.evaluation.comparison import compare as compare
    from bayesclf.evaluation.learning import learning_curve as learning_curve
    from bayesclf.evaluation.leave_one_out import loo as loo
    from bayesclf.interpretation.dependence import dependent_pairs as dependent_pairs
    from bayesclf.models.logistic.prior import LearnedScale as LearnedScale
    from bayesclf.progress import set_progress as set_progress
    from bayesclf.stacking import StackedClassifier as StackedClassifier
    from bayesclf.storage import load as load
    from bayesclf.tables import datasets as datasets

_NAMES = {
    "bayesclf.classifiers": (
        *("BayesNetClassifier", "BernoulliNB", "CategoricalNB", "GaussianDiscriminantAnalysis", "GaussianNB"),
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

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("bayesclf")
    if name in _MODULES:
        found: Any = import_module(f"{__name__}.{_MODULES[name]}")
    elif name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'bayesclf' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names that an editor completes: those that are public, and Python's own."""
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *__all__, "__version__"})
