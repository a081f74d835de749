"""The tables of reports."""

from __future__ import annotations

from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.studies.report import Report


def test_a_table_of_a_report_has_six_digits_empty_fields_for_none_and_a_line_a_row(tmp_path):
    with Artefact(str(tmp_path / "report"), command="analyze", settings={}) as artefact:
        Report(artefact, "card").table("scores", ["name", "score"], [["a\nb\tc", 1 / 3], [None, 2]])
        written = (artefact.staging / "scores.tsv").read_text()
        artefact.finish()
    assert written == "name\tscore\na b c\t0.333333\n\t2\n"
