"""The tab of paraphrases: a sentence is translated into another language and back."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .answers import answered, sentence_of, show_example
from .model_catalogue import MOST_PARAPHRASES, ModelCatalogue
from .pictures import escaped, note
from .translation_tab import NO_MODEL, shown_rows

if TYPE_CHECKING:
    import gradio

_COLUMNS = {
    "paraphrase": "sentence2",
    "translation in between": "source",
    "log-probability": "log_prob",
    "edit distance": "edit_distance",
    "overlap": "overlap_1",
    "BLEU": "bleu",
}
_SIMILARITY = {"similarity": "similarity"}
"""Only some languages have an encoder for it."""
_EXAMPLES = {"en": "Could you give me a hand with this box?", "fr": "Pourriez-vous m'aider ?"}
_LEFT_OUT = {"copies": "copies", "near_copies": "near-copies", "loops": "loops", "dissimilar": "dissimilar"}
_ONE_MODEL = (
    "a paraphrase needs a translation model into another language and one back, or one model of several languages: "
    "--models Helsinki-NLP/opus-mt-en-fr Helsinki-NLP/opus-mt-fr-en, or --models facebook/nllb-200-distilled-600M "
    "--model-source-lang eng_Latn --model-target-lang fra_Latn"
)


def add_tab(gr: gradio, tab: gradio.Tab, catalogue: ModelCatalogue) -> None:
    """Puts the components on the tab."""
    pair = round_trip(catalogue)
    if pair is None:
        gr.HTML(note(_ONE_MODEL if catalogue.translators else NO_MODEL))
        return
    example = _EXAMPLES.get(str(catalogue.models[pair[0]].languages[0]), _EXAMPLES["en"])
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

    @answered(([],))
    def on_paraphrase(there: str, back: str, text: str, most: float) -> tuple[Any, ...]:
        summary, table = paraphrased(catalogue, there, back, sentence_of(text), int(most))
        columns = _COLUMNS | (_SIMILARITY if "similarity" in table.column_names else {})
        datatypes = ["str", "str", *["number"] * (len(columns) - 2)]
        rows = shown_rows(table, columns.values())
        return summary, gr.Dataframe(value=rows, headers=list(columns), datatype=datatypes)

    inputs, outputs = [forward, backward, sentence, num], [status, listed]
    gr.on([button.click, sentence.submit], on_paraphrase, inputs, outputs, api_visibility="private")
    show_example(gr, tab, on_paraphrase, inputs, outputs)


def round_trip(catalogue: ModelCatalogue) -> tuple[str, str] | None:
    """Chooses a model into another language and one back, those for English first; None if there are none."""
    names = catalogue.translators
    languages = {name: catalogue.models[name].languages for name in names}
    trips = [(there, back) for there in names for back in names if languages[there] == languages[back][::-1]]
    known = [trip for trip in trips if None not in languages[trip[0]]]
    english = [trip for trip in known if languages[trip[0]][0] == "en"]
    several = [(name, name) for name in names if catalogue.languages.get("target_lang")]
    others = [(names[0], names[1])] if len(names) > 1 else []
    return next(iter([*english, *several, *known, *others]), None)


def paraphrased(
    catalogue: ModelCatalogue, forward: str, backward: str, sentence: str, num: int
) -> tuple[str, pa.Table]:
    """Paraphrases a sentence as the verb `paraphrase` does; returns a summary as HTML, and the pairs."""
    from ..translation.paraphraser import SENTENCES

    with catalogue.paraphraser(forward, backward) as function:
        table = pa.table({"id": ["1"], "sentence": [sentence]}, schema=SENTENCES)
        pairs, report = function.reported(table)
        pairs = pairs.slice(0, num)  # the best ones come first
        words = ["hf-paraphrase", "paraphrase", "--models", *function.models]
        words += ["--language", function.language] if function.language else []
        words += ["--pivots", *function.pivots] if function.pivots else []
        words += ["--num", str(num), "--input", "sentences.txt", "--output", "paraphrases"]
    left_out = [f"{report[name]} {word}" for name, word in _LEFT_OUT.items() if report[name]]
    summary = f"{pairs.num_rows} paraphrases from {report['candidates']} candidates"
    summary += f"; left out: {', '.join(left_out)}" if left_out else ""
    return f'{note(summary)}<code class="hfp-command">{escaped(shlex.join(words))}</code>', pairs
