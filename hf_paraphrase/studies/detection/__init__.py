"""What encoders make of the sentences of a text and of pairs that people scored (paper 003, sections 4.2.1 and A.4).

Encoders and texts go in; nearest sentences, distributions of similarities, and means and tests by human score come
out, as tables and plots. Start with `neighbours`, `similarities` and `human_scores`, three kinds of `analyze`.
"""

from __future__ import annotations
