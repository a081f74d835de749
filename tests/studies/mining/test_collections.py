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
    for file in files:
        file.write_text("Une phrase.\n")
    source, target = (read_collection(file, "lines") for file in files)
    with pytest.raises(InputError, match=r"task\.gold:1: the id `fr-1` is not in task\.fr, .*--layout bucc"):
        read_gold(gold, source, target)


def test_plain_lines_that_all_begin_with_an_id_are_refused_and_others_are_sentences(tmp_path):
    file = tmp_path / "task.fr"
    file.write_text("fr-000000001\tUne phrase.\nfr-000000002\tUne autre.\n")
    with pytest.raises(InputError, match=r"begins with an id, the first with `fr-000000001`.*--layout bucc"):
        read_collection(file, "lines")
    file.write_text("fr-000000001\tUne phrase.\nUne autre.\n")
    assert read_collection(file, "lines").sentences == ["fr-000000001\tUne phrase.", "Une autre."]
