"""The Kubernetes API over `store`: what kubectl and the client libraries talk to.

How a request goes through:

    server.routes      method, path, query        → calls.Call | discovery | review | NotFound
    gate.Gate          credentials, Call          → Caller, or Failure 401/403   (api.access)
    server.bodies      bytes, content type        → tree (JSON, YAML, protobuf), bounded
    reads / writes     Call, tree                 → Answer, or Failure
        convert        tree of a version          ↔ tree of the stored version
        prepare        what is filled in, wiped, kept, counted
        check          what is refused: shape, rules, immutability
        storage        tree, revision             ↔ store
    server.answers     Answer, Accept             → JSON, Table, YAML, stream of events

Everything but `server` is without HTTP and without a clock: time and ids come in with
`calls.World`. Every no is a `failures.Failure`, which knows how to be a `Status`.
"""
