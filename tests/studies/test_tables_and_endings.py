"""Small parts of studies: the tables of reports, and the names of the files of a mining task."""

from __future__ import annotations

import pytest

from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.studies.mining.mined_pairs import MiningSettings
from hf_paraphrase.studies.report import Report


def test_a_table_of_a_report_has_six_digits_empty_fields_for_none_and_a_line_a_row(tmp_path):
    with Artefact(str(tmp_path / "report"), command="analyze", settings={}) as artefact:
        Report(artefact, "card").table("scores", ["name", "score"], [["a\nb\tc", 1 / 3], [None, 2]])
        written = (artefact.staging / "scores.tsv").read_text()
        artefact.finish()
    assert written == "name\tscore\na b c\t0.333333\n\t2\n"


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("news.fr", "news.en", ("dev.fr", "dev.en", "dev.gold")),
        ("my.news.fr.gz", "my.news.en.gz", ("dev.fr.gz", "dev.en.gz", "dev.gold")),
    ],
)
def test_the_files_to_tune_on_have_the_endings_of_the_collections(source, target, found):
    settings = MiningSettings(source=source, target=target, output="o", encoder="builtin", tune_on="dev")
    assert settings.tuning_files() == found
