"""The shared parts of all training; each trainer is in the package of its models.

Start at `run.py`, the template of a training command, and at `epoch_trainer.py`, the base class of most trainers.
"""

from __future__ import annotations
