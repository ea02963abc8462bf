"""The five ways to change an object, as functions over JSON trees; no HTTP here.

Trees are dicts as `json.loads` gives them, in the version of the request; none is changed in
place. Wrong input and conflicts raise `refused.Refused`, which knows its HTTP code, its reason and
its causes, in the words that kubectl prints.

    plain.merge(tree, patch) -> tree                       RFC 7386
    steps.json_patch(tree, operations) -> tree             RFC 6902
    strategic.strategic(tree, patch, record) -> tree       record: schema.reading.record_of()
    serverside.apply(live | None, applied, manager=, now=, force=False, subresource="",
                     ignored=("status",)) -> tree
    serverside.track(old | None, new, manager=, now=, subresource="", ignored=()) -> tree
    serverside.settled(old, new) -> tree                   last of all: keeps times of no change

The last two return the tree with its `metadata.managedFields`; `track` is for every other write
(create, update, the three patches above). `now` is the text of the time, in seconds, UTC. Both
return the managed fields as they were, time included, when nothing changed.
"""
