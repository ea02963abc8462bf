"""Who is this, may they, and what is remembered of it: the security of the API server.

    authority  the certificate authority of one data folder, and what it signs
    tokens     bearer tokens, signed, with an end
    callers    certificate or token → Caller
    roles      what each kind of caller may do: admin, viewer, user of a namespace, node
    nodes      what of it depends on the object: a node writes only its own
    audit      who did what, as JSON lines
    guard      all of it behind one `gate.Gate`

There are no Role objects: the groups of a caller are its roles, and only who reads the data
folder can sign them. Decisions are in designs/054-access.md.
"""
