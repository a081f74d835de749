from __future__ import annotations

import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.mining.collections import read_collection, read_gold, write_side


def test_ids_that_were_read_as_words_are_refused_with_the_flag_that_reads_them(tmp_path):
    files = [tmp_path / "task.fr", tmp_path / "task.en"]
    for file in files:
        write_side(file, [f"{file.suffix[1:]}-1"], ["Une phrase."])
    gold = tmp_path / "task.gold"
    gold.write_text("fr-1\ten-1\n")
    source, target = (read_collection(file, "bucc") for file in files)
    assert read_gold(gold, source, target).tolist() == [[0, 0]]
    source, target = (read_collection(file, "lines") for file in files)
    with pytest.raises(InputError, match=r"task\.gold:1: the id `fr-1` is not in task\.fr .*--layout bucc"):
        read_gold(gold, source, target)
