"""How often the verdict of a comparison changes with the seed of its folds.

For each table, naive Bayes and logistic regression at its mode are compared under 50 seeds. A verdict is the grade of
the headline (which model, better than the shares of the classes, better than the other model). The table says how often
it is not the most frequent one, for folds that are drawn once, and for those that `compare` repeats where others could
change the verdict. It also has both differences in their standard errors, mean and sd over the seeds, against the
thresholds 1 (probable) and 2 to 2.4 (clear). A grade should change in at most 5% of the seeds where a mean is not
within 0.2 of a threshold.

Run from the project's folder: .venv/bin/python benchmarks/verdicts.py [SEEDS]
"""

import sys
from collections import Counter

import numpy as np

import bayesclf as bc
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.score_table import BASELINE, standings

TABLES = ("breast_cancer_ljubljana", "promoters", "sonar")
SEEDS = 50


def grade(found: Comparison) -> tuple[tuple[str, ...], tuple[float, float]]:
    """Return the recommended model, how clearly it is better than the shares and than the other, and the differences.

    The differences are in standard errors; that from the other model is negative where naive Bayes is recommended.
    """
    leaders = [found.leader(model) for model in found.models]
    ranked = {(one.model, one.rule): one for one in standings(found, [*leaders, BASELINE], against=found.best)}
    shares, other = ranked[BASELINE], standings(found, leaders, against=found.best)[1]
    best = found.best[0] if other.kind in ("behind", "leaning") else "either"
    sign = -1 if found.best[0] == "nb" else 1
    return (best, shares.kind, other.kind), (shares.difference / shares.error, sign * other.difference / other.error)


def main(seeds: int) -> None:
    """Print a line for each table."""
    for name in TABLES:
        table = bc.datasets.load(name)
        models = {"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression(inference="map")}
        verdicts: dict[str, Counter[tuple[str, ...]]] = {"once": Counter(), "repeated": Counter()}
        sizes = []
        for seed in range(seeds):
            for way, times in (("once", 1), ("repeated", None)):
                found = bc.compare(models, table.X, table.y, repeats=times, random_state=seed, progress=False)
                verdict, differences = grade(found)
                verdicts[way][verdict] += 1
            sizes.append(differences)
        changed = (f"{way} {1 - own.most_common(1)[0][1] / seeds:.2f}" for way, own in verdicts.items())
        pairs = zip(("shares", "other"), np.mean(sizes, axis=0), np.std(sizes, axis=0), strict=True)
        print(name, *changed, *(f"{what} {mean:.2f} ± {sd:.2f}" for what, mean, sd in pairs), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
