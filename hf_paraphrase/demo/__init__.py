"""The page: models and data to try in a browser, on this machine alone or as a Space of the Hub.

Model folders come in, a page goes out. Start with `run`, the recipe of the verb, and `page`, which puts the tabs
together, a file each (`*_tab`), with functions that know nothing of a page. `model_catalogue` finds and opens the
models, and `space` writes the folder of a Space.
"""

from __future__ import annotations
