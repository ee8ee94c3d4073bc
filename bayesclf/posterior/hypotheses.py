"""Weighted sets of hypotheses: what rules and averages need to know of a posterior, and the draws of one model.

Draws that are too large to keep in memory are stored as a seed, from which blocks are made again when needed. Draws and
point estimates are handed to ArviZ as data sets with labeled axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import Refused
from bayesclf.models import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.linear import LinearScores
from bayesclf.models.tempered import alone, densities, tempered
from bayesclf.tables.columns import Rows

if TYPE_CHECKING:
    import xarray as xr


class HypothesisSet(Protocol):
    """A weighted set of hypotheses: a posterior's draws, one point estimate, or a finite space."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""

    @property
    def generative(self) -> bool:
        """Whether a hypothesis has a p(x | y)."""

    @property
    def exact(self) -> bool:
        """Whether the set is the whole posterior rather than draws from it."""
        return False

    @property
    def in_parts(self) -> bool:
        """Whether the hypotheses are too large to keep in memory at once, so that `parts` yields blocks."""
        return False

    @property
    def log_weights(self) -> Array:
        """Log weights (draw), adding up to 1 outside the logs; equal by default."""
        return np.full(len(self), -np.log(len(self)))

    @property
    def linear_scores(self) -> LinearScores | None:
        """The scores as what is linear in columns of the rows; None where they are not linear."""
        return None

    @property
    def linear_odds(self) -> LinearScores | None:
        """The log-odds likewise, of rows whose columns are finite."""
        return self.linear_scores

    @property
    def draw_bytes(self) -> float:
        """Size of one hypothesis."""
        return np.inf

    def __len__(self) -> int: ...

    def parts(self) -> Iterator[HypothesisSet]:
        """Yield blocks of hypotheses, in order; weights are equal where there is more than one."""
        yield self

    def take(self, draws: Integers) -> HypothesisSet:
        """Return some of the hypotheses, equally weighted."""

    def log_scores(self, rows: Rows) -> Array:
        """Return (draw, row, outcome), log p(x, y | h) or, for discriminative models, log P(y | x, h) + constant."""

    def log_class_prior(self) -> Array:
        """Return log P(y | h), (draw, outcome) or (1, outcome)."""

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return log p(x, y | D), (row, outcome), in closed form, or None."""
        return None


@dataclass(frozen=True)
class Hypotheses(HypothesisSet):
    """Equally weighted parameter values of one model.

    `offset`: Log odds (outcome) added to the scores, for other base rates.
    """

    model: Model
    parameters: Parameters
    offset: Array | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.model.labels

    @property
    def generative(self) -> bool:
        """Whether the model has a p(x | y)."""
        return self.model.generative

    @property
    def draw_bytes(self) -> float:
        """Size of one hypothesis."""
        return sum(values.nbytes for values in self.parameters.values()) / len(self)

    def __len__(self) -> int:
        return max((len(values) for values in self.parameters.values()), default=1)

    def parts(self) -> Iterator[Hypotheses]:
        """Yield itself."""
        yield self

    def take(self, draws: Integers) -> Hypotheses:
        """Return some of the hypotheses, equally weighted."""
        chosen = {name: values[draws] for name, values in self.parameters.items()}
        return replace(self, parameters=chosen)

    def log_scores(self, rows: Rows) -> Array:
        """Return the model's scores (draw, row, outcome)."""
        if self.linear_scores is not None:
            return self.linear_scores.scores(rows)
        scores = self._scores_given(rows)
        return scores if self.offset is None else scores + self.offset

    @cached_property
    def _scores_given(self) -> Callable[[Rows], Array]:
        """The model's scores, with what rows share computed once where it is generative."""
        if self.generative:
            return cast("GenerativeModel", self.model).log_scores_given(self.parameters)
        return partial(self.model.log_scores, parameters=self.parameters)

    @property
    def linear_scores(self) -> LinearScores | None:
        """The log-odds, which are the scores where a hypothesis has no p(x | y)."""
        return None if self.generative else self.linear_odds

    @cached_property
    def linear_odds(self) -> LinearScores | None:
        """The log-odds as what is linear in columns of the rows, made once; None where they are not linear."""
        odds: LinearScores | None = self.model.linear_odds(self.parameters)
        if odds is None or self.offset is None:
            return odds
        # A base rate of 0 has no log-odds to the others.
        return odds.plus(self.offset) if np.isfinite(self.offset).all() else None

    def log_class_prior(self) -> Array:
        """Return the model's log class prior."""
        prior = self.model.log_class_prior(self.parameters)
        return prior if self.offset is None else prior + self.offset

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return the model's closed-form predictive, if it has one."""
        joint = self.model.log_predictive(rows)
        return joint if joint is None or self.offset is None else joint + self.offset


@dataclass(frozen=True)
class TemperedHypotheses(Hypotheses):
    """Values of T and b, by which log p(x | k, D) of a generative model is believed; see `bayesclf.models.tempered`.

    `draws`: Hypotheses of the model, over which p(x | k, θ) is averaged for rows whose gaps leave no closed form;
    without them such rows are refused.
    """

    model: GenerativeModel
    draws: HypothesisSet | None = None
    generative: ClassVar[bool] = False
    linear_scores: ClassVar[None] = None

    @cached_property
    def linear_odds(self) -> LinearScores | None:
        """The log-odds b_k − b_0 + T·(L_k − L_0) against the first class, of one T for all columns."""
        if "T" not in self.parameters or len(self.labels) < 2:
            return None
        log_prior, T = self.log_class_prior().T, self.parameters["T"]
        of_densities = np.eye(len(log_prior) - 1)[..., None] * T

        def columns(rows: Rows) -> Array:
            """Return 1 and L_k − L_0, (row, column)."""
            L = self._log_density(rows)[..., 0]
            with np.errstate(invalid="ignore"):
                return np.concatenate([np.ones((len(L), 1)), L[:, 1:] - L[:, :1]], axis=1)

        return LinearScores(columns, np.concatenate([(log_prior[1:] - log_prior[0])[None], of_densities]), 0)

    def log_scores(self, rows: Rows) -> Array:
        """Return log π + b + T·log p(x | k, D), (draw, row, outcome)."""
        return tempered(self._log_density(rows), self.model.mean_log_class_prior(), self.parameters)

    def _log_density(self, rows: Rows) -> Array:
        """Return log p(x | k, D), (row, outcome), or that of each column, (row, outcome, column)."""
        if "T_column" in self.parameters:
            found = densities(self.model, rows, lambda family, X: family.log_predictive(X))
        else:
            of_rows = self.model.log_density(rows)
            assert of_rows is not None
            found = of_rows[..., None]
        by_draws = np.flatnonzero(np.isnan(found).any(axis=(1, 2)))
        if len(by_draws):
            if self.draws is None or "T_column" in self.parameters:
                raise Refused(
                    "the rule 'tempered' has no closed form where cells are missing on which other numbers depend; "
                    "fill them in, or use the rule 'bayes-optimal'"
                )
            scores = self.draws.log_weights[:, None, None] + self.draws.log_scores(rows[by_draws])
            log_prior = self.model.mean_log_class_prior()
            found[by_draws, :, 0] = logsumexp(scores, axis=0) - np.where(np.isneginf(log_prior), 0, log_prior)
        return found

    def log_class_prior(self) -> Array:
        """Return log π + b, (draw, outcome)."""
        return self.model.mean_log_class_prior() + self.parameters["b"]

    def log_predictive(self, rows: Rows) -> None:
        """Return None: T and b are averaged over."""


@dataclass(frozen=True)
class SeededDraws:
    """Independent draws that are made when they are needed: the same ones each time, in whatever order.

    Draws ``b·block`` to ``(b + 1)·block`` come from a generator of their own, of (seed, b).

    `block`: Draws that are made together.
    """

    seed: int
    draws: int
    block: int

    def __len__(self) -> int:
        return self.draws

    def blocks(self) -> Iterator[Integers]:
        """Return the numbers of the draws of each block."""
        return (np.arange(start, min(start + self.block, self.draws)) for start in range(0, self.draws, self.block))

    def make(self, posterior: GenerativeModel, number: int) -> Parameters:
        """Return the draws of block `number` from a model whose hyperparameters are the posterior's."""
        return posterior.prior_draw(self._rng(number), self._size(number))

    def class_prior(self, posterior: GenerativeModel) -> Parameters:
        """Return all draws of the class prior, which each block draws first."""
        numbers = range(-(-self.draws // self.block))
        parts = [posterior.class_prior.draw(self._rng(number), self._size(number)) for number in numbers]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _size(self, number: int) -> int:
        return min(self.block, self.draws - number * self.block)

    def _rng(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, number])


@dataclass(frozen=True)
class SeededHypotheses(HypothesisSet):
    """Equally weighted parameter values of one model, made from a seed; only the last block made is kept.

    `model`: Scores rows; its class prior may be another than the posterior's. `posterior`: The model whose
    hyperparameters are the posterior's.
    """

    model: GenerativeModel
    posterior: GenerativeModel
    seeded: SeededDraws
    in_parts: ClassVar[bool] = True
    generative: ClassVar[bool] = True
    _last: dict[int, Parameters] = field(default_factory=dict, repr=False, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.model.labels

    @property
    def parameters(self) -> Parameters:
        """Refuses: all draws at once are too large to keep in memory."""
        raise Refused(
            f"{len(self)} draws of this posterior are too large to keep in memory; select some with `take`, or fit "
            "with fewer, such as inference=bc.engines.Exact(draws=25)"
        )

    def __len__(self) -> int:
        return len(self.seeded)

    def parts(self) -> Iterator[Hypotheses]:
        """Yield the blocks of draws, in order."""
        return (Hypotheses(self.model, self._block(number)) for number, _ in enumerate(self.seeded.blocks()))

    def take(self, draws: Integers) -> Hypotheses:
        """Return some of the hypotheses, equally weighted."""
        numbers = draws // self.seeded.block
        chosen: dict[str, Array] = {}
        for number in np.unique(numbers):
            place = np.flatnonzero(numbers == number)
            for name, values in self._block(int(number)).items():
                target = chosen.setdefault(name, np.empty((len(draws), *values.shape[1:])))
                target[place] = values[draws[place] % self.seeded.block]
        return Hypotheses(self.model, chosen)

    def log_scores(self, rows: Rows) -> Array:
        """Return log p(x, y | h), (draw, row, outcome)."""
        scores, done = np.empty((len(self), len(rows), len(self.labels))), 0
        for part in self.parts():
            scores[done : done + len(part)] = part.log_scores(rows)
            done += len(part)
        return scores

    def log_class_prior(self) -> Array:
        """Return log P(y | h), (draw, outcome) or (1, outcome)."""
        return self.model.log_class_prior(self.seeded.class_prior(self.posterior))

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return log p(x, y | D), (row, outcome), in closed form."""
        return self.model.log_predictive(rows)

    def _block(self, number: int) -> Parameters:
        if number not in self._last:
            self._last.clear()
            self._last[number] = self.seeded.make(self.posterior, number)
        return self._last[number]


@dataclass(frozen=True)
class TemperedPosterior(HypothesisSet):
    """Draws of θ, each with one of T and b: how far tempered probabilities spread, where θ is uncertain too.

    `of`: Draws of θ of a generative model. `temper`: Draws of T (draw) and b (draw, outcome), taken in turn. `first`:
    Number of the first draw of θ.
    """

    of: Hypotheses | SeededHypotheses
    temper: Parameters
    first: int = 0
    generative: ClassVar[bool] = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.of.labels

    @property
    def in_parts(self) -> bool:
        """Whether the draws of θ are made in parts."""
        return self.of.in_parts

    def __len__(self) -> int:
        return len(self.of)

    def parts(self) -> Iterator[TemperedPosterior]:
        """Yield the blocks of draws, in order."""
        first = self.first
        for part in self.of.parts():
            yield TemperedPosterior(part, self.temper, first)
            first += len(part)

    def take(self, draws: Integers) -> TemperedPosterior:
        """Return some of the draws of θ, equally weighted, with the T and b that they have here."""
        own = {name: values[(self.first + draws) % len(values)] for name, values in self.temper.items()}
        return TemperedPosterior(self.of.take(draws), own)

    def _own(self, name: str) -> Array:
        values = self.temper[name]
        return np.asarray(values[(self.first + np.arange(len(self))) % len(values)])

    def log_scores(self, rows: Rows) -> Array:
        """Return log π + b + T·log p(x | k, θ), (draw, row, outcome)."""
        prior = self.of.log_class_prior()[:, None]
        by_column = "T_column" in self.temper
        T = self._own("T_column") if by_column else self._own("T")[:, None]
        parts = alone(cast("GenerativeModel", self.of.model), rows) if by_column else [rows]
        total = self.log_class_prior()[:, None]
        for own, part in zip(T.T, parts, strict=True):
            scores = self.of.log_scores(part) - np.where(np.isneginf(prior), 0.0, prior)
            total = total + own[:, None, None] * scores
        return total

    def log_class_prior(self) -> Array:
        """Return log π + b, (draw, outcome)."""
        return self.of.log_class_prior() + self._own("b")


def to_dataset(
    parameters: Mapping[str, NDArray[np.float64]],
    dims: Mapping[str, tuple[str, ...]],
    coords: Mapping[str, Any],
    chains: int = 1,
) -> xr.Dataset:
    """Return parameters (draw, ...) as a data set (chain, draw, ...) with labeled axes.

    Parameters
    ----------
    parameters
        Arrays by name, draws along the first axis, those of one chain together.
    dims
        Axis words of each parameter, without chain and draw; parameters not in it are left out.
    coords
        Coordinates of the axes.
    chains
        Number of chains; divides the number of draws.
    """
    import xarray as xr

    variables = {}
    for name, axes in dims.items():
        values = np.asarray(parameters[name])
        variables[name] = (("chain", "draw", *axes), values.reshape(chains, len(values) // chains, *values.shape[1:]))
    draws = len(next(iter(parameters.values()))) // chains if variables else 0
    used = {axis for axes in dims.values() for axis in axes}
    kept = {name: values for name, values in coords.items() if name in used}
    return xr.Dataset(variables, coords={"chain": np.arange(chains), "draw": np.arange(draws), **kept})


def to_constants(coords: Mapping[str, Any]) -> xr.Dataset:
    """Return what is known of an axis in addition to its names, such as the feature that each level belongs to.

    It has a group of its own, because ArviZ's summary fails on a posterior whose variables do not all have it.
    """
    import xarray as xr

    about = {name: values for name, values in coords.items() if isinstance(values, tuple)}
    axes = {axis for axis, _ in about.values()}
    return xr.Dataset(about, coords={axis: coords[axis] for axis in axes})
