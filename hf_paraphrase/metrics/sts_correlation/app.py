"""The app of the Space: a form that computes the metric."""

from __future__ import annotations

from pathlib import Path

import evaluate
from evaluate.utils import launch_gradio_widget

launch_gradio_widget(evaluate.load(str(Path(__file__).with_name("sts_correlation.py"))))
