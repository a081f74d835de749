from __future__ import annotations

import gzip

import polib
import pytest

from hf_paraphrase.data.sources.bitext import BitextSource
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.data.sources.translation_files import find_catalogues, read_catalogues
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.errors import InputError

MESSAGES = """
# A comment.
#: file.c:3
msgid "Open"
msgstr "Ouvrir"

#, fuzzy
msgid "Save"
msgstr "Sauf"

msgid "Close"
msgstr ""

msgctxt "menu"
msgid ""
"A long "
"message\\nin two lines"
msgstr "Un long message\\n en deux lignes"

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fichier"
msgstr[1] "%d fichiers"

#~ msgid "Old"
#~ msgstr "Vieux"
"""


def header(lang: str = "fr") -> str:
    return f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: {lang}\\n"\n\n'


def pairs_of(path, lang="fr", errors=None) -> list[tuple[str, str]]:
    rows = []
    catalogues = find_catalogues(path)
    for numbers, block in read_catalogues(catalogues, lang, "target", errors or LineErrors()):
        assert numbers.tolist() == list(range(len(rows) + 1, len(rows) + 1 + len(numbers)))
        rows += zip(block["source"].to_pylist(), block["target"].to_pylist(), strict=True)
    return rows


def written(path, text: str):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if path.suffix == ".mo":
        polib.pofile(text).save_as_mofile(str(path))
    return path


def test_messages_become_pairs_and_what_is_left_out_is_counted(tmp_path):
    errors = LineErrors()
    path = written(tmp_path / "fr.po", header() + MESSAGES)
    assert pairs_of(path, errors=errors) == [
        ("Ouvrir", "Open"),
        ("Un long message en deux lignes", "A long message in two lines"),
        ("%d fichier", "%d file"),
        ("%d fichiers", "%d files"),
    ]
    assert errors.left_out == {"fuzzy": 1, "untranslated": 1, "obsolete": 1}
    assert sorted(pairs_of(written(tmp_path / "fr.mo", path.read_text()))) == sorted(pairs_of(path))


@pytest.mark.parametrize("name", ["fr.po", "fr.mo"])
def test_compressed_catalogues_are_read_alike(tmp_path, name):
    path = written(tmp_path / name, header("") + MESSAGES)
    (tmp_path / "gz").mkdir()
    packed = tmp_path / "gz" / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "gz" / "de.po.gz").write_bytes(gzip.compress(header("de").encode()))
    assert pairs_of(packed) == pairs_of(packed.parent) == pairs_of(path)
    packed.write_bytes(gzip.compress(b"this is no catalogue\n"))
    with pytest.raises(InputError, match=rf"{name}\.gz:1: not a well-formed"):
        pairs_of(packed)


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (["eins"], [("eins", "%d files")]),
        (["soubor", "soubory", "souborů"], []),
    ],
)
def test_plural_forms_are_paired_where_there_are_two_at_most(tmp_path, forms, expected):
    body = 'msgid "%d file"\nmsgid_plural "%d files"\n' + "".join(f'msgstr[{i}] "{f}"\n' for i, f in enumerate(forms))
    assert pairs_of(written(tmp_path / "cs.po", header("cs") + "\n" + body), "cs") == expected


def test_a_folder_gives_the_catalogues_of_the_language_by_place_or_header_and_sources_before_compiled_ones(tmp_path):
    one = '\nmsgid "One"\nmsgstr "{}"\n'
    root = tmp_path / "locale"
    written(root / "fr" / "LC_MESSAGES" / "app.po", header("") + one.format("po"))
    written(root / "fr" / "LC_MESSAGES" / "app.mo", header("") + one.format("mo"))
    written(root / "fr_CA" / "LC_MESSAGES" / "app.mo", header("") + one.format("ca"))
    written(root / "de" / "LC_MESSAGES" / "app.po", header("fr") + one.format("de"))
    written(root / "other" / "fr.po", header("") + one.format("by name"))
    written(root / "other" / "messages.po", header("fr") + one.format("by header"))
    written(root / "other" / "unknown.po", header("") + one.format("unknown"))
    (root / "fr" / "LC_MESSAGES" / "notes.txt").write_text("x")
    assert sorted(source for source, _ in pairs_of(root)) == ["by header", "by name", "ca", "po"]
    assert [source for source, _ in pairs_of(root, "de")] == ["de"]
    with pytest.raises(InputError, match=r"no catalogue in fi.*fr"):
        pairs_of(root / "fr", "fi")


def test_a_malformed_catalogue_among_others_is_skipped_whole_and_counted(tmp_path):
    written(tmp_path / "fr" / "a.po", header() + '\nmsgid "One"\nmsgstr "Un"\n')
    written(tmp_path / "fr" / "b.po", "this is no catalogue\n")
    (tmp_path / "fr" / "c.po").write_bytes(b"")
    errors = LineErrors("skip")
    assert pairs_of(tmp_path, errors=errors) == [("Un", "One")]
    assert errors.count == 1
    with pytest.raises(InputError, match=r"b\.po:1: not a well-formed"):
        pairs_of(tmp_path)


@pytest.mark.parametrize(
    ("source_lang", "target_lang", "sides"), [("fr", "en", ("Ouvrir", "Open")), ("en-GB", "fr", ("Open", "Ouvrir"))]
)
def test_the_messages_of_a_catalogue_are_the_english_side(tmp_path, source_lang, target_lang, sides):
    path = written(tmp_path / "fr.po", header() + '\nmsgid "Open"\nmsgstr "Ouvrir"\n')
    source = BitextSource(gettext=str(path), source_lang=source_lang, target_lang=target_lang)
    with SourceRows(source) as rows:
        (row,) = next(rows.tables("train")).to_pylist()
    assert (row["source"], row["target"]) == sides
