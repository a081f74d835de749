"""Jobs that apply a batch function to the rows of a data folder and write a folder of its results.

`shards.py` cuts the rows into shards and writes them, in several processes if there are enough; `ray.py` does the same
on a Ray cluster. `sharded_output.py` is the folder of the shards while one run or many make them. Start with
`..data.batch_function`, which defines batch functions.
"""

from __future__ import annotations
