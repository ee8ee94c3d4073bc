"""Logistic regression against its peers: one posterior, sampled by each, in one run.

Run from the project's folder, in an environment with the extra "benchmark"; R with rstanarm takes part if it is there.

    BAYESCLF_DATA=FOLDER .venv/bin/python benchmarks/logistic.py --cold --json benchmarks/results/logistic.json

Every fit is in a fresh process, where a second fit shows what the first one costs beyond sampling; the peers take
turns, and medians are printed. The posterior means and sds of all parameters must agree within Monte Carlo error: where
they do not, or a peer fails, the script says so and ends with status 1. A peer that is not installed is left out.
Tables that the JSON already has, measured with the same versions and settings, are kept.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import agreement
import fresh
import machine
import numpy as np
import tables
from fresh import Failed, Task
from peers import SAMPLERS, peer
from problems import CHAINS, DRAWS, TABLES, Array, Prior, load

DATA = ("breast_cancer", "pima", "wine", "digits")
LONG = 60.0
"""Seconds of a fit of which compiling is not the most: to choose a setting, it is not timed again with full caches."""
CACHES = Path(tempfile.gettempdir()) / "bayesclf-benchmarks"


@dataclass
class Entrant:
    """A peer on one table.

    Attributes
    ----------
    task
        How it is run.
    line
        The measurements, one per repeat, or why there are none.
    draws
        Those of all fits, (chain, draw, parameter).
    """

    task: Task
    line: dict[str, Any] = field(default_factory=dict)
    draws: list[Array] = field(default_factory=list)

    @property
    def out(self) -> bool:
        """Whether it cannot fit this table, or has failed."""
        return bool({"absent", "failed"} & set(self.line))

    @property
    def seconds(self) -> float:
        """What its fits have taken so far."""
        return float(sum(self.line.get("fit", [])) + sum(self.line.get("refit", [])))

    def attempt[T](self, step: Callable[[T], None], argument: T) -> None:
        """Take a step, or be out."""
        try:
            step(argument)
        except Failed as reason:
            self.line = {"failed": str(reason)}
            print(f"{self.task.peer} {reason}", flush=True)

    def choose(self, cold: bool) -> None:
        """Fill the caches, perhaps measuring that, and take the setting of the fastest fit."""
        best, found = np.inf, None
        settings = peer(self.task.peer).SETTINGS
        for number, setting in enumerate(settings):
            caches = self.task.caches / str(number)
            task = replace(self.task, setting=setting, caches=caches, limit=min(self.task.limit, LONG + 2 * best))
            if cold:
                shutil.rmtree(caches, ignore_errors=True)
            try:
                first = warm = fresh.run(task, seed=0, fits=1).fits[0]
                if len(settings) > 1 and first < LONG:
                    warm = fresh.run(task, seed=0, fits=1).fits[0]
            except Failed:
                if found is None:
                    raise
                continue  # slower than another setting
            if warm < best:
                best, found = warm, replace(task, limit=self.task.limit)
                self.line = {"setting": setting} | ({"cold": first} if cold else {})
        assert found
        self.task = found
        print(f"{found.peer} is ready: fit {best:.2f} s {found.setting or ''}", flush=True)

    def measure(self, seed: int) -> None:
        """Measure a fit and a refit in a fresh process."""
        measured = fresh.run(self.task, seed=seed, fits=2)
        draws = [one.reshape(*one.shape[:2], -1) for one in measured.draws]
        ess = agreement.effective_draws(draws[0])
        fit, refit = measured.fits
        found = {"imports": measured.imports, "fit": fit, "refit": refit}
        for name, value in (found | {"smallest_ess": float(ess.min()), "median_ess": float(np.median(ess))}).items():
            self.line.setdefault(name, []).append(value)
        self.draws += draws
        print(f"{self.task.peer}: fit {fit:.2f} s, refit {refit:.2f} s, smallest ESS {ess.min():.0f}", flush=True)


def main(words: list[str]) -> int:
    """Measure, print, and write JSON if asked; return the exit status."""
    options = parse(words)
    versions = machine.versions(list(SAMPLERS))
    result: dict[str, Any] = {
        **machine.description(versions),
        "chains": CHAINS,
        "draws": DRAWS,
        "repeats": options.repeats,
        "tables": {},
    }
    if options.json:
        result["tables"] = machine.kept(options.json, result)
    for name in options.data:
        result["tables"][name] = measure(name, set(versions), options)
        if options.json:
            machine.write(options.json, result)
    print(tables.logistic(result))
    wrong = [sentence for name in options.data for sentence in complaints(name, result["tables"][name])]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def parse(words: list[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default, allowed in (("--data", DATA, tuple(TABLES)), ("--peers", SAMPLERS, SAMPLERS)):
        parser.add_argument(name, type=among(allowed), default=list(default), help=f"of {','.join(allowed)}")
    parser.add_argument("--repeats", type=int, default=3, help="processes a peer and table")
    parser.add_argument("--cold", action="store_true", help="empty the peers' caches, and measure the fit after that")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds of fits that end a peer's repeats")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds after which a process is ended")
    parser.add_argument("--json", type=Path, help="file for the results")
    return parser.parse_args(words)


def among(allowed: tuple[str, ...]) -> Callable[[str], list[str]]:
    """Return a reader of comma-separated names."""

    def names(text: str) -> list[str]:
        unknown = set(text.split(",")) - set(allowed)
        if unknown:
            raise argparse.ArgumentTypeError(f"{min(unknown)!r} is not one of {', '.join(allowed)}")
        return text.split(",")

    return names


def measure(name: str, here: set[str], options: argparse.Namespace) -> dict[str, Any]:
    """Return what a table took each peer, and how far those agree that are here."""
    problem = load(name, Prior())
    print(f"{name}: {len(problem.X)} rows, {problem.X.shape[1]} columns, {problem.classes} classes", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        problem.save(path)
        entrants = [Entrant(Task(who, {}, path, CACHES / name / who, options.limit)) for who in options.peers]
        for entrant in entrants:
            if entrant.task.peer not in here:
                entrant.line = {"absent": "not here"}
            elif problem.classes > 2 and not peer(entrant.task.peer).MULTINOMIAL:
                entrant.line = {"absent": "n/a"}
            else:
                entrant.attempt(entrant.choose, options.cold)
        for repeat in range(options.repeats):
            for entrant in entrants:
                if not entrant.out and entrant.seconds < options.budget:
                    entrant.attempt(entrant.measure, 1 + 2 * repeat)
    draws = {entrant.task.peer: np.concatenate(entrant.draws) for entrant in entrants if not entrant.out}
    return {
        "rows": len(problem.X),
        "columns": problem.X.shape[1],
        "classes": problem.classes,
        "peers": {entrant.task.peer: entrant.line for entrant in entrants},
        "agreement": asdict(agreement.compare(draws)) if len(draws) > 1 else None,
    }


def complaints(name: str, found: dict[str, Any]) -> list[str]:
    """Return a sentence for each failure and each disagreement."""
    failed = [f"{who} {line['failed']}" for who, line in found["peers"].items() if "failed" in line]
    agreed = found["agreement"]
    return [f"{name}: {what}" for what in failed + (agreement.Agreement(**agreed).disagreements if agreed else [])]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
