"""The peers, a file each, with the same names in the same order.

``MULTINOMIAL``
    Whether it has logistic regression of more than two classes.
``SETTINGS``
    Ways to run it that leave the posterior alone; each is tried first, and the one of the fastest fit is measured.
``versions()``
    Name and version of what it consists of; raises ImportError where a part is not installed.
``load()``
    Import everything that a fit needs.
``fit(X, y, prior, seed, **setting)``
    The whole fit, as the peer's manual has it.
``draws(fitted)``
    Its draws (chain, draw, vector, 1 + column), see `problems`; a point estimate is one chain of one draw.
"""

from importlib import import_module
from types import ModuleType

SAMPLERS = ("bayesclf", "bambi", "numpyro", "pymc", "rstanarm")


def peer(name: str) -> ModuleType:
    """Return the peer's module."""
    return import_module(f"peers.{name}_peer")
