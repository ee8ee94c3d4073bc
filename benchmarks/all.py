"""What takes how long, next to a peer or to what the hardware needs, and whether the goals are met.

    BAYESCLF_DATA=FOLDER python benchmarks/all.py [--quick] [--only WORDS] [--json FILE] [--table]

Each line is a row of `rows.py`: the work, the ratio or the seconds, and the goal. Ours and theirs take turns in one
process; times are processor time, of all threads and of the processes that a run starts, unless the row says otherwise,
and ratios are medians over the rounds. `--quick` has smaller tables and fewer rounds, and takes less than ten minutes
of one quiet core. `--table` writes docs/results/benchmarks.md. Rows whose table or peer is not here are left out, and
named. Libraries get one thread each.
"""

import argparse
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before NumPy is loaded

from common import ROOT, cpu, markdown, measured_with, rounded, timed, versions, write  # noqa: E402
from rows import ROWS, Pair, Row  # noqa: E402
from samplers import NotHere  # noqa: E402

PAGE = ROOT / "docs" / "results" / "benchmarks.md"
PACKAGES = ("bayesclf", "numpy", "scikit-learn", "pyarrow", "pymc", "nutpie", "numpyro")
SHORTEST = 0.02
"""Seconds below which a call is repeated within one measurement."""
BUDGET = {True: 5.0, False: 60.0}
"""Seconds of a pair, by the clock or of processor time, after which no round is begun, quick or not."""


def rounds(row: Row, pair: Pair, quick: bool) -> list[tuple[float, float]]:
    """Return what each round gives of ours and of theirs; 1 of theirs where there is nothing to compare with."""
    if row.number:
        return [(float(pair.ours()), float(pair.theirs()))]
    clock = time.perf_counter if row.by_the_clock else cpu

    def taken(run: Callable[[], Any] | None, times: int = 1) -> float:
        return 1.0 if run is None else timed(run, clock, times)

    runs, times = (pair.ours, pair.theirs), (1, 1)
    if pair.warm:
        times = tuple(min(1000, max(1, int(SHORTEST / max(taken(run), 1e-6)))) for run in runs)
    found, begun = [], clock()
    while len(found) < pair.rounds and (not found or clock() - begun < BUDGET[quick]):
        found.append(tuple(map(taken, runs, times)))
    return found


def measured(row: Row, quick: bool) -> list[dict[str, Any]]:
    """Return a line of what a row found, the median over its pairs, and one of the largest pair where it has a goal."""
    pairs = []
    for pair in row.pairs(row.sizes[quick]):
        found = rounds(row, pair, quick)
        ours, theirs = (median(one[side] for one in found) for side in (0, 1))
        ratio = median(one / other for one, other in found)
        pairs.append({"of": pair.of, "ours": ours, "theirs": theirs, "ratio": ratio, "rounds": len(found)})
    ratios = [float(pair["ratio"]) for pair in pairs]
    line = {**named(row, quick), "value": median(ratios), "pairs": pairs}
    line["met"] = row.goal and bool(line["value"] >= row.goal if row.more else line["value"] <= row.goal)
    if row.largest is None:
        return [line]
    largest = {"work": "the largest of them", "goal": row.largest, "value": max(ratios), "pairs": []}
    return [line, {**line, **largest, "met": max(ratios) <= row.largest}]


def named(row: Row, quick: bool) -> dict[str, Any]:
    """Return what a row measures, its goal and its unit."""
    return {"work": row.work.format(n=f"{row.sizes[quick]:,}"), "goal": row.goal, "unit": row.unit, "more": row.more}


def said(line: dict[str, Any]) -> tuple[str, str, str]:
    """Return the value, the goal, and whether it is met, in words."""
    if "why" in line:
        return line["why"], "", "left out" if line["met"] is None else "failed"
    goal = "" if line["goal"] is None else f"{'≥' if line['more'] else '≤'} {rounded(line['goal'])}"
    met = {None: "", True: "met", False: "missed"}[line["met"]]
    return f"{rounded(line['value'])} {line['unit']}", goal, met


def page(lines: list[dict[str, Any]], quick: bool, how: str) -> str:
    """Return the page of the documentation."""
    rows = [[line["work"], *said(line)] for line in lines]
    goals = [line["met"] for line in lines if line["met"] is not None and "why" not in line]
    option = " --quick" if quick else ""
    return f"""# Benchmarks

`python benchmarks/all.py{option} --table` wrote this page. It measures ours and theirs in turn, in one process and with
one thread for each library. × is ours over theirs, in processor time or in ESS/s, as the median over rounds. Seconds
have nothing to compare with. Tables are simulated, unless they are named. {sum(goals)} of {len(goals)} goals are met.

{markdown(["work", "measured", "goal", ""], rows)}

{how}. `benchmarks/README.md` lists the other benchmarks; [held-out losses](held_out.md) has theirs of accuracy.
"""


def main(words: list[str] | None = None) -> int:
    """Measure, print, and write what is asked for; return 1 if a row fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller tables, fewer rounds")
    parser.add_argument("--only", default="", metavar="WORDS", help="rows whose name has these words")
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--table", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args(words)
    warnings.simplefilter("ignore")
    if given.table and given.only:
        parser.error("--table takes all rows")
    lines, parts = [], versions(*PACKAGES)
    for row in (row for row in ROWS if given.only in row.work):
        begun = cpu()
        try:
            found = measured(row, given.quick)
        except NotHere as reason:
            found = [{**named(row, given.quick), "met": None, "why": str(reason)}]
        except Exception as error:
            traceback.print_exc()
            found = [{**named(row, given.quick), "met": False, "why": type(error).__name__}]
        for line in found:
            value, goal, met = said(line)
            print(f"{met:>8}  {value:>9}  {goal:>7}  {line['work']}  [{cpu() - begun:.0f} s]", flush=True)
        lines += found
        if given.json:
            write(given.json, {"quick": given.quick, "versions": parts, "rows": lines})
    if given.table:
        PAGE.write_text(page(lines, given.quick, measured_with(parts)), encoding="utf-8")
    return int(any("why" in line and line["met"] is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
