"""Reports on the similarities of encoders (Sjöblom et al. 2018, sections 4.2.1 and A.4).

The input is encoders and texts; the output are nearest sentences, distributions of similarities, and means and tests
by human score, as tables and plots. Start with `neighbours`, `similarities` and `human_scores`, kinds of `analyze`.
"""

from __future__ import annotations
