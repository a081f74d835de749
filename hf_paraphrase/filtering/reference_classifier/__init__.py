"""A classifier that distinguishes references from translations (paper 000, section 5.3).

References and translations of a back-translated corpus go in, a classifier folder comes out that the measure
`reference_probability` asks. Start with `training`, the recipe; `references` draws the references and lists them for
others, `classifier_trainer` makes batches and trains, and `reference_classification` gives probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .classifier_trainer import ClassifierTrainer
    from .reference_classification import ReferenceScorer
    from .training import train_reference_classifier

__getattr__, __dir__, __all__ = lazy_exports(__name__)
