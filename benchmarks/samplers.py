"""Logistic regression against its peers: one posterior, sampled by each, in one run.

    BAYESCLF_DATA=FOLDER python benchmarks/samplers.py [--data pima] [--peers pymc bayesclf] [--json FILE]

All have the posterior of two classes given standardized columns, with weights N(0, 1) and the intercept N(0, 5²), and
4 chains × 1,000 draws, with the warm-up and settings that they come with. The peers take turns. A first fit of each,
which compiles, is left out; the others are measured by processor time, and ESS/s is the smallest bulk effective sample
size of a parameter over it. Posterior means and sds must agree within Monte Carlo error: where they do not, the script
says so and ends with status 1. A peer that is not installed is left out: `pip install -c constraints.txt -e
".[benchmark]"` brings those in Python, and rstanarm needs R (on Debian, `apt install r-cran-rstanarm`).
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from common import TABLES, cpu, loaded, markdown, measured_with, rounded, versions, write
from numpy.typing import NDArray
from scipy import stats
from sklearn.preprocessing import StandardScaler

import bayesclf as bc

type Array = NDArray[np.float64]

CHAINS, DRAWS = 4, 1000
WEIGHT, INTERCEPT = 1.0, 5.0
"""Prior sds."""
FALSE_ALARM = 0.001
"""Probability that peers which are all right are said to disagree."""
SOURCES = {"breast_cancer": TABLES["breast cancer (Wisconsin)"], "pima": TABLES["pima"]}


class NotHere(Exception):
    """A peer or a table that is not installed."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows (row, column) of mean 0 and sd 1, and labels 0 or 1."""

    X: Array
    y: NDArray[np.int64]


def load(name: str) -> Problem:
    """Return the problem of a table of numbers."""
    if (table := loaded(SOURCES[name])) is None:
        raise NotHere(f"the table {name} is not here")
    return Problem(StandardScaler().fit_transform(table[0]), np.unique(table[1], return_inverse=True)[1])


def bayesclf(problem: Problem, seed: int) -> Array:
    """NUTS on the whitened posterior."""
    prior = {"prior_scale": WEIGHT, "prior_form": "reference", "intercept_scale": INTERCEPT, "standardize": False}
    engine = bc.engines.NUTS(draws=DRAWS, chains=CHAINS)
    clf = bc.LogisticRegression(**prior, inference=engine, random_state=seed).fit(problem.X, problem.y)
    posterior = clf.posterior_["posterior"]
    return _joined(posterior["intercept"].values[..., 0], posterior["weight"].values[..., 0, :])


def bambi(problem: Problem, seed: int) -> Array:
    """Sample a formula with one term a column, by nutpie."""
    import bambi as bmb

    names = [f"x{j}" for j in range(problem.X.shape[1])]
    frame = pd.DataFrame(problem.X, columns=names).assign(y=problem.y)
    weight, intercept = (bmb.Prior("Normal", mu=0, sigma=sd) for sd in (WEIGHT, INTERCEPT))
    priors = {"Intercept": intercept, **dict.fromkeys(names, weight)}
    formula = f"y ~ {' + '.join(names)}"
    model = bmb.Model(formula, frame, family="bernoulli", center_predictors=False, priors=priors)
    how = {"inference_method": "nutpie", "progressbar": False, "quiet": True}
    posterior = model.fit(draws=DRAWS, chains=CHAINS, random_seed=seed, **how)["posterior"].to_dataset()
    return np.stack([posterior[name].values for name in ("Intercept", *names)], axis=-1)


def numpyro(problem: Problem, seed: int) -> Array:
    """Sample a model written by hand by NumPyro's own NUTS, in double precision."""
    import jax
    import numpyro
    from numpyro import distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.set_platform("cpu")
    numpyro.enable_x64()

    def model(X: Any, y: Any) -> None:
        intercept = numpyro.sample("intercept", dist.Normal(0, INTERCEPT))
        weight = numpyro.sample("weight", dist.Normal(0, WEIGHT).expand([X.shape[1]]).to_event(1))
        numpyro.sample("y", dist.Bernoulli(logits=intercept + X @ weight), obs=y)

    how = {"num_warmup": DRAWS, "num_samples": DRAWS, "num_chains": CHAINS, "chain_method": "sequential"}
    mcmc = MCMC(NUTS(model), progress_bar=False, **how)
    mcmc.run(jax.random.PRNGKey(seed), problem.X, problem.y)
    found = mcmc.get_samples(group_by_chain=True)
    return _joined(np.asarray(found["intercept"]), np.asarray(found["weight"]))


def pymc(problem: Problem, seed: int) -> Array:
    """Sample a model written by hand by `pm.sample` as it is, which takes nutpie."""
    import pymc as pm

    with pm.Model():
        intercept = pm.Normal("intercept", 0, INTERCEPT)
        weight = pm.Normal("weight", 0, WEIGHT, shape=problem.X.shape[1])
        pm.Bernoulli("y", logit_p=intercept + problem.X @ weight, observed=problem.y)
        posterior = pm.sample(DRAWS, chains=CHAINS, random_seed=seed, progressbar=False, quiet=True)["posterior"]
    return _joined(posterior["intercept"].values, posterior["weight"].values)


R = """
suppressPackageStartupMessages(library(rstanarm))
given <- commandArgs(trailingOnly = TRUE)
number <- as.numeric(given[3:8])
cells <- readBin(given[1], "double", file.size(given[1]) / 8)
table <- as.data.frame(matrix(cells, nrow = number[1]))
names(table)[ncol(table)] <- "y"
start <- proc.time()
fitted <- stan_glm(
  y ~ ., data = table, family = binomial(), prior = normal(0, number[2], autoscale = FALSE),
  prior_intercept = normal(0, number[3], autoscale = FALSE), chains = number[4], iter = 2 * number[5],
  warmup = number[5], cores = 1, seed = number[6], refresh = 0
)
took <- proc.time() - start
writeBin(c(sum(took[-3]), as.vector(as.array(fitted))), given[2])
"""
"""Fits a table of doubles by column, and writes the processor seconds, and draws (draw, chain, parameter)."""


def rstanarm(problem: Problem, seed: int) -> tuple[Array, float]:
    """Sample by `stan_glm`, in an R process that also says what the fit alone took."""
    with tempfile.TemporaryDirectory() as folder:
        script, table, out = (Path(folder, name) for name in ("fit.R", "table", "draws"))
        script.write_text(R)
        np.column_stack([problem.X, problem.y]).ravel(order="F").tofile(table)
        given = (table, out, len(problem.y), WEIGHT, INTERCEPT, CHAINS, DRAWS, seed)
        subprocess.run(["Rscript", "--vanilla", script, *map(str, given)], check=True, stdout=subprocess.DEVNULL)
        took, *draws = np.fromfile(out)
    found = np.reshape(draws, (DRAWS, CHAINS, 1 + problem.X.shape[1]), order="F")
    return found.transpose(1, 0, 2), float(took)


PEERS: dict[str, Callable[[Problem, int], Any]] = {
    sample.__name__: sample for sample in (bayesclf, bambi, numpyro, pymc, rstanarm)
}


def _joined(intercept: Array, weight: Array) -> Array:
    """Return intercept and weights as one array."""
    return np.concatenate([intercept[..., None], weight], axis=-1)


def require(name: str) -> None:
    """Raise `NotHere` where a peer is not installed."""
    if name == "rstanarm":
        asked = ["Rscript", "--vanilla", "-e", "library(rstanarm)"]
        try:
            subprocess.run(asked, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotHere("R with rstanarm is not installed") from error
    elif find_spec(name) is None:
        raise NotHere(f"{name} is not installed")


def sampled(name: str, problem: Problem, seed: int) -> tuple[Array, float]:
    """Return draws (chain, draw, 1 + column) of a peer, and the processor seconds of its fit."""
    start = cpu()
    found = PEERS[name](problem, seed)
    return found if isinstance(found, tuple) else (found, cpu() - start)


def effective_draws(draws: Array) -> float:
    """Return the smallest bulk effective sample size of draws (chain, draw, parameter)."""
    from arviz_stats.base import array_stats

    return float(np.min(array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")))


def estimate(draws: Array, quantity: str) -> tuple[Array, Array]:
    """Return the mean or the sd of draws (chain, draw, parameter), and its Monte Carlo error."""
    from arviz_stats.base import array_stats

    flat = draws.reshape(-1, draws.shape[2])
    value = flat.mean(axis=0) if quantity == "mean" else flat.std(axis=0, ddof=1)
    return value, array_stats.mcse(draws, chain_axis=0, draw_axis=1, method=quantity)


def pool(estimates: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Average independent estimates, each weighted by its precision."""
    precision = np.array([error**-2.0 for _, error in estimates])
    total = precision.sum(axis=0)
    return (precision * np.array([value for value, _ in estimates])).sum(axis=0) / total, total**-0.5


def disagreements(draws: Mapping[str, Array]) -> list[str]:
    """Return a sentence for each peer and quantity beyond what Monte Carlo error explains.

    Each peer is compared with the others pooled, whose errors are independent of its own. With P peers and d parameters
    there are 2 P d comparisons; by Bonferroni, all of them stay within the bound with probability 1 − `FALSE_ALARM` at
    least, if all peers are right.
    """
    bound = z_bound(len(draws), next(iter(draws.values())).shape[2])
    said = []
    for quantity in ("mean", "sd"):
        found = {peer: estimate(values, quantity) for peer, values in draws.items()}
        for peer, (value, error) in found.items():
            others, their_error = pool([one for other, one in found.items() if other != peer])
            z = float(np.max(np.abs(value - others) / np.hypot(error, their_error)))
            if not z <= bound:
                said.append(f"a posterior {quantity} of {peer} is {z:.1f} Monte Carlo errors off (bound {bound:.1f})")
    return said


def z_bound(peers: int, parameters: int) -> float:
    """Return the largest |z| that chance explains, over means and sds of all parameters and peers."""
    return float(stats.norm.isf(FALSE_ALARM / (2 * 2 * peers * parameters)))


def measure(name: str, peers: list[str], repeats: int) -> dict[str, Any]:
    """Return, for a table, what the fits of each peer took, their smallest ESS, and where peers disagree."""
    problem = load(name)
    lines: dict[str, dict[str, list[Any]]] = {}
    for peer in peers:
        try:
            require(peer)
            lines[peer] = {"draws": [], "seconds": [], "ess": []}
        except NotHere as reason:
            print(f"{name}, {peer} is left out: {reason}", flush=True)
    for repeat in range(1 + repeats):
        for peer, line in lines.items():
            found, took = sampled(peer, problem, repeat)
            line["draws"].append(found)
            if repeat:
                line["seconds"].append(took)
                line["ess"].append(effective_draws(found))
    joined = {peer: np.concatenate(line.pop("draws")) for peer, line in lines.items()}
    return {"peers": lines, "disagreements": disagreements(joined) if len(joined) > 1 else []}


def table(results: dict[str, Any]) -> str:
    """Return what was measured in Markdown."""
    lines = []
    for name, found in results.items():
        for peer, line in found["peers"].items():
            took, ess = median(line["seconds"]), median(line["ess"])
            lines.append([name, peer, f"{rounded(took)} s", f"{ess:,.0f}", rounded(ess / took)])
    return markdown(["table", "peer", "fit, processor time", "smallest bulk ESS", "ESS/s"], lines)


def main(words: list[str] | None = None) -> int:
    """Measure, print, and write JSON if asked; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--repeats", type=int, default=3, help="fits of each that are measured")
    parser.add_argument("--json", type=Path, help="file for the results")
    given = parser.parse_args(words)
    results = {name: measure(name, given.peers, given.repeats) for name in given.data}
    found = versions("bayesclf", "bambi", "numpyro", "nutpie", "pymc")
    print(table(results), f"\n{CHAINS} chains × {DRAWS:,} draws; {measured_with(found)}", sep="\n")
    if given.json:
        write(given.json, {"versions": found, "tables": results})
    wrong = [f"{name}: {said}" for name, one in results.items() for said in one["disagreements"]]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
