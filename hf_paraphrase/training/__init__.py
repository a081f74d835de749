"""What all training shares; the trainers themselves are in the rooms of what they train.

Start at `run.py`, the template of a training verb: output, claim, resuming, checkpoints, logs, records. Beneath a
Trainer lie the order of its batches (`batches.py`, `epoch_trainer.py`), what happens beside its steps
(`callbacks.py`), what it settles itself (`arguments.py`), several processes (`joining.py`, `processes.py`) and what
they cannot do (`sharding.py`), threads (`threads.py`), sparse gradients and Adam over the rows of a batch
(`sparse_gradients.py`, `row_adam.py`), and what word vectors start from (`word_vectors.py`); `environment.py` says on
what machine all of it runs.
"""

from __future__ import annotations
