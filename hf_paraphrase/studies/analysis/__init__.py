"""Reports on pairs and encoders with tables and plots, one idea a file.

The verb `analyze` writes them, a kind a report: `pairs`, `human-scores`, `neighbours` and `similarities`.
"""

from __future__ import annotations
