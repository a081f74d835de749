"""The page: models and data to try in a browser, on this machine alone or as a Space of the Hub.

Model folders come in, a page goes out. `run` is the recipe of the verb; `page` puts the tabs together, one file each
(`similarity_tab`, `neighbours_tab`, `translation_tab`, `data_tab`), which read what a person typed (`typed_texts`),
compute with functions that know nothing of a page (`word_shares`, `corpora`, `sentence_map`, `translations`,
`pair_measures`), and draw (`pictures`, `charts`). `model_catalogue` finds and opens the models, `space` writes the
folder of a Space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .run import DemoSettings, launch_demo

__getattr__, __dir__, __all__ = lazy_exports(__name__)
