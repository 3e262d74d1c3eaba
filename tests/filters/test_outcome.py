"""A record that failed is known by what it says, never by the mere name of a member."""
from __future__ import annotations

import pytest

from byref.filters.outcome import failed, may_fail
from byref.filters.scanner import read


@pytest.mark.parametrize("record", [
    '{"status":"failed"}', '{"conclusion":"FAILURE"}', '{"level":"ERROR","msg":"x"}', '{"success":false}', '{"isError":true}',
    '{"error":{"code":"x"}}',
    '{"errors":["x"]}', '{"last_error":"no route"}', '{"a":{"error":"x"}}', '{"steps":[{"ok":true},{"ok":false}]}',
    '{"outcome":"timed_out"}', '{"error":404}',
])
def test_these_failed(record: str) -> None:
    found = read(record)
    assert found is not None and failed(found[0]) and may_fail(record)


@pytest.mark.parametrize("record", [
    '{"error":null,"errors":[],"exception":"","failures":0,"isError":false,"success":true}',
    '{"status":"ok","state":"open","level":"info"}',
    '{"title":"How to fail","error_rate":0.2}', '{"errors":{}}', "{}", '{"status":500}',
])
def test_these_did_not(record: str) -> None:
    found = read(record)
    assert found is not None and not failed(found[0])


def test_a_text_without_any_sign_need_not_be_looked_at() -> None:
    assert not may_fail('[{"id":1,"name":"x"}]')
