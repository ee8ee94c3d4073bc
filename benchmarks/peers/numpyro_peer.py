"""NumPyro: its NUTS on a model written by hand, with JAX's compilations kept on disk."""

import os
from importlib.metadata import version
from typing import Any

import numpy as np
from problems import CHAINS, DRAWS, Array, Integers, Prior, classes

MULTINOMIAL = True
SETTINGS: tuple[dict[str, Any], ...] = tuple(
    {"chain_method": method} for method in ("sequential", "parallel", "vectorized")
)


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpyro", "jax", "jaxlib")}


def load() -> None:
    import numpyro

    numpyro.set_host_device_count(min(CHAINS, os.cpu_count() or 1))
    numpyro.set_platform("cpu")
    numpyro.enable_x64()  # double precision, as the other peers have


def fit(X: Array, y: Integers, prior: Prior, seed: int, chain_method: str = "sequential") -> Any:
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist
    from numpyro.infer import MCMC, NUTS

    vectors, columns = classes(y) - 1, X.shape[1]

    def model(X: Any, y: Any) -> None:
        intercept = numpyro.sample("intercept", dist.Normal(0, prior.intercept).expand([vectors]).to_event(1))
        weight = numpyro.sample("weight", dist.Normal(0, prior.weight).expand([vectors, columns]).to_event(2))
        eta = intercept + X @ weight.T
        if vectors == 1:
            numpyro.sample("y", dist.Bernoulli(logits=eta[:, 0]), obs=y)
        else:
            numpyro.sample("y", dist.Categorical(logits=jnp.pad(eta, ((0, 0), (0, 1)))), obs=y)

    mcmc = MCMC(
        NUTS(model),
        num_warmup=DRAWS,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method=chain_method,
        progress_bar=False,
    )
    mcmc.run(jax.random.PRNGKey(seed), jnp.asarray(X), jnp.asarray(y))
    return {name: np.asarray(values) for name, values in mcmc.get_samples(group_by_chain=True).items()}


def draws(fitted: Any) -> Array:
    return np.concatenate([fitted["intercept"][..., None], fitted["weight"]], axis=-1)
