"""The bitext that the multilingual encoder learns from: words, names and help texts of packages."""

from __future__ import annotations

import gzip
import sys
from types import SimpleNamespace

import pytest

LICENCES = {True: "Creative Commons Attribution-ShareAlike 3.0", False: "GNU General Public License"}
MALLARD = '<page xmlns="http://projectmallard.org/1.0/"><title>{}</title><p>{} <gui>OK</gui>.</p>{}</page>'


def digits(number):
    """Writes a number in the digits of dictd, as its manual says: base 64, the most significant digit first."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return (digits(number // 64) if number >= 64 else "") + alphabet[number % 64]


@pytest.fixture
def packages(tmp_path):
    def dictionary(languages, entries, *, free=True):
        folder, name = tmp_path / "usr/share/dictd", f"freedict-{languages}"
        folder.mkdir(parents=True, exist_ok=True)
        text, index = "", ""
        for word, entry in {"00databaseinfo": LICENCES[free] + " " * 5000, **entries}.items():
            entry = f"{word} /ipa/ <n>\n{entry}\n"
            index += f"{word}\t{digits(len(text.encode()))}\t{digits(len(entry.encode()))}\n"
            text += entry
        (folder / f"{name}.dict.dz").write_bytes(gzip.compress(text.encode()))
        (folder / f"{name}.index").write_text(index, encoding="utf-8")

    def xml(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")

    castle = "1. {}\nbudowla\n2. {} 2.\nzamek na drzwiach\n 3.\nzamek w kurtce"
    dictionary("pol-eng", {"zamek": castle.format("castle", "lock, a, b, c, d"), "żółw": "turtle\nzwierzę"})
    dictionary("pol-ita", {"zamek": castle.format("castello", "serratura"), "żółw": "tartaruga\ninne zwierzę"})
    dictionary("ita-eng", {"gatto": "cat\nun animale"}, free=False)
    for language, day, keywords in (("en", "Monday", "dog | pet"), ("it", "lunedì", "cane | animale")):
        days = f'<days><dayWidth type="wide"><day type="mon">{day}</day></dayWidth></days>'
        xml(f"cldr/common/main/{language}.xml", f"<ldml>{days}<other>{day}</other></ldml>")
        keywords = f'<annotation cp="x">{keywords}</annotation><annotation cp="y">{"↑" * 3}</annotation>'
        xml(f"cldr/common/annotations/{language}.xml", f"<ldml><annotations>{keywords}</annotations></ldml>")
    for language, title, press in (("C", "Help", "Press"), ("it", "Aiuto", "Premi")):
        xml(f"share/help/{language}/gnome-help/a.page", MALLARD.format(title, press, ""))
        xml(f"share/help/{language}/gnome-help/b.page", MALLARD.format(title, press, "<p/>" * (language == "C")))
    for language, text in (("en-US", "Print &amp; <b>save</b>"), ("ja", "印刷 &amp; 保存")):
        same = '<p id="par_2" class="x">LibreOffice</p><p id="par_3"></p>'
        xml(f"libreoffice/help/{language}/text/a.html", f'<p id="par_1" class="x">{text}</p>{same}')
    return tmp_path


def test_words_of_one_sense_names_and_paragraphs_are_translations(load_script, packages, tmp_path, monkeypatch):
    frequencies = SimpleNamespace(
        available_languages=lambda wordlist: {"en", "it", "pl"},
        get_frequency_dict=lambda language, wordlist: {"i": 0.000102, language: 1e-8},
    )
    monkeypatch.setitem(sys.modules, "wordfreq", frequencies)
    monkeypatch.setattr(sys, "argv", ["make", "--packages", str(packages), "--output", str(tmp_path / "out")])
    load_script("studies/make_bitext").main()
    lines = {path.stem: path.read_text("utf-8").splitlines() for path in (tmp_path / "out").glob("*.tsv")}
    assert lines["it"] == [
        "castello\tcastle",
        "serratura\tlock, a, b, c",
        "cane, animale\tdog, pet",
        "lunedì\tMonday",
        "Aiuto\tHelp",
        "Premi OK.\tPress OK.",
    ]
    # Polish itself needs no third language.
    assert lines["pl"] == ["zamek\tcastle", "zamek\tlock, a, b, c", "żółw\tturtle"]
    assert len(lines) == 18 and lines["da"] == []
    assert lines["ja"] == ["印刷 & 保存\tPrint & save"]
    assert not (tmp_path / "out/frequent_th.txt").exists()
    # A word is repeated by its frequency per million words, at least once.
    assert (tmp_path / "out/frequent_en.txt").read_text("utf-8") == f"{'i ' * 99}i\ni i\nen\n"
