"""Whatever our own OpenAPI allows, and much that it doesn't, is answered without a bug.

Schemathesis makes up the requests. A 5xx is an answer only where Kubernetes has it so: a revision
that has yet to come is a timeout.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from dibs.testing import apiserver
from dibs.testing.apiserver import Running

pytestmark = pytest.mark.slow

VERSIONS = ("apis/resource.k8s.io/v1", "apis/authorization.k8s.io/v1", "api/v1")
# To make up a Pod takes a tenth of a second; the long profile makes up more.
EXAMPLES = settings.default.max_examples // 100 if settings.default else 1


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with apiserver.running() as running:
        yield running


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_a_bug(server: Running, version: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import schemathesis

        schema = schemathesis.openapi.from_url(f"{server.url}/openapi/v3/{version}")
        for result in schema.get_all_operations():
            try_operation(server, result.ok())


def try_operation(server: Running, operation: Any) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy())
    def answered(case: Any) -> None:
        # Watches go on for as long as they are asked to.
        for name in ("watch", "sendInitialEvents"):
            case.query.pop(name, None)
        if "namespace" in case.path_parameters:
            case.path_parameters["namespace"] = "default"
        answer = case.call(base_url=server.url, timeout=10)
        is_timeout = answer.status_code == 504 and "Too large resource version" in answer.text
        assert answer.status_code < 500 or is_timeout, (case.as_curl_command(), answer.text)

    answered()
