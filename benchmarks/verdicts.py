"""How often the verdict of a comparison changes with the seed of its folds.

For each table, naive Bayes and logistic regression at its mode are compared under 50 seeds. A verdict is the grade of
the headline (which model, better than the shares of the classes, better than the other model). The table says how often
it is not the most frequent one, for folds that are drawn once, and for those that `compare` repeats where others could
change the verdict.

Run from the project's folder: .venv/bin/python benchmarks/verdicts.py [SEEDS]
"""

import sys
from collections import Counter

import bayesclf as bc
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.score_table import BASELINE, standings

TABLES = ("breast_cancer_ljubljana", "promoters", "sonar")
SEEDS = 50


def grade(found: Comparison) -> tuple[str, ...]:
    """Return the recommended model, and how clear it is that it is better than the shares and than the other model."""
    leaders = [found.leader(model) for model in found.models]
    ranked = {(one.model, one.rule): one.kind for one in standings(found, [*leaders, BASELINE], against=found.best)}
    other = next(one.kind for one in standings(found, leaders, against=found.best) if one.kind != "best")
    best = found.best[0] if other in ("behind", "leaning") else "either"
    return best, ranked[BASELINE], other


def main(seeds: int) -> None:
    """Print a line for each table."""
    for name in TABLES:
        table = bc.datasets.load(name)
        models = {"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression(inference="map")}
        verdicts: dict[str, Counter[tuple[str, ...]]] = {"once": Counter(), "repeated": Counter()}
        for seed in range(seeds):
            for way, times in (("once", 1), ("repeated", None)):
                found = bc.compare(models, table.X, table.y, repeats=times, random_state=seed, progress=False)
                verdicts[way][grade(found)] += 1
        changed = (f"{way} {1 - own.most_common(1)[0][1] / seeds:.2f}" for way, own in verdicts.items())
        print(name, *changed, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
