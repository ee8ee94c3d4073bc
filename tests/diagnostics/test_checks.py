"""Every check finds its fault and is silent without it: parametrised over the registry, so that none lacks a case."""

import inspect

import pytest
from helpers.faults import FAULTY, HEALTHY, diagnose

from bayesclf.diagnostics import CHECKS


@pytest.mark.parametrize("code", CHECKS)
def test_a_healthy_fit_passes(code):
    finding = diagnose(HEALTHY[code](), [code])[code]
    assert (finding.section, finding.severity, finding.next_step) == ("passed", "none", ""), finding.reason
    assert finding.reason


@pytest.mark.parametrize("code", CHECKS)
def test_a_fault_is_found(code):
    finding = diagnose(FAULTY[code](), [code])[code]
    assert finding.section in ("issue", "tip"), finding.reason
    assert finding.severity == "mild" or finding.section == "issue"
    assert finding.next_step
    assert len(finding.evidence)


def test_cases_are_of_checks_that_there_are():
    assert set(HEALTHY) == set(FAULTY) == set(CHECKS)


def test_checks_are_numbered_within_their_section_and_say_what_they_are():
    assert list(CHECKS) == sorted(CHECKS, key=lambda code: ("PMY".index(code[0]), code))
    assert {code[0] for code in CHECKS} == set("PMY")
    assert len({check.title for check in CHECKS.values()}) == len(CHECKS)
    healthy = ("agree ", "better", "converge", "calibrated")  # a title may head an issue
    for check in CHECKS.values():
        assert not any(word in check.title.lower() for word in healthy)
        assert inspect.getdoc(check).endswith((".", ")"))
        assert check.applies_to
