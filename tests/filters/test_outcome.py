"""A record that failed is known by what it says, never by the mere name of a member."""
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.outcome import failed, may_fail
from byref.filters.scanner import read


@pytest.mark.parametrize("record", [
    '{"status":"failed"}', '{"conclusion":"FAILURE"}', '{"level":"ERROR","msg":"x"}', '{"success":false}', '{"isError":true}',
    '{"error":{"code":"x"}}', '{"errors":["x"]}', '{"last_error":"no route"}', '{"a":{"error":"x"}}',
    '{"steps":[{"ok":true},{"ok":false}]}', '{"outcome":"timed_out"}', '{"error":404}', '{"status":"CrashLoopBackOff"}',
    '{"phase":"Failed"}', '{"Action":"fail"}', '{"result":"FAIL"}', '{"exitCode":1}', '{"exit_code":"137"}',
    '{"returncode":-9}', '{"statusCode":503}', '{"http_status":"500"}', '{"level":50,"msg":"x"}', '{"failed":3}',
    '{"failed":true}', '{"numFailedTests":2}', '{"errorCount":1}', '{"has_errors":true}', '{"err":{"type":"E"}}',
    '{"timedOut":true}', '{"killed":true}', '{"healthy":false}', '{"valid":false}', '{"panic":"index out of range"}',
    '{"type":"error","text":"x"}', '{"msg":"connection refused by db-7"}', '{"log":"Traceback (most recent call last): x"}',
    '{"reason":"FailedMount"}', '{"state":"FAILED_PRECONDITION"}'])
def test_these_failed(record: str) -> None:
    found = read(record)
    assert found is not None and failed(found[0]) and may_fail(record)


@pytest.mark.parametrize("record", [
    '{"error":null,"errors":[],"exception":"","failures":0,"isError":false,"success":true}',
    '{"status":"ok","state":"open","level":"info"}', '{"title":"How to fail","error_rate":0.2}', '{"errors":{}}', '{}',
    '{"status":500}', '{"exitCode":0,"failed":0,"killed":false}', '{"statusCode":404,"level":30}',
    '{"message":"Error handling is better"}', '{"msg":"took 50 ms where it had failed before"}', '{"type":"down"}',
    '{"healthy":true,"valid":true,"numFailedTests":0,"timed_out":false}'])
def test_these_did_not(record: str) -> None:
    found = read(record)
    assert found is not None and not failed(found[0])


def test_a_text_without_any_sign_need_not_be_looked_at() -> None:
    assert not may_fail('[{"id":1,"name":"x"}]')
    assert not may_fail('[{"id":1,"note":"timed out, error, failed"}]'), "words of a value are no report"
    assert may_fail('{ "STATUS" : "FAILED" }')


names = st.sampled_from(["error", "lastErrors", "x.exception", "stack_trace", "STACKTRACE", "isError", "Status", "exit-state", "ok",
                         "passed", "succeeded", "OK", "id", "failed", "numFailedTests", "exitCode", "http_status", "level", "msg",
                         "reason", "timedOut", "err", "valid", "healthy", "is_valid", "phase", "Action", "has_error", "failed_tests",
                         "error_count"])
values = st.sampled_from([True, False, None, 0, "", "ok", "failed", "TIMED OUT", "timeout", "CRITICAL", "Aborted", 1, 50, 503, -9, "1",
                          "broken pipe", "CrashLoopBackOff", "unhealthy", "FailedMount", ["x"], {}])
outcomes = st.recursive(values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=8)


@given(st.dictionaries(names, outcomes, max_size=4), st.sampled_from([None, 2]))
def test_no_record_that_failed_is_passed_over(record: dict[str, object], indent: int | None) -> None:
    text = json.dumps(record, indent=indent)
    found = read(text)
    assert found is not None
    assert may_fail(text) or not failed(found[0])
