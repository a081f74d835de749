"""The Back-translation tab, an n-best list with measures, and the Paraphrase tab, round trips of translation."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..data.schema import BITEXT, SENTENCES
from ..errors import InputError
from ..filtering.measuring import add_measures
from .answers import WITH_MODELS, escape, read_sentence, render_note, report_errors, round_cell, show_example
from .model_catalogue import MOST_PARAPHRASES, ModelCatalogue

if TYPE_CHECKING:
    import gradio

_COLUMNS = {
    "rank": "rank",
    "translation": "sentence2",
    "log-probability": "log_prob",
    "tokens": "num_tokens",
    "cost": "cost",
    "overlap": "overlap_1",
    "BLEU": "bleu",
}
"""Labels of the n-best list, and the columns of the pairs."""
_MOST_BEAMS = 50
_NO_REFERENCE = "-"
_EXAMPLES = {"en": ("The dog is sleeping.", ""), "fr": ("Le chien dort.", "The dog is sleeping.")}
NO_MODEL = "--models contains no translation model; train one with train-nmt, or a small one with quickstart"

_PARAPHRASE_COLUMNS = {
    "paraphrase": "sentence2",
    "translation in between": "source",
    "log-probability": "log_prob",
    "edit distance": "edit_distance",
    "overlap": "overlap_1",
    "BLEU": "bleu",
    "similarity": "similarity",
}
"""Labels of the list of paraphrases; the similarity is missing without an encoder for the language."""
_PARAPHRASE_EXAMPLES = {"en": "Could you give me a hand with this box?", "fr": "Pourriez-vous m'aider ?"}
_ONE_MODEL = (
    "a paraphrase needs a translation model into another language and one back, or one model of several languages: "
    "--models Helsinki-NLP/opus-mt-en-fr Helsinki-NLP/opus-mt-fr-en, or --models facebook/nllb-200-distilled-600M "
    "--model-source-lang eng_Latn --model-target-lang fra_Latn"
)


def add_translation_tab(gr: gradio, tab: gradio.Tab, catalogue: ModelCatalogue) -> None:
    """Put the components on the tab."""
    if not catalogue.translators:
        gr.HTML(render_note(NO_MODEL))
        return
    first = catalogue.models[catalogue.translators[0]]
    example, translated = _EXAMPLES.get(str(first.languages[0]), _EXAMPLES["fr"])
    with gr.Row():
        with gr.Column(scale=3):
            source = gr.Textbox(example, label="Sentence to translate", elem_id="translation-source")
            reference = gr.Textbox(
                translated, label="Its reference, for the measures", elem_id="translation-reference"
            )
        with gr.Column(scale=1):
            model = gr.Dropdown(catalogue.translators, value=first.name, label="Model", elem_id="translation-model")
            beams = gr.Slider(1, _MOST_BEAMS, 10, step=1, label="Beam width, and translations")
            translate = gr.Button("Translate", variant="primary", elem_id="translation-go")
    status = gr.HTML(elem_id="translation-status")
    kinds = ["number", "str", *["number"] * 5]
    nbest = gr.Dataframe(
        headers=list(_COLUMNS), datatype=kinds, wrap=True, interactive=False, elem_id="translation-nbest"
    )

    @report_errors(([],))
    def on_translate(name: str, text: str, given: str, width: float) -> tuple[Any, ...]:
        sentence = read_sentence(text, "the sentence to translate")
        target = read_sentence(given, "the reference") if (given or "").strip() else ""
        table = list_translations(*catalogue.translator(name), sentence, target, beams=int(width))
        without = "" if target else "; without a reference there is no overlap or BLEU"
        return render_note(f"{table.num_rows} translations{without}"), round_rows(table, _COLUMNS.values())

    inputs, outputs = [model, source, reference, beams], [status, nbest]
    gr.on([translate.click, source.submit, reference.submit], on_translate, inputs, outputs, **WITH_MODELS)
    show_example(gr, tab, on_translate, inputs, outputs)


def list_translations(model: Any, tokenizer: Any, source: str, reference: str, *, beams: int) -> pa.Table:
    """Return the n-best list of a sentence as pairs with measures."""
    from ..translation.back_translation import back_translated
    from ..translation.search_settings import BeamSearchConfig
    from ..translation.translator import Translator

    options = BeamSearchConfig(num_beams=beams, num_return_sequences=beams)
    languages = (str(getattr(model.config, name, None) or "en") for name in ("source_lang", "target_lang"))
    row = ("1", source, reference or _NO_REFERENCE, *languages)
    bitext = pa.Table.from_pylist([dict(zip(BITEXT.names, row, strict=True))], schema=BITEXT)
    pairs, report = back_translated(Translator(model, tokenizer, options), bitext)
    if not pairs.num_rows:
        raise InputError(f"no translation: {report['skipped'][0]['reason']}", remedy="type another sentence")
    return add_measures(pairs, ("cost", "overlap", "bleu") if reference else ("cost",))


def round_rows(table: pa.Table, columns: Iterable[str]) -> list[list[str | float | None]]:
    """Return columns as table rows, with numbers rounded to three digits and None for missing values."""
    nothing = [None] * table.num_rows
    present = [table.column(name).to_pylist() if name in table.column_names else nothing for name in columns]
    return [list(map(round_cell, row)) for row in zip(*present, strict=True)]


def add_paraphrase_tab(gr: gradio, tab: gradio.Tab, catalogue: ModelCatalogue) -> None:
    """Put the components on the tab."""
    pair = choose_round_trip(catalogue)
    if pair is None:
        gr.HTML(render_note(_ONE_MODEL if catalogue.translators else NO_MODEL))
        return
    example = _PARAPHRASE_EXAMPLES.get(str(catalogue.models[pair[0]].languages[0]), _PARAPHRASE_EXAMPLES["en"])
    with gr.Row():
        with gr.Column(scale=3):
            sentence = gr.Textbox(example, label="Sentence", elem_id="paraphrase-text")
            num = gr.Slider(1, MOST_PARAPHRASES, 5, step=1, label="Paraphrases, at most")
        with gr.Column(scale=1):
            forward = gr.Dropdown(catalogue.translators, value=pair[0], label="Model into another language")
            backward = gr.Dropdown(catalogue.translators, value=pair[1], label="Model back")
            button = gr.Button("Paraphrase", variant="primary", elem_id="paraphrase-go")
    status = gr.HTML(elem_id="paraphrase-status")
    listed = gr.Dataframe(wrap=True, interactive=False, elem_id="paraphrase-list")

    @report_errors(([],))
    def on_paraphrase(to_pivot: str, from_pivot: str, text: str, num: float) -> tuple[Any, ...]:
        summary, table = paraphrase_sentence(catalogue, to_pivot, from_pivot, read_sentence(text), int(num))
        columns = {label: name for label, name in _PARAPHRASE_COLUMNS.items() if name in table.column_names}
        datatypes = ["str", "str", *["number"] * (len(columns) - 2)]
        rows = round_rows(table, columns.values())
        return summary, gr.Dataframe(value=rows, headers=list(columns), datatype=datatypes)

    inputs, outputs = [forward, backward, sentence, num], [status, listed]
    gr.on([button.click, sentence.submit], on_paraphrase, inputs, outputs, **WITH_MODELS)
    show_example(gr, tab, on_paraphrase, inputs, outputs)


def choose_round_trip(catalogue: ModelCatalogue) -> tuple[str, str] | None:
    """Choose a model into another language and a model back, preferably for English; None without a pair."""
    names = catalogue.translators
    languages = {name: catalogue.models[name].languages for name in names}
    trips = [(name, back) for name in names for back in names if languages[name] == languages[back][::-1]]
    with_codes = [trip for trip in trips if None not in languages[trip[0]]]
    english = [trip for trip in with_codes if languages[trip[0]][0] == "en"]
    several = [(name, name) for name in names if catalogue.languages.get("target_lang")]
    others = [(names[0], names[1])] if len(names) > 1 else []
    return next(iter([*english, *several, *with_codes, *others]), None)


def paraphrase_sentence(
    catalogue: ModelCatalogue, forward: str, backward: str, sentence: str, num: int
) -> tuple[str, pa.Table]:
    """Paraphrase a sentence as the command `paraphrase` does; return a summary as HTML, and the pairs."""
    function = catalogue.paraphraser(forward, backward)
    pairs, report = function.process(pa.table({"id": ["1"], "sentence": [sentence]}, schema=SENTENCES))
    pairs = pairs.slice(0, num)  # the best ones come first
    words = ["hf-paraphrase", "paraphrase", "--models", *function.models]
    words += ["--language", function.language] if function.language else []
    words += ["--pivots", *function.pivots] if function.pivots else []
    words += ["--num", str(num), "--input", "sentences.txt", "--output", "paraphrases"]
    kinds = [kind for kind in ("copies", "near_copies", "loops", "dissimilar") if report[kind]]
    left_out = [f"{report[kind]} {kind.replace('_', '-')}" for kind in kinds]
    summary = f"{pairs.num_rows} paraphrases from {report['candidates']} candidates"
    summary += f"; left out: {', '.join(left_out)}" if left_out else ""
    return f'{render_note(summary)}<code class="hfp-command">{escape(shlex.join(words))}</code>', pairs
