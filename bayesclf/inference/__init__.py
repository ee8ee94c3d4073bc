"""Engines: from a model with its data to a posterior."""

from bayesclf.inference.augmentation import Augmentation
from bayesclf.inference.engines import (
    ENGINES,
    MAP,
    MARKOV_CHAINS,
    MLE,
    Auto,
    Draws,
    Engine,
    Exact,
    Inferred,
    Optimizer,
    draw,
    estimate,
    infer,
    resolve,
    watch,
)
from bayesclf.inference.laplace import Laplace
from bayesclf.inference.nuts import NUTS
from bayesclf.inference.optimizers import (
    LBFGS,
    ConjugateGradient,
    GradientAscent,
    Newton,
    Trace,
)
from bayesclf.inference.unlabeled import PartlyInferred, found_point, infer_partly
from bayesclf.posterior.hypotheses import SeededDraws

__all__ = [
    "ENGINES",
    "LBFGS",
    "MAP",
    "MARKOV_CHAINS",
    "MLE",
    "NUTS",
    "Augmentation",
    "Auto",
    "ConjugateGradient",
    "Draws",
    "Engine",
    "Exact",
    "GradientAscent",
    "Inferred",
    "Laplace",
    "Newton",
    "Optimizer",
    "PartlyInferred",
    "SeededDraws",
    "Trace",
    "draw",
    "estimate",
    "found_point",
    "infer",
    "infer_partly",
    "resolve",
    "watch",
]
