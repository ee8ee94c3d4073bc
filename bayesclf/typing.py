"""Types of arrays that every module uses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

type Array = NDArray[np.float64]
type Integers = NDArray[np.intp]
type Parameters = Mapping[str, Array]
"""Values of a model's parameters, by name; every array has the draw as its first axis."""
