"""Values that an argument cannot have."""

import numpy as np

NO_NUMBERS = ["x", b"x", np.nan, [], {}, {1, 2}, object(), ["x", "y"], [np.nan, 1.0], 1j, True, -np.inf]
"""What no number, no array of numbers and no choice can be."""

NO_COUNTS = [*NO_NUMBERS, 2.5, np.float32(1.5), np.inf, 0, -1, 1e300]
NO_FLAGS = ["x", np.nan, 2.5, [], {}, object(), 0, 1, None]
"""What no whole number of at least 1, and no truth value, can be."""
