"""A demo in the browser for models and data, on this machine alone or as a Space of the Hub.

Start with `run`, the command `demo`, and `page`, which builds the demo from its tabs (`*_tab`). `model_catalogue`
finds and opens the models.
"""

from __future__ import annotations
