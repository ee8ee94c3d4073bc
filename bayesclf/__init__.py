"""Simple classifiers as PyMC generative models: MAP, Bayes-optimal and Gibbs answers of one posterior, side by side."""
