"""Types of arrays that every module uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

type Array = NDArray[np.float64]
type Integers = NDArray[np.intp]
type Parameters = Mapping[str, Array]
"""Values of a model's parameters, by name; every array has the draw as its first axis."""

type Statistics = Mapping[str, NDArray[Any]]
"""Sample statistics under ArviZ's names: of each draw, (chain, draw), or of all, ()."""

type DrawZ = Callable[[np.random.Generator, int, int], tuple[Array, Array]]
"""From a random generator, a number and a size to draws z (draw, coordinate) and log q(z) (draw), up to a constant."""
