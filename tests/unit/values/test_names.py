"""Names: what is good, and what Kubernetes says of what is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dibs.values import names
from dibs.values.quoted import quoted

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (names.faults_of_dns_label, ["gpu-0", "0", "a" * 63], ["", "A", "-a", "a-", "a.b", "a\n"]),
        (names.faults_of_dns_subdomain, ["a.b-c.d", "a" * 253], ["", "a..b", "A.b", ".a", "a_b"]),
        (names.faults_of_driver_name, ["gpu.example.com", "GPU.example.com"], ["", "a" * 64, "_"]),
        (names.faults_of_id, ["memory", "_x", "A1", "a" * 32], ["", "1a", "a-b", "a" * 33]),
        (names.faults_of_qualified_name, ["a", "d.e/a"], ["", "/a", "d/", "a/b/c", "d.e/1"]),
        (names.faults_of_label_key, ["a", "A.b_c", "d.e/A"], ["", "/a", "d/", "-", "a/b/c", "D/a"]),
        (names.faults_of_label_value, ["", "a", "A_b.c"], ["-a", "a ", "a" * 64]),
        (names.faults_of_uuid, ["0f0e0d0c-0000-4000-8000-00000000abcd"], ["", "A" * 36, "1"]),
        (names.faults_of_condition_reason, ["Ok", "A,b:c_"], ["", "1", "a-b"]),
    ],
)
def test_good_and_bad(
    check: Callable[[str], tuple[str, ...]], good: list[str], bad: list[str]
) -> None:
    assert [text for text in good if check(text)] == []
    assert [text for text in bad if not check(text)] == []


def test_texts_are_kubernetes_own() -> None:
    assert names.faults_of_dns_label("Gpu") == (LABEL,)
    assert names.faults_of_dns_label("a.b") == ("must not contain dots",)
    assert names.faults_of_dns_label("a" * 64) == ("must be no more than 63 bytes",)
    assert names.faults_of_label_key("/") == (
        "prefix part must be non-empty",
        "name part must be non-empty",
        f"name part {KEY}",
    )
    assert names.faults_of_label_key("a/b/c") == (
        f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' "
        "(e.g. 'example.com/MyName')",
    )


def test_lengths_are_in_bytes() -> None:
    assert names.size("é") == 2
    assert names.size("\ud800") == 3
    assert "must be no more than 63 bytes" in names.faults_of_dns_label("é" * 32)


@pytest.mark.parametrize(
    ("name", "is_extended"),
    [
        ("nvidia.com/gpu", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("deviceclass.resource.kubernetes.io/gpu", False),
        ("requests.nvidia.com/gpu", False),
        ("nvidia.com/", False),
        ("nvidia.com/" + "a" * 64, False),
    ],
)
def test_extended_resources(name: str, is_extended: bool) -> None:
    assert names.is_extended_resource(name) is is_extended


def test_what_a_node_counts_itself() -> None:
    assert names.is_node_allocatable("hugepages-2Mi")
    assert names.is_node_allocatable("cpu")
    assert not names.is_node_allocatable("pods")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a", '"a"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("1\n\t", '"1\\n\\t"'),
        ("é１", '"é１"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("\u200b\U000e0001", '"\\u200b\\U000e0001"'),
        ("\ud800", '"�"'),
    ],
)
def test_quoting_is_gos(text: str, shown: str) -> None:
    assert quoted(text) == shown
