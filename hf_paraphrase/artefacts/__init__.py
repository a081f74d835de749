"""What every output of this package is, and what is checked before a folder of others is opened.

An output folder appears whole or not at all (`folders`), says how it was made (`provenance`) and carries its card
(`cards`). `foreign_model_folder` and its neighbours look at names, sizes, links and shapes before a library opens a
folder that came from elsewhere; `model_loading` then opens it.
"""

from __future__ import annotations
