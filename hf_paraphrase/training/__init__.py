"""What all training shares: the run with its outputs and checkpoints, processes, settings that are settled.

The trainers themselves are in the rooms of what they train: `encoders`, `translation`, `filtering`, `studies`.
"""

from __future__ import annotations
