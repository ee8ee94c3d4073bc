"""Held-out log loss of logistic regression by the power of the weights' covariance, on many tables.

Like `learned_scale.py`, of which it has the peer, but fast, so that there are more tables, and five folds three times
for those below 500 rows. For each power λ and each node of a grid of log s, draws start around the mode (Laplace) and,
where their importance weights leave few, move by Hamiltonian Monte Carlo in whitened coordinates; evidences are joined
by bridges, as in `bayesclf.inference.ladder`. What is compared is averaged over s, and over several λ by evidence or by
leave-one-out. Differences to the peer are of the same rows, with the standard error of their mean over rows.

Run from the project's folder: .venv/bin/python benchmarks/prior_powers.py [--json FILE] [TABLE …]
"""

import json
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import learned_scale
import numpy as np
import pandas as pd
import prior_tables
from scipy import linalg
from scipy.special import logsumexp
from sklearn.model_selection import StratifiedKFold

import bayesclf as bc
from bayesclf.inference.ladder import log_evidence_ratio
from bayesclf.models.logistic.learned_model import LearnedScaleModel
from bayesclf.models.logistic.likelihood import log_normalizer
from bayesclf.models.logistic.newton import maximize
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.scale_grid import evidence_from

type Array = np.ndarray

RESULTS = Path(__file__).parent / "results" / "prior_powers.json"
FOLDS, SEEDS, FEW_ROWS = 5, 3, 500
"""Folds, how often tables below so many rows are split, and others once."""
POWERS = (0.0, 0.25, 0.5, 1.0)
EVIDENCE, LEAVE_ONE_OUT, STACKED = "evidence", "leave-one-out", "stacked"
WAYS: dict[str, tuple[tuple[float, ...], str]] = {
    "0": ((0.0,), EVIDENCE),
    "¼": ((0.25,), EVIDENCE),
    "½": ((0.5,), EVIDENCE),
    "1": ((1.0,), EVIDENCE),
    "0, 1": ((0.0, 1.0), EVIDENCE),
    "¼, 1": ((0.25, 1.0), EVIDENCE),
    "½, 1": ((0.5, 1.0), EVIDENCE),
    "0, ½, 1": ((0.0, 0.5, 1.0), EVIDENCE),
    "all": (POWERS, EVIDENCE),
    "all by leave-one-out": (POWERS, LEAVE_ONE_OUT),
    "all stacked": (POWERS, STACKED),
}
"""Powers that are averaged over, and by what."""
LOG_SCALES = np.arange(-5.0, 5.01, 0.5)
SPREAD, WIDER = 1.5, 2.5
"""Sd of log s in the prior, and in the choice of nodes."""
HOPELESS = 5.5
"""A node is left out where its density is so many nats below the largest."""
DRAWS, TRANSITIONS, AMPLE = 120, 4, 0.5
"""Draws at each node; how often they move where the effective share of importance weights is below `AMPLE`."""
TEMPERED = 0.3
"""Power of the importance weights by which the draws that are then moved are chosen, so that they stay many."""


@dataclass(frozen=True, eq=False)
class Node:
    """The posterior of the weights given λ and s, as a density of z in θ = mode + z F."""

    model: LearnedScaleModel
    log_scale: float
    theta: Array

    @classmethod
    def at(cls, model: LearnedScaleModel, log_scale: float, start: Array) -> "Node":
        """Return the node of a log s, whose mode is looked for from a start."""
        return cls(model, log_scale, maximize(model.objective_at(log_scale), start, 1e-6))

    @cached_property
    def prior(self) -> Any:
        """The prior of the weights given λ and s."""
        return self.model.scale_prior.at(np.exp(self.log_scale))

    @cached_property
    def precision(self) -> Array:
        """Of the prior, (parameter, parameter)."""
        return self.prior.precision()

    @cached_property
    def derivatives(self) -> tuple[float, Array, Array]:
        """log p(θ, D | s, λ), its gradient and minus its Hessian, at the mode."""
        return self.model.objective_at(self.log_scale).derivatives(self.theta)

    @cached_property
    def factor(self) -> Array:
        """F, of which FᵀF is the inverse of minus the Hessian."""
        lower = np.linalg.cholesky(self.derivatives[2])
        return linalg.solve_triangular(lower, np.eye(len(lower)), lower=True)

    @property
    def log_evidence(self) -> float:
        """log p(D | s, λ) by Laplace's approximation."""
        return evidence_from(self.derivatives[0], self.derivatives[2])

    def weights(self, z: Array) -> Array:
        """Return θ (draw, outcome, column)."""
        return (self.theta.ravel() + z @ self.factor).reshape(len(z), *self.theta.shape)

    def log_density(self, z: Array) -> Array:
        """Return log p(θ, D | s, λ) |F| (draw)."""
        theta = self.weights(z)
        log_rows, _ = of_rows(self.model._likelihood.X, self.model._likelihood.y, theta)
        return self._density(log_rows, theta.reshape(len(z), -1))

    def _density(self, log_rows: Array, theta: Array) -> Array:
        constant = self.prior.log_density(np.zeros((1, *self.theta.shape)))[0] + np.log(np.diag(self.factor)).sum()
        square = np.sum((theta @ self.precision) * theta, axis=1)
        return log_rows @ self.model._likelihood.weight + constant - 0.5 * square

    def gradient(self, z: Array) -> tuple[Array, Array]:
        """Return the same, and its gradient (draw, parameter)."""
        likelihood, theta = self.model._likelihood, self.weights(z)
        log_rows, residual = of_rows(likelihood.X, likelihood.y, theta)
        np.negative(residual, out=residual)
        members = np.flatnonzero(likelihood.y >= 0)
        residual[:, likelihood.y[members], members] += 1
        residual *= likelihood.weight
        raveled = theta.reshape(len(z), -1)
        slope = (residual.reshape(-1, residual.shape[2]) @ likelihood.X).reshape(len(z), -1)
        return self._density(log_rows, raveled), (slope - raveled @ self.precision) @ self.factor.T

    def sample(self, rng: np.random.Generator) -> tuple[Array, float]:
        """Return draws z (draw, parameter), and the share of moves that were accepted."""
        size = self.theta.size
        degrees = max(10, size)
        z = rng.standard_normal((DRAWS, size)) / np.sqrt(rng.chisquare(degrees, DRAWS) / degrees)[:, None]
        log_ratio = self.log_density(z) + 0.5 * (degrees + size) * np.log1p(np.sum(z**2, axis=1) / degrees)
        log_ratio -= log_ratio.max()
        effective = np.exp(2 * logsumexp(log_ratio) - logsumexp(2 * log_ratio))
        if effective > AMPLE * DRAWS:
            return z[chosen(log_ratio, rng)], 1.0
        return self._moved(z[chosen(TEMPERED * log_ratio, rng)], rng)

    def _moved(self, z: Array, rng: np.random.Generator) -> tuple[Array, float]:
        """Move draws by Hamiltonian Monte Carlo."""
        step = min(1.0, 1.1 * z.shape[1] ** -0.25)
        value, slope = self.gradient(z)
        moves = 0.0
        for _ in range(TRANSITIONS):
            size = step * rng.uniform(0.8, 1.2)
            momentum = rng.standard_normal(z.shape)
            before = value - 0.5 * np.sum(momentum**2, axis=1)
            ahead, ahead_value, ahead_slope = z, value, slope
            momentum += 0.5 * size * slope
            leaps = int(np.clip(round(1.4 / size), 1, 8))
            for leap in range(leaps):
                ahead = ahead + size * momentum
                ahead_value, ahead_slope = self.gradient(ahead)
                momentum += (size if leap < leaps - 1 else 0.5 * size) * ahead_slope
            accepted = np.log(rng.random(len(z))) < ahead_value - 0.5 * np.sum(momentum**2, axis=1) - before
            z, slope = (np.where(accepted[:, None], *pair) for pair in ((ahead, z), (ahead_slope, slope)))
            value = np.where(accepted, ahead_value, value)
            moves += accepted.mean()
            step *= 1.0 if accepted.mean() > 0.6 else 0.7
        return z, moves / TRANSITIONS


def of_rows(X: Array, y: Array, theta: Array, more: Array | float = 0.0) -> tuple[Array, Array]:
    """Return log P(y | x, θ) (draw, row) and P(k | x, θ) (draw, outcome, row); `more` is added to the log-odds."""
    draws, outcomes, columns = theta.shape
    eta = (theta.reshape(-1, columns) @ X.T).reshape(draws, outcomes, -1) + more
    total = log_normalizer(eta, axis=1)
    which = np.broadcast_to(np.maximum(y, 0), (draws, 1, len(y)))
    own = np.where(y >= 0, np.take_along_axis(eta, which, axis=1)[:, 0], 0.0)
    return own - total, np.exp(eta - total[:, None])


def chosen(log_weight: Array, rng: np.random.Generator) -> Array:
    """Return positions, drawn systematically."""
    ends = np.cumsum(np.exp(log_weight - logsumexp(log_weight)))
    at = np.searchsorted(ends / ends[-1], (np.arange(len(ends)) + rng.random()) / len(ends))
    return np.minimum(at, len(ends) - 1)


@dataclass(frozen=True, eq=False)
class Member:
    """The posterior given one λ: what each node of log s says of rows.

    Attributes
    ----------
    nodes, draws
        With their draws z.
    accepted
        Share of accepted moves of the draws, 1 where none was needed, (node).
    held_out
        P(y | x, D, s, λ) of test rows, (node, row).
    inverse
        Posterior mean of 1/P(y | x, θ) of the training rows, largest values truncated, (node, row).
    """

    nodes: list[Node]
    draws: list[Array]
    accepted: Array
    held_out: Array
    inverse: Array

    @property
    def log_prior(self) -> Array:
        """log p(s) of the nodes, up to a constant."""
        return np.array([-0.5 * (node.log_scale / SPREAD) ** 2 for node in self.nodes])

    @property
    def shares(self) -> Array:
        """Posterior of the nodes."""
        log_mass = self.log_ratios + self.log_prior
        return np.exp(log_mass - logsumexp(log_mass))

    @cached_property
    def best(self) -> int:
        """Place of the most probable node by Laplace's approximation."""
        return int(np.argmax([node.log_evidence for node in self.nodes] + self.log_prior))

    @cached_property
    def log_ratios(self) -> Array:
        """Log evidences of the nodes, that of the best 0."""
        pairs = pairwise(zip(self.nodes, self.draws, strict=True))
        steps = [bridge(low, high, of_low, of_high) for (low, of_low), (high, of_high) in pairs]
        levels = np.cumsum([0.0, *steps])
        return levels - levels[self.best]


def bridge(first: Node, second: Node, of_first: Array, of_second: Array) -> float:
    """Return the log ratio of the second's evidence to the first's."""
    return log_evidence_ratio(
        *(second.log_density(z) - first.log_density(z) for z in (of_first, of_second)),
    )


def explored(model: LearnedScaleModel, start: Array) -> list[Node]:
    """Return the nodes that are not hopeless."""
    middle, found, top = len(LOG_SCALES) // 2, {}, -np.inf
    for order in (range(middle, len(LOG_SCALES)), range(middle - 1, -1, -1)):
        theta = found[middle].theta if found else start
        for i in order:
            found[i] = Node.at(model, float(LOG_SCALES[i]), theta)
            theta, density = found[i].theta, wide_density(found[i])
            top = max(top, density)
            if density < top - HOPELESS - 2:
                break
    return [found[i] for i in sorted(found) if wide_density(found[i]) > top - HOPELESS]


def wide_density(node: Node) -> float:
    """Return log p(D, log s | λ) of a node under the wider prior by which nodes are chosen."""
    return node.log_evidence - 0.5 * (node.log_scale / WIDER) ** 2


def member(
    model: LearnedScaleModel, start: Array, test: tuple[Array, Array, Array], rng: np.random.Generator
) -> Member:
    """Return the posterior given one λ."""
    X, y, unseen = test
    nodes, draws, accepted, held_out, inverse = explored(model, start), [], [], [], []
    for node in nodes:
        z, share = node.sample(rng)
        draws.append(z)
        accepted.append(share)
        theta = node.weights(z)
        odds = np.exp(-of_rows(model._likelihood.X, model._likelihood.y, theta)[0])
        inverse.append(np.minimum(odds, np.sqrt(DRAWS) * odds.mean(axis=0)).mean(axis=0))
        more = np.einsum("skc,rc->skr", node.prior.unseen.draw(rng, DRAWS), unseen) if unseen.any() else 0.0
        held_out.append(np.exp(of_rows(X, y, theta, more)[0]).mean(axis=0))
    return Member(nodes, draws, np.array(accepted), np.array(held_out), np.minimum(inverse, 1e30))


def averaged(members: list[Member], how: str, weight: Array) -> Array:
    """Return P(y | x, D) of test rows, averaged over s, and over λ by evidence or by leave-one-out."""
    first = members[0]
    log_masses = []
    for other in members:
        pair = (first.nodes[first.best], other.nodes[other.best], first.draws[first.best], other.draws[other.best])
        log_masses.append(other.log_ratios + other.log_prior + (bridge(*pair) if other is not first else 0.0))
    each = np.array([other.shares @ other.held_out for other in members])
    if how == EVIDENCE:
        of_members = np.array([logsumexp(log_mass) for log_mass in log_masses])
        return np.exp(of_members - logsumexp(of_members)) @ each
    left_out = 1 / np.array([other.shares @ other.inverse for other in members])
    if how == LEAVE_ONE_OUT:
        scores = np.log(left_out) @ weight
        return np.exp(scores - logsumexp(scores)) @ each
    shares = np.full(len(members), 1 / len(members))
    for _ in range(500):
        shares *= left_out @ (weight / (shares @ left_out)) / weight.sum()
    return shares @ each


def fold(X: pd.DataFrame, y: Array, training: Array, test: Array, seed: int) -> tuple[dict[str, Array], float]:
    """Return minus the log probability of the test rows' labels by each way, and the share of accepted moves."""
    rng, labels = np.random.default_rng(seed), y[test].astype(str)
    clf = bc.LogisticRegression(prior_scale=1.0, inference="map").fit(X.iloc[training], y[training])
    fitted, classes, rows = clf.model_, clf.classes_.astype(str), clf.rows(X.iloc[test])
    codes = np.searchsorted(classes, labels)
    codes = codes - 1 if len(classes) == 2 else np.where(codes == len(classes) - 1, -1, codes)
    columns = np.column_stack([np.ones(len(test)), fitted.design.matrix(rows)])
    members, start = {}, None
    for power in POWERS:
        prior = LogisticPrior(prior_scale=bc.LearnedScale(power=power))
        model = LearnedScaleModel(fitted.labels, fitted.design, fitted.X, fitted.y, fitted.sample_weight, prior)
        start = model.objective("mle")[1] if start is None else start
        members[power] = member(model, start, (columns, codes, fitted.design.unseen(rows).astype(float)), rng)
    found = {
        way: averaged([members[power] for power in powers], how, fitted.sample_weight)
        for way, (powers, how) in WAYS.items()
    }
    peer = learned_scale.peer(X.iloc[training], y[training]).fit(X.iloc[training], y[training])
    of_peer = np.minimum(np.searchsorted(peer.classes_, y[test]), len(classes) - 1)
    found[learned_scale.PEER] = peer.predict_proba(X.iloc[test])[np.arange(len(test)), of_peer]
    least, known = np.finfo(float).eps, np.isin(labels, classes)
    accepted = float(np.mean([other.shares @ other.accepted for other in members.values()]))
    return {way: -np.log(np.clip(np.where(known, proba, 0.0), least, 1)) for way, proba in found.items()}, accepted


def summary(folds: list[tuple[Array, dict[str, Array]]], rows: int) -> dict[str, Any]:
    """Return the mean log loss of each way, the mean difference to the peer over rows, and its standard error."""
    result = {}
    for way in (*WAYS, learned_scale.PEER):
        difference, count = np.zeros(rows), np.zeros(rows)
        for test, losses in folds:
            difference[test] += losses[way] - losses[learned_scale.PEER]
            count[test] += 1
        difference = difference[count > 0] / count[count > 0]
        result[way] = {
            "log_loss": round(float(np.mean([losses[way].mean() for _, losses in folds])), 6),
            "difference": round(float(difference.mean()), 6),
            "standard_error": round(float(difference.std(ddof=1) / np.sqrt(len(difference))), 6),
        }
    return result


def main() -> None:
    """Measure the tables that are named, or all, without those that have results."""
    file, problems, result = prior_tables.asked(RESULTS)
    for name, group, X, y in problems:
        if name in result["tables"]:
            continue
        start, folds, accepted, times = time.perf_counter(), [], [], SEEDS if len(X) < FEW_ROWS else 1
        for seed in range(times):
            split = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y)
            for i, (training, test) in enumerate(split):
                losses, share = fold(X, y, training, test, 1000 * seed + i)
                folds.append((test, losses))
                accepted.append(share)
        shape = {"group": group, "rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y)), "times": times}
        result["tables"][name] = {
            **shape,
            "accepted": round(float(np.mean(accepted)), 3),
            "ways": summary(folds, len(X)),
        }
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        losses = {way: round(line["log_loss"], 4) for way, line in result["tables"][name]["ways"].items()}
        print(name, losses, f"({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
