"""Request bodies in `application/vnd.kubernetes.protobuf` → the same tree that JSON would give.

    decode.decode(body, api_version="", kind="") -> tree            raises refused.Refused

The keywords say what the body must be when its envelope does not (DeleteOptions, for instance).
Reading only: answers are JSON, which every client that sends protobuf accepts.
"""
