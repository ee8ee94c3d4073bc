"""Checks of the posterior: of its draws, of Laplace's weights, and of how much it is the prior's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.diagnosis import Answer, issue, passed, tip
from bayesclf.diagnostics.held_out import NotApplicable, Undecided
from bayesclf.diagnostics.power_scaling import sensitivities
from bayesclf.engines import NUTS, Laplace, convergence
from bayesclf.wording import counted, named, part_of


@check("P01", "Markov chains", "draws of Markov chains")
def chains(context: Context) -> Answer:
    """Compare what tells whether chains have explored the posterior with its limits.

    These are R-hat and effective sample sizes, in bulk and tails, of each parameter, and for NUTS divergences, tree
    depth and E-BFMI. The limits are those of the warnings of a fit. `arviz.summary`, `arviz.plot_rank` and
    `arviz.plot_energy` of ``clf.posterior_`` show the same in detail.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization, folding, and localization: an improved
    R-hat, Bayesian Analysis 16, doi:10.1214/20-BA1221. Betancourt (2016), Diagnosing suboptimal cotangent
    disintegrations in Hamiltonian Monte Carlo, arXiv:1604.00695.
    """
    posterior, stats = context.chains
    if not posterior.data_vars:
        raise Undecided(f"the draws cannot be checked: {posterior.attrs['not_held']}")
    engine = context.classifier.inference_
    depth = engine.max_treedepth if isinstance(engine, NUTS) else 0
    found = convergence.scalars(posterior, thresholds.MAX_SCALARS)
    measured = [one for one in convergence.measures(found, stats, depth) if one.problem]
    evidence, smallest, largest = pd.DataFrame(), np.inf, 1.0
    if found.names and posterior.sizes["draw"] >= convergence.MIN_DRAWS:
        sizes = {f"ess_{method}": convergence.ess(found, method) for method in ("bulk", "tail")}
        rhat = convergence.rhat(found).values if len(posterior["chain"]) > 1 else np.ones(len(found.names))
        smallest, largest = min(size.min() for size in sizes.values()), rhat.max()
        evidence = found.worst(rhat, thresholds.SHOWN, r_hat=rhat, **sizes)
    if measured:
        steps = dict.fromkeys(one.advice(context.sampler) for one in measured)
        return issue("; ".join(one.problem for one in measured), "; ".join(steps), evidence)
    return passed(f"R-hat at most {largest:.3f}, effective draws at least {smallest:.0f}, of {found.scope}", evidence)


@check("P08", "Normal approximation (Pareto k̂)", "Laplace draws")
def laplace_weights(context: Context) -> Answer:
    """Compare the Pareto k̂ of the weights that correct a normal approximation with its limit.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry (2024), Pareto smoothed importance sampling, JMLR 25.
    """
    _ = context.posterior  # raises where there is none
    stats = context.statistics
    engine = context.classifier.inference_
    if not isinstance(engine, Laplace):
        raise NotApplicable(f"draws by {context.engine} need no importance weights")
    assert stats is not None  # the engine has recorded its weights
    khat, ess = float(stats["pareto_k"]), float(stats["importance_ess"])
    limit = min(engine.limit, thresholds.MAX_KHAT)
    evidence = {"pareto_k": khat, "limit": limit, "importance_ess": ess}
    if not khat <= limit:
        return issue(
            f"k̂ = {khat:.2f} is above {limit}: weights cannot correct the normal approximation of this posterior",
            "sample the posterior: clf.set_params(inference='slice').fit(X, y) (--inference slice)",
            evidence,
        )
    says = f"k̂, how heavy the tail of the weights is, is {khat:.2f}, within the limit of {limit:g}"
    return passed(f"{says}; the weighted sample is as accurate as {ess:,.0f} independent draws", evidence)


@check("M03", "Prior sensitivity", "generative models with draws in memory")
def prior_sensitivity(context: Context) -> Answer:
    """Name the parameters that follow the prior rather than the rows, and those that prior and rows pull apart.

    The draws are reweighted as if the prior, and then the likelihood, were raised to powers of 0.99 and 1.01. A
    parameter that moves with the prior alone is what the prior says it is, which may be intended. One that moves with
    both, and that the prior moves by over `MAX_PULL` posterior sds, is a compromise that neither supports: a mistaken
    unit, or a prior that is narrower than meant. Powers of a density depend on its coordinates: those of rates λ and
    variances σ² are of their densities per log λ and log σ². For other models, see `arviz.psense_summary` of
    ``clf.to_datatree(X, y)``.

    References
    ----------
    Kallioinen, Paananen, Bürkner, Vehtari (2024), Detecting and diagnosing prior and likelihood sensitivity with
    power-scaling, Statistics and Computing 34, doi:10.1007/s11222-023-10366-5.
    """
    context.require_all_labeled()
    context.require_own_posterior()
    limit = thresholds.MAX_SENSITIVITY
    table = sensitivities(context.classifier.model_, context.posterior, context.labelled)
    if not len(table):
        raise Undecided("no parameter varies, or the draws are too large to keep in memory")
    table = table.sort_values("prior", ascending=False, ignore_index=True)
    scope = counted(len(table), "parameter")
    of = table.attrs["of"]
    part = f"; {part_of(len(table), of, 'parameters')} were checked" if of > len(table) else ""
    sensitive = table[table["prior"] >= limit]
    follow = sensitive[sensitive["likelihood"] < limit]
    apart = sensitive[(sensitive["likelihood"] >= limit) & (sensitive["pull"].abs() > thresholds.MAX_PULL)]
    reasons, steps = [], []
    if len(apart):
        names, most = named(apart["parameter"].tolist()), thresholds.MAX_PULL
        reasons.append(f"the prior moves {len(apart)} of {scope} ({names}) by over {most:g} posterior sds")
        steps.append("compare the prior with the rows, clf.prior_summary(); widen it where it is too narrow")
    if len(follow):
        names = named(follow["parameter"].tolist())
        reasons.append(f"{len(follow)} of {scope} ({names}) follow the prior more than the rows")
        steps.append("check that the prior says what is known, clf.prior_summary(), or gather informative rows")
    if reasons:
        return tip("; ".join(reasons) + part, "; ".join(steps), pd.concat([apart, follow]).head(thresholds.SHOWN))
    return passed(f"largest sensitivity to the prior {table['prior'].iloc[0]:.3f} of {scope}{part}", table.head(1))
