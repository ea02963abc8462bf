"""HTTP over the operations of `api`: paths, queries, bodies, answers, streams, and their bounds.

    async with serving.listening(plane, limits, host, port, tls) as server: …

`routes` says what a path means, `queries` what its options do, `negotiation` which form the client
wants, `bodies` reads, `answers` writes, `streams` keeps on writing, `handling` joins them, and
`serving` opens the socket. aiohttp does HTTP; nothing of it leaves this package.
"""
