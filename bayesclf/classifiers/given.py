"""Classifiers that answer from a posterior that was computed elsewhere, such as one of an extended PyMC model."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Statistics
from bayesclf.constraints import Instance, require
from bayesclf.engines import NUTS
from bayesclf.engines.convergence import PYMC, convergence_problems, scalars
from bayesclf.engines.inference import Draws
from bayesclf.engines.nuts import sample_statistics
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, warn
from bayesclf.models import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.wording import IN_ALL, LISTED_NAMES, listed

if TYPE_CHECKING:
    import xarray as xr

GIVEN = "draws of the posterior were given"
"""Note of a classifier that answers from given draws."""

UNTEMPERED = "the default rule is bayes-optimal: tempered leaves rows out, which given draws do not allow"
"""Note where the fit that the draws were given to answers under the rule tempered."""

PRIOR_OF_FIT = f"{GIVEN}; these are the priors of the fit, and the draws may have others"
"""What is said of the priors of a classifier that answers from given draws."""

NO_MODE = (
    "the mode of a posterior that is given as draws is not known; give it, with_posterior(idata, "
    "pymc.find_MAP(model=model))"
)


def with_posterior[C](self: C, idata: Any, point: Mapping[str, Any] | None = None) -> C:
    """Return a copy of a fitted classifier that answers from given draws of its parameters.

    Everything that rests on the posterior does: the rules ``bayes-optimal``, ``gibbs``, ``mean`` (the average of the
    draws) and ``predictive`` (averaged over the draws), intervals, reports, saved files. ``mle`` is that of the fit,
    and so are the priors that `prior_summary` and `to_pymc` show. The prior of the draws is not known, so that
    `to_datatree` has none and `diagnose` skips what looks at it; held-out rows are answered by fits with the
    classifier's own prior, as its findings say.

    Parameters
    ----------
    idata : DataTree or Dataset
        A DataTree with a group ``posterior``, as `pymc.sample` returns it for `to_pymc` or an extension of it, or this
        group alone: the parameters of `posterior_` (chain, draw, …), or the free variables of `to_pymc`, with their
        coordinates. Others are left out. If there are ``sample_stats`` of NUTS, the convergence of the chains is
        checked.
    point : mapping or None
        What the rule ``map`` answers by: the same parameters without chain and draw, as `pymc.find_MAP` returns them.

    Raises
    ------
    InputError
        For a parameter that is lacking, has other axes, coordinates or lengths, or values that are not finite.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> clf = bc.GaussianNB(random_state=1).fit(X, y)
    >>> again = clf.with_posterior(clf.posterior_)
    >>> bool((again.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    import xarray as xr

    classifier: Any = self
    check_is_fitted(classifier, "classes_")
    posterior = _posterior(idata)
    model, chains = classifier.model_, posterior.sizes["chain"]
    given = {name: axes for name, axes in model.shown_dims().items() if name in posterior}
    parameters = _parameters(model, {name: _draws(posterior, name, axes, model) for name, axes in given.items()})
    settings = NUTS(draws=posterior.sizes["draw"], chains=chains)
    stats: Statistics | None = None
    problems: tuple[str, ...] = ()
    if isinstance(idata, xr.DataTree) and "sample_stats" in idata and "diverging" in idata["sample_stats"]:
        stats = sample_statistics(idata, settings)
        problems = convergence_problems(scalars(posterior[list(given)]), stats, settings.max_treedepth, PYMC)
        for problem in problems:
            warn(problem, ConvergenceWarning)
    other = copy(classifier)
    for name in ("posterior_", "_drawn", "_temper"):
        other.__dict__.pop(name, None)
    other.model_ = model
    if isinstance(model, GenerativeModel):
        other.model_ = replace(model, posterior_given=True)
        other.__dict__["_left_out"] = None  # rows were left out of the posterior of the fit
    other.draws_, other.inference_ = Draws(parameters, chains, stats, problems), settings
    other.convergence_problems_, other.trace_ = problems, None
    other.points_ = {name: found for name, found in classifier.points_.items() if name == "mle"}
    other.points_["map"] = DoesNotExist(NO_MODE) if point is None else _point(point, model)
    kept = [note for note in classifier.notes_ if note not in classifier._notes_of_draws]  # noqa: SLF001
    changed = classifier.rule is None and getattr(classifier, "_rule_of_posterior", "") == "tempered"
    other.notes_ = list(dict.fromkeys([*kept, *([UNTEMPERED] if changed else []), GIVEN]))
    return other  # type: ignore[no-any-return]


def is_given(classifier: Any) -> bool:
    """Return whether a classifier, fitted or not, answers from draws that were given."""
    return GIVEN in getattr(classifier, "notes_", ())


def _posterior(idata: Any) -> xr.Dataset:
    """Return the data set of draws, its first axes chain and draw."""
    import xarray as xr

    found = idata
    if isinstance(idata, xr.DataTree):
        group: Any = idata.get("posterior", idata)  # perhaps the group itself was given, idata.posterior
        if "draw" not in group.dims:
            groups = ", ".join(idata.children) or "none"
            raise InputError(f"the tree has no group 'posterior'; its groups are: {groups}")
        found = group.to_dataset()
    if not isinstance(found, xr.Dataset) or not {"chain", "draw"} <= set(found.dims):
        raise InputError(
            "idata must be a DataTree with a group 'posterior', as pymc.sample returns it, or a Dataset with the axes "
            f"chain and draw, not {type(idata).__name__}"
        )
    return found


def _draws(posterior: xr.Dataset, name: str, axes: tuple[str, ...], model: Model) -> Array:
    """Return the draws (draw, …) of one variable, those of one chain together, in the order of the model's axes."""
    variable = posterior[name]
    if set(variable.dims) != {"chain", "draw", *axes}:
        axes_found, dims = ", ".join(map(str, variable.dims)), f"; give it in PyMC dims={axes}" if axes else ""
        raise InputError(f"{name!r} has the axes {axes_found}, not {', '.join(('chain', 'draw', *axes))}{dims}")
    for axis in axes:
        expected, found = ([*map(str, names)] for names in (model.shown_coords()[axis], variable[axis].values))
        if len(expected) != len(found) or (axis in variable.coords and found != expected):
            there, here = (listed(names, LISTED_NAMES, IN_ALL) for names in (found, expected))
            raise InputError(f"{name!r} has {there} along {axis!r}, and the model has {here}")
    values = np.asarray(variable.transpose("chain", "draw", *axes).values, dtype=float)
    if not np.isfinite(values).all():
        raise InputError(f"{name!r} has draws that are not finite")
    return values.reshape(-1, *values.shape[2:])


def _point(point: Mapping[str, Any], model: Model) -> dict[str, Array]:
    """Return one hypothesis from parameters without a draw axis."""
    require(Instance(Mapping), point=point)
    found = {}
    for name, axes in model.shown_dims().items():
        if name not in point:
            continue
        values, shape = np.asarray(point[name], dtype=float), tuple(len(model.shown_coords()[axis]) for axis in axes)
        if values.shape != shape:
            raise InputError(f"{name!r} of the point has shape {values.shape}, not {shape} ({', '.join(axes)})")
        found[name] = values[None]
    return _parameters(model, found, "point")


def _parameters(model: Model, found: dict[str, Array], what: str = "posterior") -> dict[str, Array]:
    """Return the parameters from those, or from the free variables of the PyMC model, that were found."""
    if model.dims().keys() <= found.keys() and model.generative:
        return {name: found[name] for name in model.dims()}
    try:
        return dict(model.from_pymc(found))
    except KeyError as lacking:
        name, variables = lacking.args[0], ", ".join(model.shown_dims())
        how = f'pm.Deterministic("{name}", {"sigma**2" if name == "sigma2" else "…"})'
        raise InputError(
            f"the {what} lacks {name!r}; the variables are {variables}; compute it in the PyMC model: {how}"
        ) from None
