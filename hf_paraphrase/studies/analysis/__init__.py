"""Reports on pairs and encoders with tables and plots; the verb `analyze` writes them."""

from __future__ import annotations
