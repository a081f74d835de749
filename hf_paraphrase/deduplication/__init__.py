"""Near-duplicates: rows of any data go in; the kept rows and the removed rows come out.

Start with `deduplicate`, the function and the command; `duplicates` compares the texts.
"""

from __future__ import annotations
