"""The plots of the analysis: lengths, repetition, and what the classifier thinks of both kinds of sentence."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...evaluation.figures import COLOURS, new_figure, save_figure

_SIDES = (("references", COLOURS[0]), ("translations", COLOURS[1]))


def plot_lengths(references: NDArray[np.int64], translations: NDArray[np.int64], path: Path) -> None:
    """Draws histograms of lengths in tokens, those beyond the 99.5th percentile in the last bar."""
    end = max(5, int(np.percentile(np.concatenate([references, translations]), 99.5)))
    figure, axes = new_figure(7, 3.8)
    width = max(1, end // 40)
    edges = np.arange(0.5, end + width + 0.5, width)
    for lengths, (label, colour) in zip((references, translations), _SIDES, strict=True):
        shares, _ = np.histogram(np.clip(lengths, 1, edges[-1] - 0.1), bins=edges)
        values = 100 * shares / len(lengths)
        axes[0, 0].stairs(values, edges, label=label, color=colour, linewidth=1.8)
        axes[0, 0].stairs(values, edges, fill=True, color=colour, alpha=0.15)
    axes[0, 0].set_xlabel(f"tokens (last bar: {int(edges[-2] + 0.5)} or more)")
    axes[0, 0].set_ylabel("sentences (%)")
    axes[0, 0].legend(frameon=False)
    save_figure(figure, path)


def plot_repetition(
    references: NDArray[np.float64],
    translations: NDArray[np.float64],
    lengths: tuple[NDArray[np.int64], NDArray[np.int64]],
    path: Path,
) -> None:
    """Draws the mean share of repeated words against the length of the sentence, with 95 % intervals of the mean."""
    figure, axes = new_figure(7, 3.8)
    axis = axes[0, 0]
    edges = [0, 5, 10, 15, 20, 25, 30, 40, 60, 100]
    for shares, size, (label, colour) in zip((references, translations), lengths, _SIDES, strict=True):
        places, means, errors = [], [], []
        for low, high in pairwise(edges):
            inside = shares[(size > low) & (size <= high)]
            # A mean of a handful says nothing.
            if len(inside) >= 20:
                places.append((low + high) / 2)
                means.append(100 * inside.mean())
                errors.append(196 * inside.std(ddof=1) / np.sqrt(len(inside)))
        axis.errorbar(places, means, errors, label=label, color=colour, marker="o", markersize=4, capsize=3)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("tokens of the sentence (middle of the range)")
    axis.set_ylabel("repeated words (%)")
    axis.legend(frameon=False)
    save_figure(figure, path)


def plot_probabilities(references: NDArray[np.float64] | None, translations: NDArray[np.float64], path: Path) -> None:
    """Draws histograms of P(reference)."""
    figure, axes = new_figure(7, 3.8)
    axis = axes[0, 0]
    edges = np.linspace(0, 1, 41)
    for values, (label, colour) in zip((references, translations), _SIDES, strict=True):
        if values is None:
            continue
        present = values[~np.isnan(values)]
        shares = 100 * np.histogram(present, bins=edges)[0] / max(1, len(present))
        axis.stairs(shares, edges, label=label, color=colour, linewidth=1.8)
        axis.stairs(shares, edges, fill=True, color=colour, alpha=0.15)
    axis.axvline(0.5, color="black", linewidth=1, linestyle=":")
    axis.set_xlabel("P(reference)")
    axis.set_ylabel("sentences (%)")
    axis.legend(frameon=False)
    save_figure(figure, path)
