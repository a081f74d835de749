from __future__ import annotations

import pytest

from hf_paraphrase import DataFolder, prepare_bitext

CATALOGUE = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: fr\\n"

msgid "Open"
msgstr "Ouvrir"
"""


@pytest.mark.parametrize(
    ("source_lang", "target_lang", "sides"), [("fr", "en", ("Ouvrir", "Open")), ("en-GB", "fr", ("Open", "Ouvrir"))]
)
def test_the_messages_of_a_catalogue_are_the_english_side(tmp_path, source_lang, target_lang, sides):
    (tmp_path / "po").mkdir()
    (tmp_path / "po" / "fr.po").write_text(CATALOGUE, encoding="utf-8")
    languages = {"source_lang": source_lang, "target_lang": target_lang}
    prepare_bitext(gettext=str(tmp_path / "po"), output=str(tmp_path / "bitext"), **languages)
    (row,) = DataFolder(tmp_path / "bitext").table().to_pylist()
    assert (row["source"], row["target"]) == sides and {name: row[name] for name in languages} == languages
