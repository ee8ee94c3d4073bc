"""A posterior as a weighted set of hypotheses, and the averages over it."""
