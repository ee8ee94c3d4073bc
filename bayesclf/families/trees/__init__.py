"""Mixtures over every tree or forest between features."""
