"""Sources of bitext, paraphrases and graded sets, one module a source.

Raw files of a source go in, a Parquet data folder with its card comes out; the builders are those of `datasets`, and
the verb `prepare` runs them. Start reading at `source`, what all sources share, and at a short one, `sick`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .bitext import BitextBuilder
    from .opusparcus import OpusparcusBuilder
    from .pairs import PairsBuilder
    from .ppdb import PpdbBuilder
    from .simpwiki import SimpwikiBuilder

__getattr__, __dir__, __all__ = lazy_exports(__name__)
