"""Near-duplicates: rows of any data go in, the rows without what says the same come out, and what was removed.

Start with `deduplicate`, the function and the verb; `duplicates` finds them, and `near_vectors` keeps the vectors of
earlier rows and finds those near to a new one.
"""

from __future__ import annotations
