"""What all training shares; the trainers themselves are in the packages of what they train.

Start at `run.py`, the template of a training verb: output, lock, resume, checkpoints, logs, provenance. A trainer is
made of the order of its batches (`batches.py`), arguments, loader and loop (`epoch_trainer.py`), callbacks
(`callbacks.py`), sparse gradients with Adam over the rows of a batch (`sparse_gradients.py`, `row_adam.py`), several
processes (`processes.py`) and initial word vectors (`word_vectors.py`). `devices.py` chooses where all of it computes,
`threads.py` computes independent blocks in parallel.
"""

from __future__ import annotations
