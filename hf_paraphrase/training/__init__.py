"""What all training shares; the trainers themselves are in the rooms of what they train.

Start at `run.py`, the template of a training verb: output, claim, resuming, checkpoints, logs, records. Beneath a
Trainer lie the order of its batches (`batches.py`, `epoch_trainer.py`), what happens beside its steps
(`callbacks.py`), what it settles itself (`arguments.py`), several processes (`processes.py`) and threads
(`threads.py`), Adam over the rows of a batch (`row_adam.py`), and what word vectors start from (`word_vectors.py`);
`environment.py` says on what machine all of it runs.
"""

from __future__ import annotations
