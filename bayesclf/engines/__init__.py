"""Engines: settings of how a fit finds its posterior, or a point of it; values of the classifiers' ``inference``."""

from bayesclf.engines.augmentation import Augmentation
from bayesclf.engines.inference import MAP, MLE, Auto, Exact
from bayesclf.engines.laplace import Laplace
from bayesclf.engines.nuts import NUTS
from bayesclf.engines.optimizers import ConjugateGradient, GradientAscent, Newton, Trace
from bayesclf.engines.slices import Slice

__all__ = [
    "MAP",
    "MLE",
    "NUTS",
    "Augmentation",
    "Auto",
    "ConjugateGradient",
    "Exact",
    "GradientAscent",
    "Laplace",
    "Newton",
    "Slice",
    "Trace",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
