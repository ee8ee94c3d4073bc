"""rstanarm: `stan_glm` in an R process of its own, which loads the package once and is then told what to fit."""

import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from problems import CHAINS, DRAWS, Array, Integers, Prior

MULTINOMIAL = False
SETTINGS: tuple[dict[str, Any], ...] = ({"cores": 1}, {"cores": 2})
SCRIPT = Path(__file__).with_name("rstanarm.R")
VERSIONS = 'cat(as.character(getRversion()), as.character(packageVersion("rstanarm")))'


@dataclass(frozen=True, eq=False)
class Session:
    """The R process, and the folder through which numbers go there and back."""

    process: subprocess.Popen[str]
    folder: tempfile.TemporaryDirectory[str]

    def tell(self, *words: object) -> None:
        """Send one line, and wait until R has done what it says."""
        assert self.process.stdin
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        self.wait()

    def wait(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line == "done\n":
                return
        raise RuntimeError(f"R ended with status {self.process.wait()}; its message is above")

    def path(self, name: str) -> Path:
        return Path(self.folder.name) / name


@cache
def session() -> Session:
    process = subprocess.Popen(
        ["Rscript", "--vanilla", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    started = Session(process, tempfile.TemporaryDirectory())
    started.wait()
    return started


def versions() -> dict[str, str]:
    try:
        found = subprocess.run(["Rscript", "--vanilla", "-e", VERSIONS], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ImportError("R with rstanarm is not installed") from error
    r, rstanarm = found.stdout.split()
    return {"rstanarm": rstanarm, "R": r}


def load() -> None:
    session()


def fit(X: Array, y: Integers, prior: Prior, seed: int, cores: int = 1) -> Any:
    table = session().path("table")
    np.column_stack([X, y]).ravel(order="F").tofile(table)
    session().tell("fit", table, len(y), prior.weight, prior.intercept, CHAINS, DRAWS, cores, seed)
    return X.shape[1]


def draws(fitted: Any) -> Array:
    path = session().path("draws")
    session().tell("draws", path)
    found = np.fromfile(path).reshape(DRAWS, CHAINS, 1 + fitted, order="F")
    return found.transpose(1, 0, 2)[:, :, None]
