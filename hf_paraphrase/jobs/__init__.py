"""Jobs over the rows of data folders: a batch function goes in with a folder, a folder of what it makes comes out.

`shards.py` cuts the rows into shards and writes them, in several processes where that is worth it; each depends on its
rows alone. `sharded_output.py` is the folder that they lie in while they are made, by one run or by many, and its end.
What a function of batches is stands in `..data.batch_function`.
"""

from __future__ import annotations
