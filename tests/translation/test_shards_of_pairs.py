from __future__ import annotations

import pytest

from hf_paraphrase.data.schema import BACK_TRANSLATED
from hf_paraphrase.errors import UsageError
from hf_paraphrase.translation.shards import ShardFiles, Share, check_number_of_shards, number_of_shards


def test_the_shares_of_the_processes_are_counted_with_what_is_done(tmp_path):
    files = ShardFiles(tmp_path, number_of_shards(17, 4))
    for index in (0, 4):
        files.write(index, BACK_TRANSLATED.empty_table(), {"pairs": 0})
    assert files.share(17, 4) == Share(17, frozenset({0, 4}), 5)
    assert files.share(17, 4, rank=0, world_size=3) == Share(8, frozenset({0}), 4)
    assert files.share(17, 4, rank=1, world_size=3) == Share(5, frozenset({4}), 1)
    assert files.share(17, 4, rank=2, world_size=3) == Share(4, frozenset(), 0)
    assert files.share(17, 4, rank=6, world_size=7) == Share(0, frozenset(), 0)


@pytest.mark.parametrize(("rows", "size", "count"), [(1, 5, 1), (5, 5, 1), (6, 5, 2), (99_999, 1, 99_999)])
def test_shards_are_counted_up(rows, size, count):
    assert number_of_shards(rows, size) == count


def test_more_shards_than_names_are_refused_with_the_size_that_will_do():
    check_number_of_shards(99_999, 1)
    check_number_of_shards(30_000_000, 301)
    with pytest.raises(UsageError, match="100,000 shards of 100,000 sentences, more than 99,999") as caught:
        check_number_of_shards(100_000, 1)
    assert caught.value.remedy == "--shard-size 2 or more"
    check_number_of_shards(100_000, 2)
