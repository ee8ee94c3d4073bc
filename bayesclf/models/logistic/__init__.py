"""Logistic regression, P(y | x) itself: model, prior, design, likelihood, and the density that chains sample."""
