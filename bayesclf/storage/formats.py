"""Versions of the file format: the classes whose objects a file may hold, and what they were called before.

A file names classes, fields, parameters and attributes as they were when it was written. Each version has a table here
that leads to the next, so that whoever renames, adds or removes one writes one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesclf.classifiers import BayesClassifier

VERSION = 2
"""Version that is written. It rises with the first change of what is stored after a release."""

LATER: dict[str, Any] = {
    "Averaged.by_evidence": False,
    "BayesNetClassifier.class_free": (),
    "BayesianNetwork.class_free": (),
    "Choices.averaged": False,
    "Column.of_numbers": False,
    "Column.ordered": False,
    "ColumnBlock.mixed": (),
    "GenerativeClassifier._learned_with": None,
    "GenerativeClassifier._partly": None,
    "GenerativeModel.unlabeled": 0,
    "GradientAscent.start": "log-odds",
    "LearnedScale.groups": None,
    "LearnedScale.shape": "normal",
    "Learnt.hashes": None,
    "Learnt.lengths": None,
    "TextNB.n_features": None,
}
"""Members that were added while the version stayed the same, with what files written before would have had.

Keys are as in `Changes`; files that lack one of these members are read, those of earlier versions included.
"""


@dataclass(frozen=True)
class Changes:
    """What the next version of the format calls otherwise, has more, or has no longer.

    Keys are "Class" or "Class.member", in the words of the older version. A member is a field, a parameter of a
    classifier or a fitted attribute; one of a base class is one of all classes that are derived from it.

    Attributes
    ----------
    renamed
        Name in the next version, of a class or a member.
    added
        Members that the older version lacks, with the value that they would have had, or a function that returns it.
    removed
        Members that the next version lacks.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    added: Mapping[str, Any] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()

    def members(self, owners: Iterable[str], members: Mapping[str, Any], fitted: bool) -> dict[str, Any]:
        """Return the members of an object under their names in the next version."""
        owners = tuple(owners)
        found: list[tuple[str, Any]] = []
        for name, value in members.items():
            keys = [f"{owner}.{name}" for owner in owners]
            if self.removed.isdisjoint(keys):
                found.append((next((self.renamed[key] for key in keys if key in self.renamed), name), value))
        for key, value in self.added.items():
            owner, _, name = key.partition(".")
            if owner in owners and has_fitted_form(name) == fitted:
                found.append((name, value() if callable(value) else value))
        if len(dict(found)) < len(found):
            raise ValueError(f"the {owners[0]} in it has a member twice")
        return dict(found)


def _augmentation() -> Any:
    from bayesclf.inference import Augmentation

    return Augmentation()


CHANGES = {
    1: Changes(
        renamed={"BayesClassifier._draws": "draws_", "BayesClassifier._points": "points_"},
        added={
            "Auto.augmentation": _augmentation,
            "Bernoulli.basis": "simplex",
            "BayesClassifier.target_name_": None,
            "BayesNetClassifier.equivalent_rows": None,
            "BayesNetClassifier.root_weight": None,
            "BayesNetClassifier.tree": "shared",
            "ColumnBlock.candidate": "",
            "GenerativeModel.posterior_given": False,
            "LearntAlpha.least_levels": 1,
            "LearntAlpha.value": None,
            "LogisticRegression.prior": None,
            "Multinomial.basis": "simplex",
            "NaiveBayes.choices_": (),
            "NaiveBayes._undecided": None,
            "NaiveBayes.families": "gaussian",
            "NaiveBayes.alpha": 2.0,
        },
    )
}
"""By version, what changed from it to the next."""


def current_name(name: str, version: int) -> str:
    """Return what a class of an older version is called today."""
    for changes in _since(version):
        name = changes.renamed.get(name, name)
    return name


def current_members(
    name: str, cls: type, members: Mapping[str, Any], version: int, fitted: bool = False
) -> dict[str, Any]:
    """Return the members of an object of an older version as they are today.

    Parameters
    ----------
    name, cls
        The object's class, as that version calls it and as it is.
    members
        Values by that version's names.
    version
        The version.
    fitted
        Whether the members are a classifier's fitted attributes, rather than its parameters or an object's fields.
    """
    bases = [base.__name__ for base in cls.__mro__[1:]]
    members = dict(members)
    for changes in _since(version):
        members = changes.members((name, *bases), members, fitted)
        name = changes.renamed.get(name, name)
    later = Changes(added={key: value for key, value in LATER.items() if key.partition(".")[2] not in members})
    return later.members((cls.__name__, *bases), members, fitted)


def has_fitted_form(name: str) -> bool:
    """Return whether a name has the form of a fitted attribute's, as scikit-learn has it: `classes_`, or private."""
    return "_" in (name[0], name[-1])


def _since(version: int) -> Iterable[Changes]:
    return (CHANGES[number] for number in range(version, VERSION))


def classifiers() -> dict[str, type[BayesClassifier]]:
    """Return the classifiers that can be saved, by name."""
    from bayesclf.classifiers import CLASSIFIERS

    return {cls.__name__: cls for cls in CLASSIFIERS.values()}


def classes() -> dict[str, type]:
    """Return the frozen dataclasses whose objects a file may hold, by name."""
    from bayesclf.classifiers.lengths import DocumentLengths
    from bayesclf.classifiers.training import ColumnBlock, FrozenPrior, Learnt
    from bayesclf.families import (
        FAMILIES,
        LKJ,
        Axes,
        HalfNormal,
        KnownClassPrior,
        LearntAlpha,
        LearntClassPrior,
        Selected,
    )
    from bayesclf.families.averaged import Averaged
    from bayesclf.families.averaged_by_evidence import AveragedByEvidence
    from bayesclf.families.averaged_statistics import AveragedStatistics
    from bayesclf.families.by_evidence import ByEvidence, Choices
    from bayesclf.families.hierarchical import Smoothed
    from bayesclf.families.histogram_cells import CellLayout
    from bayesclf.inference import ENGINES, Auto, Draws, SeededDraws, Trace
    from bayesclf.inference.optimisers import OPTIMISERS, Certificate
    from bayesclf.models.generative import Block, GenerativeModel
    from bayesclf.models.logistic.centered import CenteredRows
    from bayesclf.models.logistic.design import LogisticDesign
    from bayesclf.models.logistic.grouped_model import GroupedScaleModel
    from bayesclf.models.logistic.learned_model import LearnedScaleModel
    from bayesclf.models.logistic.learned_power import LearnedPowerModel
    from bayesclf.models.logistic.learned_scale import LearnedScale
    from bayesclf.models.logistic.model import LogisticModel
    from bayesclf.models.logistic.normal_prior import NormalPrior
    from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior
    from bayesclf.models.logistic.shaped_model import ShapedScaleModel
    from bayesclf.models.logistic.streamed import StreamedModel, StreamedPowerModel, StreamedScaleModel
    from bayesclf.models.logistic.weight_shapes import HorseshoeWeights, StudentTWeights
    from bayesclf.rules import Gibbs
    from bayesclf.tables.columns import Column

    listed: tuple[type, ...] = (
        *FAMILIES.values(),
        *(family.statistics_type for family in FAMILIES.values()),
        *(
            Axes,
            HalfNormal,
            LearntAlpha,
            LKJ,
            Averaged,
            AveragedByEvidence,
            AveragedStatistics,
            ByEvidence,
            CellLayout,
            Choices,
            Selected,
            Smoothed,
            KnownClassPrior,
            LearntClassPrior,
        ),
        *(Block, GenerativeModel, CenteredRows, LogisticDesign, LogisticModel, LogisticPrior),
        *(
            GroupedScaleModel,
            HorseshoeWeights,
            LearnedPowerModel,
            LearnedScale,
            LearnedScaleModel,
            NormalPrior,
            ShapedScaleModel,
            StreamedModel,
            StreamedPowerModel,
            StreamedScaleModel,
            StudentTWeights,
            UnseenPrior,
        ),
        *ENGINES.values(),
        *OPTIMISERS.values(),
        *(Auto, Certificate, Draws, SeededDraws, Trace),
        *(Column, ColumnBlock, DocumentLengths, FrozenPrior, Gibbs, Learnt),
    )
    return {cls.__name__: cls for cls in listed}
