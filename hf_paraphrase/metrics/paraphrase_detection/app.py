"""Show a form that computes the metric, as the app of a Space."""

from __future__ import annotations

from pathlib import Path

import evaluate
import gradio

METRIC = evaluate.load(str(Path(__file__).with_name("paraphrase_detection.py")))


def compute(predictions: str, references: str) -> dict[str, object] | None:
    """Compute the metric of numbers that are separated by spaces or line breaks."""
    try:
        numbers = [[float(number) for number in text.split()] for text in (predictions, references)]
        return METRIC.compute(predictions=numbers[0], references=numbers[1])
    except ValueError as error:
        raise gradio.Error(str(error)) from error


gradio.Interface(
    fn=compute,
    inputs=[gradio.Textbox(label=label, lines=5) for label in ("predictions", "references")],
    outputs=gradio.JSON(label=METRIC.name),
    title=METRIC.name,
    description="One number per pair, separated by spaces or line breaks.",
    flagging_mode="never",
).launch()
