"""Files about the project agree with each other: versions, pins, workflows and hooks."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINNED = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def name_of(requirement):
    return re.split(r"[\[<>=;,!~ ]", requirement)[0].lower().replace("_", "-")


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["project"]["version"]
    assert " AND ".join(citation["license"]) == PROJECT["project"]["license"]


def test_everything_that_the_tasks_install_is_pinned():
    project = PROJECT["project"]
    wanted = [*project["dependencies"], *PROJECT["dependency-groups"]["dev"], *PROJECT["dependency-groups"]["docs"]]
    wanted += [requirement for extra in project["optional-dependencies"].values() for requirement in extra]
    assert {name_of(requirement) for requirement in wanted} - PINNED == set()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_exists(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    tasks = (ROOT / "tasks.py").read_text(encoding="utf-8")
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] > 0
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            for task in re.findall(r"tasks\.py (\w+)", step.get("run", "")):
                assert f'case ["{task}"' in tasks


def test_the_oldest_python_is_tried_and_the_versions_agree():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))["jobs"]
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert jobs["pinned"]["strategy"]["matrix"]["python"][0] == oldest
    assert jobs["versions"]["strategy"]["matrix"]["include"][0] == {"resolution": "lowest-direct", "python": oldest}
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest


def test_hooks_have_the_versions_of_the_lint():
    """The hooks of pre-commit have environments of their own; what they check is what `.ci/run` checks."""
    pinned = dict(
        re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    )
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    hooks = {hook["id"]: (repository["rev"], hook) for repository in repositories for hook in repository["hooks"]}
    for hook, tool in {"ruff-check": "ruff", "ruff-format": "ruff", "mypy": "mypy"}.items():
        assert hooks[hook][0] == f"v{pinned[tool]}"
    for needed in hooks["mypy"][1]["additional_dependencies"]:
        name, _, version = needed.partition("==")
        assert not version or version == pinned[name]


def test_every_claim_of_the_paper_has_its_command():
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    shown = paper.partition("# What it shows")[2].partition("# Limits")[0]
    for claim in shown.split("\n- ")[1:]:
        assert re.search(r"`(bayesclf experiment|benchmarks/|tests/)", claim), claim
    for name in re.findall(r"`((?:benchmarks|docs|tests)/[\w./-]+)`", paper):
        assert (ROOT / name).exists(), name
    cited = set(re.findall(r"@(\w+)", paper))
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE))
    assert cited == known


def test_every_row_of_the_sources_names_a_test_that_there_is():
    rows = [line for line in (ROOT / "docs" / "sources.md").read_text(encoding="utf-8").splitlines() if "::" in line]
    assert len(rows) > 30
    for row in rows:
        ((path, name),) = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, row
