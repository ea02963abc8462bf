"""The loops: the only room where deciding meets acting.

    mirror    what the cluster holds, as far as we have seen it, our own writes included
    tending   looks after keys: one call a key at a time, again after a while when it didn't work
    …         one file a loop: which keys an event concerns, and how a key is put right

Each loop is driven by the level, not by the event: `tend` looks at what is there now and writes
what is missing. Killed anywhere and started again, it goes on from what is written. What to write
is decided in `schedule`; who writes is a `client.cluster.Cluster`, in this process or over HTTP.
"""
