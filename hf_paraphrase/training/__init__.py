"""What all training shares; each trainer is in the package of its models.

Start at `run.py`, the template of a training verb; `epoch_trainer.py` is the trainer that most share, and the other
files are its parts. `devices.py` chooses where all of it computes.
"""

from __future__ import annotations
