"""How often the verdict of a comparison changes with the seed of its folds.

For each table, naive Bayes and logistic regression at its mode are compared under 50 seeds. A verdict is the grade of
the headline (which model, better than the shares of the classes, better than the other model). The table says how often
it is not the most frequent one, for folds that are drawn once, and for those that `compare` draws. It also has both
differences in their standard errors, mean and sd over the seeds, against the thresholds 1 (probable) and 2 to 2.4
(clear). A grade should change in at most 5% of the seeds where a mean is not within 0.2 of a threshold.

Both models are fitted at their mode: the grade is that of their own rules, which need no draws of the posterior.

Run from the project's folder: .venv/bin/python benchmarks/verdicts.py [SEEDS [TABLE ...]]

Each seed's verdicts are a line of benchmarks/results/verdicts.csv. A later run does not repeat seeds that are there:
after a change of the package, delete the file.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import bayesclf as bc
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.score_table import standing_of_shares, standings

TABLES = ("breast_cancer_ljubljana", "promoters", "sonar")
SEEDS = 50
RESULTS = Path(__file__).parent / "results" / "verdicts.csv"


def first_repeat(found: Comparison) -> Comparison:
    """Return the comparison as it is if the folds are drawn once."""
    answers = {key: replace(answer, scores=answer.scores[:1]) for key, answer in found.answers.items()}
    return replace(found, answers=answers, splits=found.splits[: found.cv], repeats=1)


def grade(found: Comparison, folds: str) -> dict[str, Any]:
    """Return the recommended model, how clearly it is better than the shares and than the other, and the differences.

    The differences are in standard errors; that from the other model is negative where naive Bayes is recommended.
    """
    shares, other = standing_of_shares(found, found.best), standings(found, found.leaders, against=found.best)[1]
    best = found.best[0] if other.kind in ("behind", "leaning") else "either"
    sign = -1 if found.best[0] == "nb" else 1
    sizes = {"shares": shares.difference / shares.error, "other": sign * other.difference / other.error}
    return {"folds": folds, "verdict": f"{best} {shares.kind} {other.kind}", **sizes}


def of_seed(name: str, seed: int) -> list[dict[str, Any]]:
    """Return the verdicts on a table under a seed, with folds drawn once and repeated."""
    table = bc.datasets.load(name)
    models = {"nb": bc.NaiveBayes(inference="map"), "lr": bc.LogisticRegression(inference="map")}
    found = bc.compare(models, table.X, table.y, random_state=seed, progress=False)
    grades = grade(first_repeat(found), "once"), grade(found, "repeated")
    return [{"table": name, "seed": seed, **own} for own in grades]


def main(seeds: int, tables: tuple[str, ...]) -> None:
    """Add the seeds that are missing to the results, and print a line for each table."""
    lines = pd.read_csv(RESULTS).to_dict("records") if RESULTS.exists() else []
    for name in tables:
        known = {line["seed"] for line in lines if line["table"] == name}
        for seed in sorted(set(range(seeds)) - known):
            lines += of_seed(name, seed)
            print(name, seed, lines[-2]["verdict"], "|", lines[-1]["verdict"], flush=True)
            pd.DataFrame(lines).to_csv(RESULTS, index=False, float_format="%.4f")
    found = pd.DataFrame(lines)
    for (name, folds), own in found.groupby(["table", "folds"]):
        changed = 1 - own["verdict"].value_counts().iloc[0] / len(own)
        sizes = (f"{what} {own[what].mean():.2f} ± {own[what].std():.2f}" for what in ("shares", "other"))
        print(name, folds, f"{len(own)} seeds, {changed:.2f} changed,", *sizes)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS, tuple(sys.argv[2:]) or TABLES)
