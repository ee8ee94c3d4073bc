"""The generative model: a class prior times class-conditional blocks, P(x, y) = π_y Π_b P(x_b | y)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import Refused
from bayesclf.families.base import Family, Statistics
from bayesclf.families.class_prior import ClassPrior, KnownClassPrior
from bayesclf.families.page_tables import PageVariable
from bayesclf.models.linear import LinearScores
from bayesclf.tables.columns import Rows
from bayesclf.wording import counted

if TYPE_CHECKING:
    import pymc as pm


PREDICTED_ROWS = 2**15
"""Rows whose predictive densities are computed together: a table that is not made of floats is so a few rows only."""


@dataclass(frozen=True)
class Block:
    """One block of features: its family with the prior resolved, and its statistics.

    `suffix`: What is added to the names of its parameters and axes; empty for the first block of a family.
    """

    family: Family[Any]
    statistics: Statistics
    suffix: str = ""

    def own(self, parameters: Parameters) -> Parameters:
        """Pick this block's parameters, under the family's own names."""
        return {name: parameters[name + self.suffix] for name in self.family.dims()}

    def named(self, parameters: Parameters) -> dict[str, Array]:
        """Give the family's parameters their names in the model."""
        return {name + self.suffix: values for name, values in parameters.items()}

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words; all blocks share the labels and nothing else."""
        return {
            name + self.suffix: tuple(dim if dim == "outcome" else dim + self.suffix for dim in dims)
            for name, dims in self.family.dims().items()
        }

    def coords(self) -> dict[str, Any]:
        """Return the names along the axes except the labels', and the two parts of levels."""
        coords = self.family.coords()
        return {
            name + self.suffix: names if isinstance(names, list) else (names[0] + self.suffix, names[1])
            for name, names in coords.items()
        }

    def signature(self) -> Hashable:
        """Return what fixes the compiled form of its part of the PyMC model."""
        family, axes = self.family, self.statistics.axes
        shape = sorted(axes.sizes) if axes.levels else [len(axes.features)]
        # Missing cells that a family cannot count have a likelihood of their own.
        coupled = bool(family.not_conjugate(self.statistics))
        variables = [(own.name, own.dims, list(map(len, own.coords.values()))) for own in self.page_variables()]
        return family.name, str(family.dims()), str(variables), coupled, self.suffix, tuple(shape)

    def page_variables(self) -> list[PageVariable]:
        """Return the free variables of its page that are not parameters."""
        return self.family.page_variables(self.suffix)


@dataclass(frozen=True)
class GenerativeModel:
    """P(x, y) = π_y Π_b P(x_b | y), conditioned on the statistics of its blocks.

    Naive Bayes is the finest partition of the features into blocks, the unrestricted Bayes classifier the
    coarsest. Blocks are independent given θ and, as their priors are, a posteriori.

    `posterior_given`: Whether draws of another model's posterior were given, so that nothing about the posterior is in
    closed form. `unlabeled`: Number of training rows without a label, which the statistics leave out and the inference
    did not.
    """

    labels: tuple[str, ...]
    class_prior: ClassPrior
    label_counts: Array
    blocks: tuple[Block, ...]
    posterior_given: bool = False
    unlabeled: int = 0
    generative: ClassVar[bool] = True

    def __repr__(self) -> str:
        families = ", ".join(type(block.family).__name__ for block in self.blocks)
        return f"GenerativeModel({counted(len(self.labels), 'class', 'classes')}, blocks: {families or 'none'})"

    def mle(self) -> Parameters:
        """Return the maximum likelihood estimate, or raise `DoesNotExist`."""
        self._require_labels()
        return self._collect(self.class_prior.mle(self.label_counts), lambda b: b.family.mle(b.statistics))

    def map(self) -> Parameters:
        """Return the posterior mode in the user's parameters, or raise `DoesNotExist`."""
        self._require_labels()
        return self._collect(self.class_prior.map(self.label_counts), lambda b: b.family.map(b.statistics))

    def prior_draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw from the hyperparameters as they stand: the prior's, or those of `posterior`."""
        return self._collect(self.class_prior.draw(rng, draws), lambda b: b.family.draw(rng, draws))

    def prior_mean(self) -> Parameters:
        """Return the expectation under the hyperparameters as they stand, or raise `DoesNotExist`."""
        return self._collect(self.class_prior.mean(), lambda b: b.family.mean())

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw from the exact posterior."""
        return self.posterior().prior_draw(rng, draws)

    def mean(self) -> Parameters:
        """Return the exact posterior mean, or raise `DoesNotExist`."""
        return self.posterior().prior_mean()

    def not_conjugate(self) -> str:
        """Return why the posterior has no closed form: the first block's reason; empty where all have one."""
        if self.unlabeled:
            return self._without_labels
        if self.posterior_given:
            return "draws of the posterior were given"
        return next(filter(None, (b.family.not_conjugate(b.statistics) for b in self.blocks)), "")

    def not_augmentable(self) -> str:
        """Return why data augmentation cannot sample the posterior, likewise: a block's own reason."""
        if self.posterior_given or self.unlabeled:
            return self.not_conjugate()
        others = (b for b in self.blocks if type(b.family).alternation is Family.alternation)
        return next(filter(None, (b.family.not_conjugate(b.statistics) for b in others)), "")

    def improper(self) -> str:
        """Return that no prior is improper."""
        return ""

    @property
    def _without_labels(self) -> str:
        return f"{counted(self.unlabeled, 'training row has', 'training rows have')} no label"

    def _require_labels(self) -> None:
        """Raise where statistics of the labeled rows are not all that the model was conditioned on."""
        if self.unlabeled:
            raise Refused(f"{self._without_labels}, but the statistics are of the labeled rows only")

    def level_counts(self) -> list[tuple[str, float]]:
        """Return each level as "column=level", and the weight of its training rows."""
        columns = (column for block in self.blocks for column in block.statistics.level_counts())
        return [
            (f"{name}={level}", float(count))
            for name, levels, counts in columns
            for level, count in zip(levels, counts, strict=True)
        ]

    def constant_features(self) -> list[str]:
        """Return the columns in use that have one value only, as far as the statistics tell."""
        return [name for block in self.blocks for name in block.statistics.constant_features()]

    def posterior(self) -> GenerativeModel:
        """Return the model whose hyperparameters are the exact posterior's; raises `Refused` where there is none."""
        return self._posterior

    @cached_property
    def _posterior(self) -> GenerativeModel:
        self._require_labels()
        if self.posterior_given:
            raise Refused("a posterior given as draws has no hyperparameters")
        blocks = tuple(Block(b.family.posterior(b.statistics), b.statistics, b.suffix) for b in self.blocks)
        return GenerativeModel(self.labels, self.class_prior.posterior(self.label_counts), self.label_counts, blocks)

    def pymc(self) -> pm.Model:
        """Return the PyMC model of the same prior, observing the statistics."""
        import pymc as pm

        self._require_labels()
        coords = {name: values for name, values in self.coords().items() if isinstance(values, list)}
        with pm.Model(coords=coords) as model:
            self.class_prior.pymc(self.label_counts)
            for block in self.blocks:
                block.family.pymc(block.statistics, block.suffix)
        return model

    def page(self, rows: Rows, y: Integers) -> pm.Model:
        """Return the PyMC model of labels y ~ Categorical(π) and cells given them, as `bayesclf.pymc_models` has it.

        `y`: Their label codes (row).
        """
        from bayesclf import pymc_models

        labels = np.array(self.labels, dtype=object)
        model, row = pymc_models.labels(labels[y], classes=labels, **self.class_prior.page())
        with model:
            model.add_coords({name: names for name, names in self.coords().items() if name in self._axes})
            for block, part in zip(self.blocks, rows.parts, strict=True):
                block.family.page(part, row, block.suffix)
        return model

    @property
    def _axes(self) -> set[str]:
        """Names of the axes that the parameters have besides the classes."""
        return {axis for dims in self.dims().values() for axis in dims} - {"outcome"}

    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the parameters from draws (draw, ...) of the variables of `pymc` or `page`."""
        return self._collect(
            {"pi": draws["pi"]} if self.class_prior.learnt else {}, lambda b: b.family.from_pymc(draws, b.suffix)
        )

    def signature(self) -> Hashable:
        """Return what fixes the compiled form: families, variants and shapes, but no data and no hyperparameter."""
        return ("generative", len(self.labels), self.class_prior.learnt, tuple(b.signature() for b in self.blocks))

    def log_scores(self, rows: Rows, parameters: Parameters) -> Array:
        """Return log p(x, y | θ), shape (draw, row, outcome)."""
        return self.log_scores_given(parameters)(rows)

    def linear_odds(self, parameters: Parameters) -> LinearScores | None:
        """Return the log-odds against the first class as linear functions of columns; None where they are not.

        Those of a row with an infinite column are not defined.
        """
        log_prior = self.log_class_prior(parameters).T
        if len(self.blocks) != 1 or len(self.labels) < 2 or not np.isfinite(log_prior).all():
            return None
        found = self.blocks[0].family.in_columns(self.blocks[0].own(parameters))
        if found is None:
            return None
        columns, coefficient = found
        coefficient[0] += log_prior
        return LinearScores(lambda rows: columns(rows.parts[0]), coefficient[:, 1:] - coefficient[:, :1], 0)

    def log_scores_given(self, parameters: Parameters) -> ScoresGiven:
        """Return the function from rows to `log_scores`, for many few rows; see `Family.log_density_given`."""
        # In memory as the densities are, with draws next to each other.
        log_prior = np.ascontiguousarray(self.log_class_prior(parameters).T).T[:, None, :]
        densities = tuple(block.family.log_density_given(block.own(parameters)) for block in self.blocks)
        return ScoresGiven(densities, log_prior, max(map(len, (log_prior, *parameters.values()))))

    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log density (draw) of the prior of π and of each block, up to constants.

        It is with respect to the measures of `bayesclf.families.terms.Density`.

        Raises `Refused` for a block whose prior has discrete or learned parts.
        """
        of_labels = self.class_prior.log_prior(parameters)
        parts = {} if of_labels is None else {"pi": of_labels.log_density.sum(axis=1)}
        for block in self.blocks:
            name = block.family.name.replace("-", "_") + block.suffix
            parts[name] = block.family.log_prior(block.own(parameters)).log_density.sum(axis=1)
        return parts

    def class_probabilities(self, parameters: Parameters) -> Array:
        """Return π (draw, outcome); one draw where π is known."""
        prior = self.class_prior
        return prior.pi[None] if isinstance(prior, KnownClassPrior) else parameters["pi"]

    def log_class_prior(self, parameters: Parameters) -> Array:
        """Return log π, likewise."""
        with np.errstate(divide="ignore"):  # of a class that is known not to occur
            return np.log(self.class_probabilities(parameters))

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return log p(x, y | D) = log E[π_y] + Σ_b log p(x_b | y, D), shape (row, outcome), where conjugate.

        It is NaN for a row whose missing cells leave no closed form.
        """
        densities = self.log_density(rows)
        return None if densities is None else self.mean_log_class_prior() + densities

    def mean_log_class_prior(self) -> Array:
        """Return log E[π | D], (outcome)."""
        prior = self.posterior().class_prior
        return np.asarray(self.log_class_prior(prior.mean())[0])

    @np.errstate(over="ignore")  # of a cell so far off that its density is 0
    def log_density(self, rows: Rows) -> Array | None:
        """Return log p(x | y, D), shape (row, outcome), as in `log_predictive`."""
        if self.not_conjugate():
            return None
        total = np.zeros((len(rows), len(self.labels)))
        for start in range(0, max(1, len(rows)), PREDICTED_ROWS):
            some = slice(start, start + PREDICTED_ROWS)
            own = rows if len(rows) <= PREDICTED_ROWS else rows[some]  # a slice of a sparse table is a copy
            for block, part in zip(self.posterior().blocks, own.parts, strict=True):
                total[some] += block.family.log_predictive(part)
        return total

    def log_density_without(self, rows: Rows, y: Integers) -> Array | None:
        """Return log p(x_i | k, all rows but i), (row, outcome), where conjugate; NaN where the row needs a refit.

        `rows`: Training rows; of each, one is left out. `y`: Their label codes (row).
        """
        if self.not_conjugate():
            return None
        total = np.zeros((len(rows), len(self.labels)))
        for block, part in zip(self.posterior().blocks, rows.parts, strict=True):
            total += block.family.log_predictive_without(part, y)
        return total

    def log_evidence(self) -> float:
        """Return log p(x, y) = log ∫ Π_rows p(x, y | θ) p(θ) dθ of the rows in their order.

        Models are comparable by it where their priors are explicit and proper: a default prior, set from the pooled
        rows, already depends on them.

        Raises `Refused` if a block is not conjugate; the message says why.
        """
        if reason := self.not_conjugate():
            raise Refused(f"the evidence has no closed form ({reason})")
        of_labels = self.class_prior.log_evidence(self.label_counts)
        return of_labels + sum(float(b.family.log_evidence(b.statistics).sum()) for b in self.blocks)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """Draw each block's x given label codes `y` (row), from one hypothesis."""
        return tuple(block.family.sample(block.own(parameters), y, rng) for block in self.blocks)

    def shown(self, parameters: Parameters) -> Parameters:
        """Return parameters and the other free variables of `page`."""
        found = dict(parameters)
        for block in self.blocks:
            if block.dims().keys() <= parameters.keys():
                own = block.own(parameters)
                found |= {one.name: one.of(own) for one in block.page_variables()}
        return found

    def shown_dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of what `shown` returns."""
        return self.dims() | {own.name: own.dims for own in self._page_variables()}

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of each parameter; a known class prior is not a parameter."""
        dims: dict[str, tuple[str, ...]] = {"pi": ("outcome",)} if self.class_prior.learnt else {}
        for block in self.blocks:
            dims |= block.dims()
        return dims

    def coords(self) -> dict[str, Any]:
        """Return labels, features and levels."""
        coords: dict[str, Any] = {"outcome": list(self.labels)}
        for block in self.blocks:
            coords |= block.coords()
        return coords

    def shown_coords(self) -> dict[str, Any]:
        """Return the coordinates of the axes of what `shown` returns."""
        return self.coords() | {axis: names for own in self._page_variables() for axis, names in own.coords.items()}

    def _page_variables(self) -> list[PageVariable]:
        return [own for block in self.blocks for own in block.page_variables()]

    def _collect(self, pi: Parameters, of_block: Any) -> dict[str, Array]:
        parameters = dict(pi)
        for block in self.blocks:
            parameters |= block.named(of_block(block))
        return parameters


@dataclass(frozen=True, eq=False)
class ScoresGiven:
    """log p(x, y | θ) as a function of rows.

    `densities`: From the cells of each block to its log density, (draw, row, outcome). `log_prior`: log π, (draw, row,
    outcome), of one row; of one draw where π is known.
    """

    densities: tuple[Callable[[Any], Array], ...]
    log_prior: Array
    draws: int

    @np.errstate(over="ignore")  # of a cell so far off that its density is 0
    def __call__(self, rows: Rows) -> Array:
        """Return log p(x, y | θ), shape (draw, row, outcome)."""
        if not self.densities:  # a given class prior is one for all draws
            return np.broadcast_to(self.log_prior, (self.draws, len(rows), self.log_prior.shape[2])).copy()
        first, *rest = (density(part) for density, part in zip(self.densities, rows.parts, strict=True))
        for log_density in rest:
            first += log_density
        first += self.log_prior
        return first


def independent_groups(blocks: Iterable[Block]) -> dict[str, int]:
    """Return a group number for each column in use: columns of different groups are independent given the class.

    Columns of one block share a group where its family models their dependence, those of a network where edges
    connect them.
    """
    groups: dict[str, int] = {}
    for block in blocks:
        features = block.statistics.axes.features
        joined = np.zeros((len(features), len(features)))
        for one, other in block.family.pairs():
            joined[features.index(one), features.index(other)] = 1.0
        own = connected_components(joined, directed=False)[1].tolist()
        groups |= dict(zip(features, (len(groups) + number for number in own), strict=True))
    return groups
