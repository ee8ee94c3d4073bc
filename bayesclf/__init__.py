"""Simple classifiers as PyMC generative models: MAP, Bayes-optimal and Gibbs answers of one posterior, side by side.

Names are looked up on first use, so that ``import bayesclf`` loads neither PyMC nor ArviZ nor matplotlib. Module paths
of earlier versions import the same objects: ``bayesclf.datasets`` *is* ``bayesclf.tables.datasets``.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

from bayesclf import methods as _methods  # noqa: F401 - puts methods on classes that are imported later

if TYPE_CHECKING:
    from bayesclf import diagnostics, families, plots, rules
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
    from bayesclf.evaluation import predictive_checks
    from bayesclf.evaluation import selective as coverage
    from bayesclf.evaluation.comparison import Comparison, compare
    from bayesclf.evaluation.learning import LearningCurve, learning_curve
    from bayesclf.evaluation.leave_one_out import compare_elpd, loo
    from bayesclf.inference import (
        MAP,
        MLE,
        NUTS,
        Augmentation,
        Auto,
        ConjugateGradient,
        Exact,
        GradientAscent,
        Laplace,
        LBFGSOptimiser,
        LBFGSOptimizer,
        Newton,
    )
    from bayesclf.interpretation.dependence import DependentPairs, dependent_pairs
    from bayesclf.interpretation.weights import compare_weights
    from bayesclf.models.logistic.learned_scale import HorseshoeWeights, LearnedScale, StudentTWeights
    from bayesclf.posterior import averaging
    from bayesclf.progress import set_progress
    from bayesclf.rules import Gibbs
    from bayesclf.stacking import StackedClassifier
    from bayesclf.storage import load
    from bayesclf.tables import datasets

_NAMES = {
    "bayesclf.classifiers": (
        *("AODE", "BayesNetClassifier", "BernoulliNB", "CategoricalNB", "GaussianDiscriminantAnalysis", "GaussianNB"),
        *("JointBayes", "LogisticRegression", "MultinomialNB", "NaiveBayes", "TextNB"),
    ),
    "bayesclf.conformal": ("SplitConformal",),
    "bayesclf.interpretation.dependence": ("DependentPairs", "dependent_pairs"),
    "bayesclf.evaluation.comparison": ("Comparison", "compare"),
    "bayesclf.evaluation.learning": ("LearningCurve", "learning_curve"),
    "bayesclf.evaluation.leave_one_out": ("compare_elpd", "loo"),
    "bayesclf.inference": (
        *("Augmentation", "Auto", "MAP", "MLE", "NUTS", "Exact", "Laplace"),
        *("ConjugateGradient", "GradientAscent", "LBFGSOptimiser", "LBFGSOptimizer", "Newton"),
    ),
    "bayesclf.interpretation.weights": ("compare_weights",),
    "bayesclf.models.logistic.learned_scale": ("HorseshoeWeights", "LearnedScale", "StudentTWeights"),
    "bayesclf.progress": ("set_progress",),
    "bayesclf.rules": ("Gibbs",),
    "bayesclf.stacking": ("StackedClassifier",),
    "bayesclf.storage": ("load",),
}
"""Public names by the module that defines them."""
_HOME = {name: home for home, names in _NAMES.items() for name in names}

_RENAMED = {
    "averaging": "posterior.averaging",
    "columns": "tables.columns",
    "comparison": "evaluation.comparison",
    "coverage": "evaluation.selective",
    "cross_validation": "evaluation.cross_validation",
    "datasets": "tables.datasets",
    "decision_costs": "decisions",
    "explanation": "interpretation.explanation",
    "hypotheses": "finite",
    "hypothesis_set": "posterior.hypotheses",
    "leave_one_out": "evaluation.leave_one_out",
    "logistic_weights": "interpretation.weights",
    "prediction_sets": "decisions",
    "predictive_checks": "evaluation.predictive_checks",
    "sample_size": "experiments.sample_size",
    "score_table": "evaluation.comparison",
    "scores": "evaluation.scores",
}
"""Modules of earlier versions, and where their contents are today."""

_MODULES = (
    *("averaging", "coverage", "datasets", "diagnostics", "experiments", "families", "hypotheses", "plots"),
    *("predictive_checks", "rules", "sample_size"),
)
"""Modules that are attributes of the package without an import of their own."""

__all__ = [
    "AODE",
    "MAP",
    "MLE",
    "NUTS",
    "Augmentation",
    "Auto",
    "BayesNetClassifier",
    "BernoulliNB",
    "CategoricalNB",
    "Comparison",
    "ConjugateGradient",
    "DependentPairs",
    "Exact",
    "GaussianDiscriminantAnalysis",
    "GaussianNB",
    "Gibbs",
    "GradientAscent",
    "HorseshoeWeights",
    "JointBayes",
    "LBFGSOptimiser",
    "LBFGSOptimizer",
    "Laplace",
    "LearnedScale",
    "LearningCurve",
    "LogisticRegression",
    "MultinomialNB",
    "NaiveBayes",
    "Newton",
    "SplitConformal",
    "StackedClassifier",
    "StudentTWeights",
    "TextNB",
    "averaging",
    "compare",
    "compare_elpd",
    "compare_weights",
    "coverage",
    "datasets",
    "dependent_pairs",
    "diagnostics",
    "experiments",
    "families",
    "hypotheses",
    "learning_curve",
    "load",
    "loo",
    "plots",
    "predictive_checks",
    "rules",
    "sample_size",
    "set_progress",
]


class _RenamedModules:
    """Imports a module of today under its path of an earlier version, as one module with two names.

    It does without the base classes of `importlib.abc`, which takes longer to import than all of this package does.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how to import a module by its old name; None for every other module."""
        package, _, name = fullname.partition(".")
        loader: Any = self
        return ModuleSpec(fullname, loader) if package == __name__ and name in _RENAMED else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system to make a module."""

    def exec_module(self, module: Any) -> None:
        """Put the module of today's name instead of the one that was made for the old name."""
        # The import system takes what it finds here instead of the empty module that it made.
        name = module.__name__
        sys.modules[name] = import_module(f"{__name__}.{_RENAMED[name.partition('.')[2]]}")


sys.meta_path.append(_RenamedModules())


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("bayesclf")
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'bayesclf' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that an editor completes: those that are public, and Python's own."""
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *__all__, *_MODULES, "__version__"})
