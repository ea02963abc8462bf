"""How long dibs takes, as JSON lines and a table: `python -m bench`.

`cases` says what is measured and what each figure includes, `clusters` makes the input, `clock`
measures, `report` writes. A benchmark prints; it never fails on time.
"""
