"""What the API says of itself (OpenAPI v3), and which fields of a body it doesn't know.

    document.document(group_version, resources) -> bytes           one group-version, JSON
    document.index({group_version: bytes}) -> bytes                /openapi/v3, paths with ?hash=
    document.etag(bytes) -> str                                    for If-None-Match and the hash
    strict.unknown_fields(tree, record) -> list[str]               'unknown field "spec.foo"', …
    strict.parse_json(bytes) -> (tree, ['duplicate field "spec.foo"', …])

`resources` are `document.Resource(kind, plural, namespaced, verbs, subresources)`; `group_version`
is "v1" or "resource.k8s.io/v1".
"""
