"""Gaussian features that depend on each other within a class."""
