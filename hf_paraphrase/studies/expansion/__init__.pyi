# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from .expander import Expander

__all__ = ["Expander"]
