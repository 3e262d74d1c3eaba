"""Reports in XML: what is a fault in each format stands with its file or test; the rest is counted in the report's own units."""
from __future__ import annotations

import pytest

from byref.filters.lines import split
from byref.filters.reports import ROOT, report
from byref.filters.units import ALWAYS, ANCHOR, MUST, Units

# elements as the tools write them, the faults marked with >
FORMATS = {
    "checkstyle": """<checkstyle version="8.0">
><file name="src/A.java">
<error line="3" severity="warning" message="unused import"/>
><error line="9" severity="error" message="missing brace"/>
</file>
<file name="src/B.java">
<error line="4" severity="ignore" message="tab"/>""",
    "pmd": """<pmd version="6.1">
><file name="src/A.java">
><violation beginline="3" rule="AvoidNull"
>  priority="1">
<violation beginline="9" rule="Naming" priority="3">
</file>""",
    "spotbugs": """<BugCollection version="4">
><BugInstance type="NP_ALWAYS_NULL" priority="1" category="CORRECTNESS">
<BugInstance type="DM_NUMBER_CTOR" priority="3" category="PERFORMANCE">""",
    "cppcheck": """<results version="2">
<error id="unusedFunction" severity="style" msg="never used"/>
><error id="nullPointer" severity="error" msg="null pointer"/>""",
    "lint": """<issues format="5">
><issue
>    id="MissingPermission"
>    severity="Error"
>    message="call needs a permission">
<issue
    id="IconMissing"
    severity="Warning">""",
    "jslint": """<jslint>
><file name="a.js">
><issue line="1" reason="Unexpected space"/>""",
    "trx": """<TestRun id="1">
<UnitTestResult testName="Adds" outcome="Passed"/>
><UnitTestResult testName="Divides" outcome="Failed"/>""",
    "nunit": """<test-run total="2">
<test-case name="Adds" result="Passed"/>
><test-case name="Divides" result="Failed">""",
}


def marked(text: str) -> Units:
    units = split(text).units()
    units.rank[0] = units.rank[-1] = 0
    assert report(units)
    return units


@pytest.mark.parametrize("name", FORMATS)
def test_faults_stand_and_milder_findings_do_not(name: str) -> None:
    rows = FORMATS[name].split("\n")
    units = marked("\n".join(row.removeprefix(">") for row in rows))
    found = [level >= MUST for level in units.rank]
    assert found[1:] == [row.startswith(">") for row in rows][1:]
    assert ROOT.search(units.texts[0])


def test_junit_names_of_failing_tests_always_stand_with_their_message() -> None:
    units = marked('<testsuite name="s" tests="3" failures="1">\n<properties>\n<property name="a" value="b"/>\n</properties>\n'
                   '<testcase name="ok"/>\n<testcase name="bad" time="0.1">\n<failure message="1 != 2">\nexpected 1\ngot 2\n'
                   '</failure>\n</testcase>\n'
                   '<testcase name="late"><skipped/></testcase>\n</testsuite>')
    assert list(units.rank) == [ALWAYS, 0, 0, 0, 0, ALWAYS, MUST, ANCHOR, ANCHOR, ANCHOR, 0, 0, 0]
    assert units.name == "tests" and units.counts is not None and sum(units.counts) == 3 and sum(units.failures.values()) == 1
    assert units.worth[4] < units.worth[2] < 0


def test_a_test_and_its_failure_on_one_line() -> None:
    units = marked('<testsuite tests="2">\n<testcase name="bad"><failure message="x"/></testcase>\n<testcase name="ok"/>\n</testsuite>')
    assert units.rank[1] == ALWAYS and units.rank[2] == 0


def test_xml_that_is_no_report_is_left_to_others() -> None:
    units = split("<project>\n<version>1</version>\n</project>").units()
    assert not report(units) and units.name == "lines" and units.counts is None
