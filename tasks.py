"""The project's commands, for a machine with git and Python ≥ 3.12 only.

python3 tasks.py demo    compare classifiers and rules on real data, and leave report.html
python3 tasks.py test    run the tests on all cores; arguments replace the choice of tests and go to pytest
python3 tasks.py fuzz    run the fuzz suite with its full counts; docs/robustness.md has the figures
python3 tasks.py docs    build the documentation's site, docs/_build/html/index.html; warnings end it
python3 tasks.py audit   compare the versions of constraints.txt with published advisories; needs the network

All set up what they need in .venv first, with the versions of constraints.txt.
"""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
SCRIPTS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
DEMO = ("compare", "sklearn:breast_cancer", "--models", "nb,lr", "--cv", "5", "--report", "report.html")


PARALLEL = ("--numprocesses", "logical", "--maxprocesses", "8", "--dist", "loadfile", "--no-loadscope-reorder")
"""One worker for each core, as far as memory goes; tests/conftest.py says what goes to one worker."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Workers that use all cores each would wait for one another."""
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""pytest's rewriting of the test files is kept, whatever the user's setting, as it takes each worker some seconds."""
SITE = "docs/_build/html"
NOT_DONE = 3
"""Status of an audit that could not be made."""


def run(*words: str | Path, **variables: str) -> None:
    """Run a command in the project's folder; a failure ends this script with its status."""
    environment = os.environ | variables
    status = subprocess.run([str(word) for word in words], cwd=ROOT, env=environment, check=False).returncode
    if status:
        sys.exit(status)


def install(*what: str) -> None:
    """Install the project and `what` into .venv, unless the same was installed from the same files before."""
    stamp = ENVIRONMENT / f".installed-{'-'.join(what) or 'project'}".replace(" ", "")
    sources = [ROOT / "pyproject.toml", ROOT / "constraints.txt"]
    if stamp.exists() and all(stamp.stat().st_mtime > source.stat().st_mtime for source in sources):
        return
    python = SCRIPTS / "python"
    if not list(ENVIRONMENT.glob(".installed-*")):
        print("setting up .venv (once; this downloads the libraries)", flush=True)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    run(python, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt", "--editable", ".", *what)
    stamp.touch()


def audit() -> None:
    """Compare the pinned versions with published advisories; a vulnerable one, or `NOT_DONE`, ends this script."""
    if not list(ENVIRONMENT.glob(".installed-*")):
        install()
    folder = ENVIRONMENT / "audit"  # of its own, as pip-audit brings libraries that are not ours
    if not folder.exists():
        venv.create(folder, with_pip=True)
    python = folder / SCRIPTS.name / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "pip-audit>=2.9"]
    words = ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    found: list[dict[str, Any]] = []
    if subprocess.run(pip, check=False).returncode == 0:
        command = [python, "-m", "pip_audit", *words, "--requirement", "constraints.txt"]
        done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)["dependencies"] if done.stdout.startswith("{") else []
    vulnerable = [
        f"{each['name']} {each['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no version'}"
        for each in found
        for flaw in each.get("vulns", ())
    ]
    audited = sum("vulns" in each for each in found)
    if vulnerable:
        print("\n".join(vulnerable))
        sys.exit(f"audit: {len(vulnerable)} published vulnerabilities; raise the pins above in constraints.txt")
    if not audited or audited < len(found):
        reached = f"only {audited} of {len(found)} pinned versions" if found else "no pinned version"
        print(f"audit: NOT DONE: {reached} could be compared with advisories, as these cannot be reached from here")
        sys.exit(NOT_DONE)
    print(f"audit: no published vulnerability in {audited} pinned versions")


def main(words: list[str]) -> None:
    """Run the task that the first word names."""
    if sys.version_info < (3, 12):  # noqa: UP036 - told in words, where pip would tell it in a page
        sys.exit("bayesclf needs Python 3.12 or later; this is " + sys.version.split()[0])
    match words:
        case ["demo", *rest]:
            install()
            run(SCRIPTS / "bayesclf", *DEMO, *rest)
            print(f"the report is {ROOT / 'report.html'}, the command {SCRIPTS / 'bayesclf'}")
        case ["test", *rest]:
            install("--group", "dev")
            chosen = rest or ["-m", "not slow and not browser"]
            run(SCRIPTS / "python", "-m", "pytest", *PARALLEL, *chosen, **ONE_THREAD, **BYTECODE)
        case ["fuzz", *rest]:
            install("--group", "dev")
            full = ("tests/fuzz", "-m", "nightly", *rest)
            run(SCRIPTS / "python", "-m", "pytest", *PARALLEL, *full, **ONE_THREAD, **BYTECODE)
        case ["docs"]:
            install("--group", "docs")
            strict = ("--quiet", "--fail-on-warning", "--keep-going", "--jobs", "auto")
            folders = ("--doctree-dir", "docs/_build/doctrees", "docs", SITE)
            run(SCRIPTS / "python", "-m", "sphinx", "--builder", "html", *strict, *folders, **ONE_THREAD)
            print(f"the site is {ROOT / SITE / 'index.html'}")
        case ["audit"]:
            audit()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
