"""A question as tables of numbers: what each request may take, what it draws, who shares values.

Read from the objects by the API's documentation and the KEPs alone: nothing here comes from
`dibs.allocate`, `dibs.supply` or the brute-force oracle, so that a solver and a validator that
rest on it can contradict them. Only expressions are evaluated by `dibs.request`, whose answers
are taken as given. All features are on, and selectors mustn't fail: as in `dibs.testing.tight`.

`reading.of` makes `tables.Facts`; `validity` holds an answer against them.
"""
