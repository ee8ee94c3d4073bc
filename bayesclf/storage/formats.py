"""What a model file may hold: the version of its format, the classifiers, and the classes of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesclf.classifiers import BayesClassifier

VERSION = 1
"""Version that is written, and the only one that is read. It rises when what is stored changes after a release."""


def has_fitted_form(name: str) -> bool:
    """Return whether a name has the form of a fitted attribute's, as scikit-learn has it: `classes_`, or private."""
    return "_" in (name[0], name[-1])


def classifiers() -> dict[str, type[BayesClassifier]]:
    """Return the classifiers that can be saved, by name."""
    from bayesclf.classifiers import CLASSIFIERS

    return {cls.__name__: cls for cls in CLASSIFIERS.values()}


def classes() -> dict[str, type]:
    """Return the frozen dataclasses whose objects a file may hold, by name."""
    from bayesclf.classifiers.training import ColumnBlock, DocumentLengths, FrozenPrior, Learnt
    from bayesclf.engines import Auto, Trace
    from bayesclf.engines.inference import ENGINES, Draws
    from bayesclf.engines.optimizers import OPTIMIZERS, Certificate
    from bayesclf.families import (
        FAMILIES,
        Axes,
        KnownClassPrior,
        LearntAlpha,
        LearntClassPrior,
        Selected,
    )
    from bayesclf.families.by_evidence import ByEvidence, Choices
    from bayesclf.families.hierarchical import Smoothed
    from bayesclf.families.histogram import Cells
    from bayesclf.families.mixed.regressions import NormalInverseGamma
    from bayesclf.models.base import Block
    from bayesclf.models.generative import GenerativeModel
    from bayesclf.models.logistic.centered import CenteredRows
    from bayesclf.models.logistic.design import LogisticDesign
    from bayesclf.models.logistic.learned_model import LearnedScaleModel
    from bayesclf.models.logistic.model import LogisticModel
    from bayesclf.models.logistic.prior import LearnedScale, LogisticPrior, NormalPrior, UnseenPrior
    from bayesclf.models.logistic.streamed import StreamedModel, StreamedScaleModel
    from bayesclf.models.tempered import LeftOut
    from bayesclf.posterior.hypotheses import SeededDraws
    from bayesclf.rules import Gibbs
    from bayesclf.tables.columns import Column

    listed: tuple[type, ...] = (
        *FAMILIES.values(),
        *(family.statistics_type for family in FAMILIES.values()),
        *(
            Axes,
            LearntAlpha,
            ByEvidence,
            Cells,
            Choices,
            NormalInverseGamma,
            Selected,
            Smoothed,
            KnownClassPrior,
            LearntClassPrior,
        ),
        *(Block, GenerativeModel, LeftOut, CenteredRows, LogisticDesign, LogisticModel, LogisticPrior),
        *(
            LearnedScale,
            LearnedScaleModel,
            NormalPrior,
            StreamedModel,
            StreamedScaleModel,
            UnseenPrior,
        ),
        *ENGINES.values(),
        *OPTIMIZERS.values(),
        *(Auto, Certificate, Draws, SeededDraws, Trace),
        *(Column, ColumnBlock, DocumentLengths, FrozenPrior, Gibbs, Learnt),
    )
    return {cls.__name__: cls for cls in listed}
