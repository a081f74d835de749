"""Jobs over the rows of data folders: a batch function and a folder go in, a folder of its results comes out.

`shards.py` cuts the rows into shards and writes them, in several processes where that pays; `ray.py` does the same on
a Ray cluster. `sharded_output.py` is the folder of the shards while one run or many make them. Start with
`..data.batch_function`, which says what a function of batches is.
"""

from __future__ import annotations
