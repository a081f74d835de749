"""Development sets, which choose the epoch and the settings of a training: graded or labelled pairs, and bitext.

A folder or file goes in, a function that scores an encoder comes out: :func:`~.scorer.dev_scorer`. `pair_sets` and
`sts_files` read the sets, also for the command `evaluate`.
"""
