# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import search, serve

from .building import build_index
from .index import Neighbour, SearchIndex
from .run import Searched
from .server import ServeSettings

__all__ = ["Neighbour", "SearchIndex", "Searched", "ServeSettings", "build_index", "search", "serve"]
