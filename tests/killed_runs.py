"""Trainings that are killed at a step."""

from __future__ import annotations

from transformers import TrainerCallback


class Killed(Exception):
    """Stands for a run that is killed."""


class KillAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            raise Killed
