"""The one description of every type of the API: fields, list types, merge keys, numbers, words.

Strategic merge and server-side apply ask it how lists merge, OpenAPI publishes it, validation of
unknown fields walks it, and protobuf bodies are read by its field numbers. The facts stand in
`tables/*.txt`, one line a field; a test holds them against the structs of `dibs.model`.

    reading.record_of("resource.k8s.io/v1", "ResourceClaim") -> Record | None
"""
