"""Near-duplicates: rows of any data go in, the rows without what says the same come out, and what was removed.

Start with `deduplicate`, the function and the verb; `duplicates` finds them.
"""

from __future__ import annotations
