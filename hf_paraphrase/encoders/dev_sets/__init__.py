"""Sets on which training chooses its epoch and settings: graded or labelled pairs, and bitext.

A folder or file goes in, a function that scores an encoder comes out: :func:`~.scorer.dev_scorer`. `pair_sets` and
`sts_files` read the sets, also for the command `evaluate`.
"""
