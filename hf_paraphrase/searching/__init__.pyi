# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import search, serve

from .index import Neighbour, SearchIndex, build_index
from .run import Searched
from .server import ServeSettings

__all__ = ["Neighbour", "SearchIndex", "Searched", "ServeSettings", "build_index", "search", "serve"]
