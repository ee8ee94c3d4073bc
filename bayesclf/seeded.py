"""A posterior whose draws are made when they are asked for, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bayesclf.errors import InputError, Refused
from bayesclf.families.base import Rows
from bayesclf.families.generative import GenerativeModel
from bayesclf.hypothesis_set import Hypotheses
from bayesclf.inference.seeded import SeededDraws
from bayesclf.typing import Array, Integers, Parameters

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class SeededHypotheses:
    """Equally weighted parameter values of one model, made from a seed: the last block made is kept, no other.

    Attributes
    ----------
    model
        Scores rows; its class prior may be another than the posterior's.
    posterior
        The model whose hyperparameters are the posterior's.
    seeded
        Which draws.
    """

    model: GenerativeModel
    posterior: GenerativeModel
    seeded: SeededDraws
    exact: ClassVar[bool] = False
    in_parts: ClassVar[bool] = True
    generative: ClassVar[bool] = True
    _last: dict[int, Parameters] = field(default_factory=dict, repr=False, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.model.labels

    @property
    def parameters(self) -> Parameters:
        """All draws at once, which these are too many for."""
        raise Refused(
            f"{len(self)} draws of this posterior are too large to hold at once; take some of them with `take`, some "
            "features with `posterior_of`, or fit with fewer draws, such as inference=Exact(draws=25)"
        )

    @property
    def log_weights(self) -> Array:
        """Log weights (draw)."""
        return np.full(len(self), -np.log(len(self)))

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
        return np.concatenate([part.log_scores(rows) for part in self.parts()])

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


def named_draws(hypotheses: Hypotheses | SeededHypotheses, names: Sequence[str], chains: int) -> xr.Dataset:
    """Return the draws of some features' parameters, (chain, draw, …).

    Parameters
    ----------
    hypotheses
        The posterior.
    names
        Coordinates of any axis beside the classes: features, words, or levels such as "outlook=sunny".
    chains
        Number of chains.
    """
    from bayesclf.posterior import to_dataset

    model = hypotheses.model
    coords, dims = model.coords(), model.dims()
    picked = {axis: _positions(coords[axis], names) for axes in dims.values() for axis in axes if axis != "outcome"}
    lacking = set(names).difference(*([coords[axis][j] for j in found] for axis, found in picked.items()))
    if lacking:
        raise InputError(f"{sorted(lacking)[0]!r} is none of the model's features; look at clf.model_.coords()")
    shown = {name: axes for name, axes in dims.items() if all(len(picked.get(axis, [0])) for axis in axes)}
    parts: dict[str, list[Array]] = {name: [] for name in shown}
    for part in hypotheses.parts():
        for name, axes in shown.items():
            values = part.parameters[name]
            for place, axis in enumerate(axes, 1):
                values = values if axis == "outcome" else np.take(values, picked[axis], axis=place)
            parts[name].append(values)
    some = {axis: [coords[axis][j] for j in found] for axis, found in picked.items()}
    joined = {name: np.concatenate(values) for name, values in parts.items()}
    return to_dataset(joined, shown, {**coords, **some}, chains)


def _positions(coordinates: Sequence[str], names: Sequence[str]) -> Integers:
    wanted = set(names)
    return np.array([j for j, name in enumerate(coordinates) if name in wanted], dtype=np.intp)
