"""One place remembers: a log of revisions, from which every object, list and watch is read.

    store = await opening.in_folder(Path("data"))         # or: opening.in_memory()
    [event] = await store.commit(Put(Key("pods", "default", "a"), b"{}", expected=0))
    page = store.page("pods", "default", limit=500)       # page.revision, .remaining, .more
    watch = store.watch("pods", since=page.revision)
    async for event in watch: ...                         # event.before, event.after

What the rest of dibs may count on:

- Each write gets the next revision of one counter; a transaction's writes get adjacent ones, are
  all there or none, and are seen at once. Acknowledged is durable; nobody sees more than that.
- `get`, `page`, `count` and `watch` answer at once, from memory. All pages that name one revision
  show that revision, as long as it is kept: TooOld afterwards, TooNew before its time.
- A watch hands out each event after `since` exactly once and in order. It keeps no buffer of its
  own: it reads the kept history, and one that falls behind it ends with TooSlow.
- Values are bytes that nobody reads here. No order hangs on a clock.

`records` has the nouns, `faults` the exceptions, `store` and `watching` the verbs. A store belongs
to the event loop that opened it; only `journal` (SQLite) works in a thread of its own. Bounds on
values, watches and writers in waiting are the callers' (the API server's).
"""
