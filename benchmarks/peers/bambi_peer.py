"""bambi: a formula with one term a column, sampled by nutpie."""

from importlib.metadata import version
from typing import Any

import numpy as np
from problems import CHAINS, DRAWS, Array, Integers, Prior, classes, reference_first

MULTINOMIAL = True
SETTINGS: tuple[dict[str, Any], ...] = ({},)


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("bambi", "pymc", "nutpie")}


def load() -> None:
    import bambi
    import pandas

    _ = bambi, pandas


def fit(X: Array, y: Integers, prior: Prior, seed: int) -> Any:
    import bambi as bmb
    import pandas as pd

    names = [f"x{j}" for j in range(X.shape[1])]
    binary = classes(y) == 2
    frame = pd.DataFrame(X, columns=names).assign(y=y if binary else pd.Categorical(reference_first(y)))
    weight, intercept = (bmb.Prior("Normal", mu=0, sigma=sd) for sd in (prior.weight, prior.intercept))
    model = bmb.Model(
        f"y ~ {' + '.join(names)}",
        frame,
        family="bernoulli" if binary else "categorical",
        center_predictors=False,
        priors={"Intercept": intercept, **dict.fromkeys(names, weight)},
    )
    return model.fit(
        draws=DRAWS, chains=CHAINS, random_seed=seed, inference_method="nutpie", progressbar=False, quiet=True
    )


def draws(fitted: Any) -> Array:
    posterior = fitted["posterior"].to_dataset()
    columns = [name for name in posterior if name != "Intercept"]
    theta = np.stack([posterior[name].values for name in ("Intercept", *columns)], axis=-1)
    return theta[:, :, None] if theta.ndim == 3 else theta
