"""The project's two commands, for a machine with git and Python ≥ 3.12 only.

python3 tasks.py demo    compare classifiers and rules on real data, and leave report.html
python3 tasks.py test    run the tests on all cores; arguments replace the choice of tests and go to pytest

Both set up what they need in .venv first, with the versions of constraints.txt.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
SCRIPTS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
DEMO = ("compare", "sklearn:breast_cancer", "--models", "nb,lr", "--cv", "5", "--report", "report.html")


PARALLEL = ("--numprocesses", "logical", "--maxprocesses", "8", "--dist", "loadfile", "--no-loadscope-reorder")
"""One worker for each core, as far as memory goes; tests/conftest.py says what goes to one worker."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Workers that use all cores each would wait for one another."""
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""pytest's rewriting of all test files is kept, whatever the user's setting: it takes as long as a tenth of the tests."""


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


def main(words: list[str]) -> None:
    """Run the task that the first word names."""
    if sys.version_info < (3, 12):  # noqa: UP036 - told in words, where pip would tell it in a page
        sys.exit("bayesclf needs Python 3.12 or later; this is " + sys.version.split()[0])
    match words:
        case ["demo", *rest]:
            install()
            run(SCRIPTS / "bayesclf", *DEMO, *rest)
            print(f"the report is {ROOT / 'report.html'}")
        case ["test", *rest]:
            install("--group", "dev")
            chosen = rest or ["-m", "not slow and not browser"]
            run(SCRIPTS / "python", "-m", "pytest", *PARALLEL, *chosen, **ONE_THREAD, **BYTECODE)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
