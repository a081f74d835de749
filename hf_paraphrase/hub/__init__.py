"""Publishing: a folder comes in, one commit on the Hub comes out; huggingface_hub sends it.

`pushed_files` lists and checks the files, and adapts cards and records to the Hub; `licences` decides whether data may
be passed on; `publishing` sends. Start reading at `run`, the recipe of the verb `push`.
"""

from __future__ import annotations
