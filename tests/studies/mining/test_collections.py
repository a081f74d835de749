from __future__ import annotations

import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.mining.collections import TaskPart, read_collection, read_gold, write_side


def test_ids_that_were_read_as_words_are_refused_with_the_flag_that_reads_them(tmp_path):
    files = [tmp_path / "task.fr", tmp_path / "task.en"]
    for file in files:
        write_side(file, [f"{file.suffix[1:]}-1", f"{file.suffix[1:]}-2"], ["Une phrase.", " "])
    gold = tmp_path / "task.gold"
    gold.write_text("fr-1\ten-1\nfr-1\ten-1\n")
    source, target = (read_collection(file, "bucc") for file in files)
    assert len(source) == 1 and read_gold(gold, source, target).tolist() == [[0, 0]]
    source, target = (read_collection(file, "lines") for file in files)
    with pytest.raises(InputError, match=r"task\.gold:1: the id `fr-1` is not in task\.fr, .*--layout bucc"):
        read_gold(gold, source, target)
    write_side(files[0], ["fr-1", "fr-1"], ["Une phrase.", "Une autre."])
    with pytest.raises(InputError, match="the id `fr-1` comes more than once"):
        read_collection(files[0], "bucc")


def test_codes_of_languages_in_the_names_of_a_task_may_have_hyphens(tmp_path):
    for ending in ("pt-BR", "zh-Hant", "gold"):
        (tmp_path / f"pt-BR-zh-Hant.test.{ending}").write_text("1\t1\n")
    part = TaskPart.of_task(str(tmp_path / "pt-BR-zh-Hant"), "test")
    assert [path.suffix for path in part.files] == [".pt-BR", ".zh-Hant", ".gold"] and part.gold.tolist() == [[0, 0]]
    with pytest.raises(InputError, match="not a pair of languages"):
        TaskPart.of_task(str(tmp_path / "nowhere"), "test")
