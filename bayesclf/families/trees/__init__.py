"""Mixtures over every tree or forest between categorical features, and averaged one-dependence estimators."""
