"""Data augmentation against NUTS: draws of a tree of categories whose training rows lack cells.

The table is drawn from a fixed seed: 339 rows of 17 columns with 2 or 3 levels in 21 classes, two columns with a fifth
and almost half of their cells missing, and a few gaps in the others. Both sample the posterior of the same tree.
ESS is the smallest bulk effective sample size of θ of 4 × 1,000 draws. Times are CPU seconds of the sampler, without
compilation and checks: of data augmentation the median of a few runs, of NUTS, which takes long, one run.

Run from the project's folder: .venv/bin/python benchmarks/augmentation.py [--json FILE]
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

import bayesclf as bc
from bayesclf.arrays import Array
from bayesclf.engines import augmentation, convergence, nuts
from bayesclf.engines.inference import joined
from bayesclf.models.generative import GenerativeModel
from bayesclf.posterior.hypotheses import to_dataset

ROWS, CLASSES = 339, 21
LEVELS = (3, 2, 3, 3, *(2,) * 13)
GAPS = (0.0, 0.004, 0.2, 0.46, *(0.003,) * 13)
COPIED = 0.3
"""Share of cells that are those of the column before, so that there is a tree to learn."""
ROUNDS, CHAINS = 5, 4
RESULTS = Path(__file__).parent / "results" / "augmentation.json"


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns with gaps, and labels."""
    rng = np.random.default_rng(0)
    y = rng.choice(CLASSES, size=ROWS, p=rng.dirichlet(np.full(CLASSES, 0.8)))
    X = np.empty((ROWS, len(LEVELS)), dtype=int)
    for j, levels in enumerate(LEVELS):
        below = np.cumsum(rng.dirichlet(np.ones(levels), size=CLASSES), axis=1)[y, :-1]
        X[:, j] = (rng.random((ROWS, 1)) >= below).sum(axis=1)
        if j:
            copied = rng.random(ROWS) < COPIED
            X[copied, j] = np.minimum(X[copied, j - 1], levels - 1)
    frame = pd.DataFrame(X.astype(str), columns=[f"x{j}" for j in range(len(LEVELS))])
    return frame.mask(pd.DataFrame(rng.random(X.shape) < GAPS, columns=frame.columns)), y


def augmented(model: GenerativeModel, seed: int) -> tuple[dict[str, Array], float]:
    """Return draws by data augmentation, and CPU seconds."""
    start = time.process_time()
    parameters = augmentation.sample(model, bc.engines.Augmentation(), seed)
    return parameters, time.process_time() - start


def by_nuts(model: GenerativeModel, seed: int) -> tuple[dict[str, Array], float]:
    """Return draws by NUTS, and CPU seconds; what has to be compiled is compiled before."""
    nuts.sample(model.pymc(), bc.engines.NUTS(draws=1, tune=1, chains=1), 0, signature=model.signature())
    start = time.process_time()
    sampled = nuts.sample(model.pymc(), bc.engines.NUTS(), seed, signature=model.signature())
    return model.from_pymc(joined(sampled.draws)), time.process_time() - start


def measured(model: GenerativeModel, parameters: dict[str, Array], seconds: float) -> dict[str, float]:
    """Return the smallest bulk effective sample size of θ, the largest R-hat, and what a second brings."""
    found = convergence.scalars(to_dataset(parameters, model.dims(), model.coords(), CHAINS)[["theta"]])
    ess, rhat = convergence.ess(found, "bulk").min(), convergence.rhat(found).values.max()
    return {"draws_s": seconds, "ess": float(ess), "ess_per_s": float(ess) / seconds, "rhat": float(rhat)}


def main(words: list[str]) -> None:
    """Measure, print, and write JSON."""
    X, y = table()
    model = bc.BayesNetClassifier(inference="map", random_state=0).fit(X, y).model_
    found: dict[str, dict[str, float]] = {}
    for name, sample, rounds in (("augmentation", augmented, ROUNDS), ("nuts", by_nuts, 1)):
        runs = [measured(model, *sample(model, seed)) for seed in range(rounds)]
        found[name] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        print(name, {key: float(f"{value:.4g}") for key, value in found[name].items()}, flush=True)
    ratio = found["augmentation"]["ess_per_s"] / found["nuts"]["ess_per_s"]
    gaps = int(X.isna().to_numpy().sum())
    print(f"{ROWS} rows × {len(LEVELS)} columns, {CLASSES} classes, {gaps} cells missing")
    print(f"ratio of ESS a second: {ratio:.0f} (goal: at least 20)")
    path = Path(words[1]) if words[:1] == ["--json"] else RESULTS
    result = {"rows": ROWS, "columns": len(LEVELS), "classes": CLASSES, "gaps": gaps}
    path.write_text(json.dumps({**result, **found, "ratio": ratio}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
