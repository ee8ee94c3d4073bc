"""Writes the tables of README.md from the results, so that neither is without the other.

Run from the project's folder: .venv/bin/python benchmarks/tables.py
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean, median
from typing import Any

HERE = Path(__file__).parent
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
OURS = "bayesclf"

type Result = dict[str, Any]


def main() -> None:
    """Rewrite the section of README.md between the markers."""
    readme = HERE / "README.md"
    readme.write_text(rewritten(readme.read_text(encoding="utf-8"), HERE / "results"), encoding="utf-8")


def rewritten(text: str, folder: Path) -> str:
    """Return `text` with what lies between its markers made anew from the results in a folder."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise ValueError(f"the text lacks {BEGIN} and, after it, {END}")
    parts = [
        f"{heading}\n\n{table(json.loads(path.read_text(encoding='utf-8')))}"
        for name, (heading, table) in TABLES.items()
        if (path := folder / f"{name}.json").exists()
    ]
    return before + "\n\n".join([BEGIN, *parts, END]) + after


def logistic(result: Result) -> str:
    """Return times and effective draws of each peer on each table, and whether they agree."""
    lines, agreements = [], []
    for name, found in result["tables"].items():
        shape = f"{name} ({found['rows']:,} × {found['columns']}, {found['classes']} classes)"
        ours = found["peers"].get(OURS, {})
        lines += [[shape, _name(who, line), *_sampler(line, ours)] for who, line in found["peers"].items()]
        agreements.append(f"{name} {_agreement(found['agreement'])}")
    head = ["table", "peer", "fit", "refit", "cold fit", "imports", "bulk ESS, smallest (median)", "ESS/s"]
    about = "Posterior means and sds of all parameters, largest |z| of a peer against the others, and the bound: "
    how = f"{result['chains']} chains × {result['draws']:,} draws, medians of up to {result['repeats']}"
    return "\n\n".join([markdown(head, lines), f"{about}{'; '.join(agreements)}.", _where(result, how)])


def logistic_map(result: Result) -> str:
    """Return the times of each optimizer, how far it got, and how far its weights are from ours."""
    lines = []
    for name, found in result["tables"].items():
        shape = f"{name} ({found['rows']:,} × {found['columns']}, {found['classes']} classes)"
        ours = found["optimizers"][OURS]
        for who, line in found["optimizers"].items():
            gradient = f"{line['gradient']:.0e}"
            difference = "" if who == OURS else f"{line['difference']:.0e}"
            lines.append([shape, who, _time(line["seconds"], ours["seconds"]), gradient, difference])
    head = ["table", "optimizer", "fit", "largest gradient per row", "largest difference of a weight"]
    return "\n\n".join([markdown(head, lines), _where(result, f"medians of {result['repeats']}")])


def logistic_rows(result: Result) -> str:
    """Return what each engine takes on the rows of a large table."""
    unit = next(iter(result["engines"]))
    seconds = result["engines"][unit]["seconds"]
    lines = [[engine, _time(found["seconds"], seconds), found["note"]] for engine, found in result["engines"].items()]
    shape = f"adult, {result['rows']:,} rows, {result['columns']} columns of the design"
    return "\n\n".join([markdown(["engine", "fit", ""], lines), _where(result, shape, unit)])


def prediction(result: Result) -> str:
    """Return what averaging over a posterior takes, and its ratio to the larger floor."""
    named = {"product": "floor: the product", "exponentials": "floor: the exponentials"}
    lines = [[named[name], _seconds(took["clock"]), ""] for name, took in result["floors"].items()]
    ratios = result["ratios"]
    lines += [
        [name, _seconds(took["clock"]), _rounded(ratios[name]["clock"])] for name, took in result["seconds"].items()
    ]
    about = f"4,000 draws × 100,000 rows × 30 features; peak above the table {result['peak_mb']:.0f} MB."
    return "\n\n".join([markdown(["", "time", "over the larger floor"], lines), about])


def in_memory(result: Result) -> str:
    """Return what large tables take next to a peer or a floor, by processor time, and the goals."""
    lines = [
        [name, *(_seconds(took["processor"][who]) for who in ("ours", "peer")), *_against(took)]
        for name, took in result["lines"].items()
    ]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    about = f"Seconds of one core, medians of {result['rounds']}; {result['share']:.0%} of the rows; {versions}."
    return "\n\n".join([markdown(["", OURS, "peer or floor", "ratio", "goal"], lines), about])


def _against(took: Result) -> list[str]:
    goal = took["goal"]
    return [_rounded(took["processor"]["ratio"]), "" if goal is None else f"≤ {_rounded(goal)}"]


def default_prior(result: Result) -> str:
    """Return the log losses of every default and of the peer, and on how many tables of each group they are level."""
    lines, level, sizes = [], Counter[str](), Counter[str]()
    ordered = sorted(result["tables"].items(), key=lambda pair: GROUPS.index(pair[1]["group"]))
    for name, found in ordered:
        ours, peer = (mean(line["log_loss"]) for line in found["scores"].values())
        is_level = ours - peer <= max(0.01, 0.01 * peer)
        level[found["group"]] += is_level
        sizes[found["group"]] += 1
        shape = f"{name} ({found['rows']:,} × {found['columns']}, {found['classes']} classes)"
        said = f"{ours:.3f}" if is_level else f"**{ours:.3f}**"
        lines.append([found["group"], shape, str(found["times"]), said, f"{peer:.3f}", f"{ours - peer:+.3f}"])
    shares = ", ".join(f"{level[group]} of {sizes[group]} in {group}" for group in GROUPS)
    whole = [group for group in GROUPS if group != "parts"]
    of_whole = f"{sum(level[group] for group in whole)} of {sum(sizes[group] for group in whole)}"
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    about = (
        f"Mean log loss of {result['folds']} folds, in nats per row; bold: worse than scikit-learn's by more than 0.01 "
        f"nats and 1 %. Level or better on {of_whole} whole tables: {shares}; {versions}."
    )
    head = ["group", "table (rows × columns)", "times five folds", "default", "scikit-learn", "difference"]
    return "\n\n".join([markdown(head, lines), about])


GROUPS = ("development", "parts", "confirmation")
"""Of tables: those on which ways of averaging were compared, small parts of these, and those looked at only then."""


FAMILY_WAYS = {
    "auto, bayes-optimal": "by evidence",
    "Gaussian, bayes-optimal": "Gaussian",
    "GaussianNB": "GaussianNB",
    "CategoricalNB": "CategoricalNB after ten quantiles",
}
"""Naive Bayes with families by evidence, its peers, and what they are called."""
MOST_NATS = 100.0
"""Log losses above it are shown as such: variances of columns that hardly vary are almost 0."""


def families_by_evidence(result: Result) -> str:
    """Return the log losses of families by evidence and of their peers, what was chosen, and what the fit takes."""
    chosen, *peers = FAMILY_WAYS
    lines, better = [], dict.fromkeys(peers, 0)
    for name, found in result["tables"].items():
        loss = {way: mean(values) for way, values in found["log_loss"].items() if way in FAMILY_WAYS}
        for peer in peers:
            better[peer] += loss[chosen] < loss[peer]
        shape = (
            f"{name} ({found['rows']:,} × {found['columns']}, {found['numbers']} numbers, {found['classes']} classes)"
        )
        shown = {way: f"> {MOST_NATS:.0f}" if one > MOST_NATS else f"{one:.3f}" for way, one in loss.items()}
        shown = {way: f"**{text}**" if loss[way] == min(loss.values()) else text for way, text in shown.items()}
        gaussian = median(found["seconds"]["gaussian"])
        ratio = f"× {_rounded(median(found['seconds']['auto']) / gaussian)}"
        most = ", ".join(f"{family} {number}" for family, number in list(found["chosen"].items())[:3])
        lines.append([shape, *(shown.get(way, "") for way in FAMILY_WAYS), ratio, most])
    head = ["table", *FAMILY_WAYS.values(), "fit", "chosen most, columns of all folds"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    counted = ", ".join(f"{FAMILY_WAYS[peer]} on {won}" for peer, won in better.items())
    text = (
        f"Mean log loss of {result['folds']} folds, in nats per row, Bayes-optimal. Families by evidence are better "
        f"than {counted} of {len(lines)} tables. × is the CPU time of a fit to that of Gaussian columns; {versions}."
    )
    return "\n\n".join([markdown(head, lines), text])


def ng_jordan(result: Result) -> str:
    """Return the seconds of the experiment and of the plain loop by problem, and how far their errors are apart."""
    lines = []
    for name, found in result["problems"].items():
        ours, theirs = (sum(found["seconds"][who]) for who in (OURS, "scikit-learn"))
        apart = "; ".join(f"{which} {z:.1f}" for which, z in found["errors"].items())
        lines.append([name, _seconds(ours), _seconds(theirs), _rounded(theirs / ours), apart])
    ours, theirs = (sum(sum(p["seconds"][who]) for p in result["problems"].values()) for who in (OURS, "scikit-learn"))
    lines.append(["all", _seconds(ours), _seconds(theirs), _rounded(theirs / ours), ""])
    head = ["problem", OURS, "scikit-learn", "ratio", "largest difference of mean errors, in standard errors"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    text = f"{result['splits']} splits; one core; {versions}."
    if "workers" in result:
        one, two = result["workers"]["1"], result["workers"]["2"]
        text += f"\n\nThe experiment with {result['workers']['splits']} splits: {_seconds(one)} by one process, "
        text += f"{_seconds(two)} by two, {_rounded(one / two)} times as fast."
    return "\n\n".join([markdown(head, lines), text])


TREE_LINES = ("nb", "tan", "trees", "forests", "a forest a class", "aode")
TREE_RULES = {"aode": "predictive"}
"""Rules other than the default, Bayes-optimal."""


def every_tree(result: Result) -> str:
    """Return the log loss of each line on each table, and how often averages over trees or forests beat one tree."""
    lines, ahead = [], dict.fromkeys(("trees", "forests"), 0)
    for name, found in result["tables"].items():
        loss = {line: found["log_loss"][f"{line}, {TREE_RULES.get(line, 'bayes-optimal')}"] for line in TREE_LINES}
        for line in ahead:
            ahead[line] += loss[line] < loss["tan"]
        shape = f"{name} ({found['rows']:,} × {found['columns']}, {found['classes']} classes)"
        lines.append([shape, *(f"{loss[line]:.3f}" for line in TREE_LINES)])
    counted = ", ".join(f"{line} on {number} of {len(lines)} tables" for line, number in ahead.items())
    about = "Log loss of held-out rows, 5 folds; Bayes-optimal averages, and AODE's plug-in. Smaller than that of TAN: "
    return "\n\n".join([markdown(["table", *TREE_LINES], lines), f"{about}{counted}."])


TABLES: dict[str, tuple[str, Callable[[Result], str]]] = {
    "logistic": ("### Logistic regression: samplers of one posterior", logistic),
    "logistic_map": ("### Logistic regression: the posterior mode, against scikit-learn", logistic_map),
    "logistic_rows": ("### Logistic regression: many rows", logistic_rows),
    "prediction": ("### Logistic regression: averaging over the posterior", prediction),
    "in_memory": ("### Naive Bayes: large tables in memory, against scikit-learn", in_memory),
    "every_tree": ("### Every tree and every forest, against naive Bayes, one tree and AODE", every_tree),
    "default_prior": ("### Logistic regression: every default, on many tables", default_prior),
    "families_by_evidence": ("### Naive Bayes: families by evidence", families_by_evidence),
    "ng_jordan": ("### Learning curves: the experiment against a plain loop over scikit-learn", ng_jordan),
}
"""The sections, by the name of their results."""


def markdown(head: list[str], lines: Iterable[list[str]]) -> str:
    """Return a table; a first cell that repeats the one above it is left empty."""
    rows, above = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)], None
    for first, *rest in lines:
        rows.append("| " + " | ".join(["" if first == above else first, *rest]) + " |")
        above = first
    return "\n".join(rows)


def _name(who: str, line: Result) -> str:
    """Return a peer's name, with the setting that was the fastest where there was a choice."""
    return " ".join([who, *(f"({name} {value})" for name, value in line.get("setting", {}).items())])


def _sampler(line: Result, ours: Result) -> list[str]:
    """Return the cells of one peer on one table."""
    if "fit" not in line:
        return [line.get("absent") or line["failed"], *[""] * 5]
    speed, ours_speed = _speed(line), _speed(ours) if "fit" in ours else None
    return [
        _time(line["fit"], ours.get("fit")),
        _time(line["refit"], ours.get("refit")),
        _time([line["cold"]], [ours["cold"]] if "cold" in ours else None) if "cold" in line else "",
        _seconds(median(line["imports"])),
        f"{median(line['smallest_ess']):,.0f} ({median(line['median_ess']):,.0f})",
        _rounded(speed) + (f" (× {_rounded(speed / ours_speed)})" if ours_speed else ""),
    ]


def _speed(line: Result) -> float:
    """Return the smallest effective sample size for each second of the whole fit."""
    return float(median(ess / seconds for ess, seconds in zip(line["smallest_ess"], line["fit"], strict=True)))


def _time(seconds: list[float], ours: list[float] | None) -> str:
    """Return a median, and its ratio to ours."""
    own = median(seconds)
    return _seconds(own) + (f" (× {_rounded(own / median(ours))})" if ours else "")


def _seconds(value: float) -> str:
    return f"{_rounded(value)} s" if value >= 0.1 else f"{_rounded(1000 * value)} ms"


def _rounded(value: float) -> str:
    """Return two digits, or all before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _agreement(found: Result | None) -> str:
    if found is None:
        return "not compared"
    z = max(z for peer in found["largest"].values() for z in peer.values())
    return f"{z:.1f} of {found['bound']:.1f} ({found['parameters']} parameters)"


def _where(result: Result, how: str, unit: str = OURS) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return f"{how}; × is the ratio to {unit}; {result['cores']} cores; {versions}."


if __name__ == "__main__":
    main()
