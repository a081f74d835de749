"""A classifier that distinguishes references from translations (paper 000, section 5.3).

References and translations of a back-translated corpus go in, a classifier folder comes out that the measure
`reference_probability` asks. Start with `training`, the recipe; `references` draws the references and lists them for
others, `classifier_trainer` makes batches and trains, and `reference_classification` gives probabilities.
"""

from __future__ import annotations
