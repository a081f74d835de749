"""How encoders rank the sentences of a text and pairs with human scores (Sjöblom et al. 2018, sections 4.2.1 and A.4).

Encoders and texts go in; nearest sentences, distributions of similarities, and means and tests by human score come
out, as tables and plots. Start with `neighbours`, `similarities` and `human_scores`, three kinds of `analyze`.
"""

from __future__ import annotations
