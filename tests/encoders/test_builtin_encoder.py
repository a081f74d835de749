from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from safetensors import safe_open
from tiny_encoders import write_average

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.artefacts import hub_models
from hf_paraphrase.artefacts.provenance import fingerprint, inherited_metadata
from hf_paraphrase.commands import main

TEXTS = ["The dog is there.", "a", "", "He has a dog ."]


@pytest.fixture
def builtin(artefacts, tmp_path, monkeypatch):
    """Replaces the built-in encoder by a small int8 encoder, in an empty working directory."""
    monkeypatch.setitem(hub_models.BUILTIN_FOLDERS, "builtin", artefacts["int8"])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return artefacts["int8"]


def test_what_is_called_builtin_in_the_working_directory_does_not_take_its_place(builtin, tmp_path):
    write_average(tmp_path / "here" / "builtin", ["w1", "w2"], hidden_size=3)
    expected = SentenceEncoder.from_pretrained(builtin).encode(TEXTS)
    assert expected.any()
    for encoder in (SentenceEncoder.from_pretrained(), SentenceEncoder("builtin")):
        np.testing.assert_array_equal(encoder.encode(TEXTS), expected)
    (tmp_path / "text").write_text("\n".join(TEXTS) + "\n")
    source = str(tmp_path / "text")
    assert main(["encode", "--input", source, "--output", "vectors.npy"]) == 0
    np.testing.assert_array_equal(np.load("vectors.npy"), expected)
    assert main(["search", "--corpus", source, "--output", "index"]) == 0
    record = json.loads((tmp_path / "here" / "index" / "provenance.json").read_text())
    assert record["inputs"][0]["name"] == "builtin" and record["inputs"][0]["sha256"] == fingerprint(builtin)


# ----- the encoders of the package


@pytest.mark.parametrize(("name", "largest"), [("builtin", 12_000_000), ("multilingual", 36_000_000)])
def test_a_builtin_encoder_is_small_whole_and_says_where_it_comes_from(name, largest, tmp_path):
    folder = hub_models.BUILTIN_FOLDERS[name]
    wanted = ("config.json", "model.safetensors", "tokenizer_config.json", "README.md", "provenance.json", "LICENSE")
    assert {*wanted} <= {path.name for path in folder.iterdir()}
    with zipfile.ZipFile(tmp_path / "like_a_wheel.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    assert (tmp_path / "like_a_wheel.zip").stat().st_size <= largest
    assert "en" in inherited_metadata(folder)["language"]
    with safe_open(folder / "model.safetensors", framework="np") as weights:
        assert weights.get_slice("packed_embeddings").get_dtype() == "U8"
    assert json.loads((folder / "provenance.json").read_text())["command"].startswith("hf-paraphrase ")


TRANSLATIONS = """
The dog sleeps in the garden. | Open the file in another window. | Yesterday we were in Berlin.
Pes spí na zahradě. | Otevřete soubor v jiném okně. | Včera jsme byli v Berlíně.
Der Hund schläft im Garten. | Öffnen Sie die Datei in einem anderen Fenster. | Gestern waren wir in Berlin.
Koira nukkuu puutarhassa. | Avaa tiedosto toisessa ikkunassa. | Eilen olimme Berliinissä.
Le chien dort dans le jardin. | Ouvrez le fichier dans une autre fenêtre. | Hier, nous étions à Berlin.
الكلب ينام في الحديقة. | افتح الملف في نافذة أخرى. | كنا أمس في برلين.
犬は庭で眠っています。 | 別のウィンドウでファイルを開いてください。 | 昨日私たちはベルリンにいました。
개가 정원에서 자고 있다. | 다른 창에서 파일을 여십시오. | 어제 우리는 베를린에 있었다.
สุนัขนอนหลับอยู่ในสวน | เปิดไฟล์ในหน้าต่างอื่น | เมื่อวานเราอยู่ที่เบอร์ลิน
Köpek bahçede uyuyor. | Dosyayı başka bir pencerede açın. | Dün Berlin'deydik.
狗在花园里睡觉。 | 在另一个窗口中打开文件。 | 昨天我们在柏林。
"""
# The encoder was trained on Russian texts of programs and on commands only.
RUSSIAN = """
Select the font of the text. | Open the file in another window. | Delete the empty rows of the table.
Выберите шрифт текста. | Откройте файл в другом окне. | Удалите пустые строки таблицы.
"""


@pytest.mark.parametrize("text", [TRANSLATIONS, RUSSIAN])
def test_the_multilingual_encoder_finds_translations(text):
    encoder = SentenceEncoder.from_pretrained("multilingual")
    english, *others = [line.split(" | ") for line in text.strip().split("\n")]
    for texts in others:
        assert encoder.similarity(texts, english).argmax(1).tolist() == [0, 1, 2], texts


def test_the_builtin_encoder_knows_exact_names_and_numbers():
    told = "Zyrkon Mbeki-Halloran won 48,317 votes."
    same, other = "48,317 votes for Zyrkon Mbeki-Halloran.", "Quentin Oyelaran-Stubbs won 21,906 votes."
    cosines = SentenceEncoder.from_pretrained().similarity(told, [same, other])[0]
    assert cosines[0] > cosines[1] + 0.2


@pytest.mark.real_data
def test_the_builtin_encoder_is_as_good_as_its_card_says(real_data_dir):
    from hf_paraphrase.encoders.dev_sets.scorer import dev_scorer

    scores = dev_scorer(real_data_dir / "sts")(SentenceEncoder.from_pretrained().encode)
    assert 77.5 < scores["dev_mean"] < 78.1
