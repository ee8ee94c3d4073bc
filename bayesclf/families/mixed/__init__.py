"""Categories and numbers that depend on each other: conditional Gaussian networks."""
