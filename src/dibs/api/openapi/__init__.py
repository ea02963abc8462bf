"""What the API says of itself (OpenAPI v3), and which fields of a body it doesn't know.

    document.documents() -> {"apis/resource.k8s.io/v1": bytes}     by the path below /openapi/v3/
    document.index() -> bytes                                      /openapi/v3, paths with ?hash=
    document.etag(bytes) -> str                                    for If-None-Match and the hash
    strict.unknown_fields(tree, record) -> list[str]               'unknown field "spec.foo"', …
    strict.parse_json(bytes) -> (tree, ['duplicate field "spec.foo"', …])

What is described is what `api.kinds` serves. All of it is made once and kept.
"""
