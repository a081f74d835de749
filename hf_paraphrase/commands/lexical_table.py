"""`lexical-table`: how each source unit of a translation model is translated, estimated from bitext."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from ..data.parquet import read_table
from ..errors import OutputError, UsageError
from ..messages import say
from ..settings import setting
from ..translation.bitext import check_languages
from .arguments import parse


@dataclasses.dataclass
class Arguments:
    """Estimate p(target unit | source unit) from bitext, for the candidate vocabularies of back-translate."""

    model: str = setting("translation model folder, from train-nmt, whose units the table is about")
    bitext: list[str] = setting("data folders with the columns source and target, normally those it was trained on")
    output: str = setting("file for the table, e.g. lexical_table.safetensors")
    split: str = setting("split of the bitext", "train")
    iterations: int = setting("rounds of expectation maximisation", 5)
    tension: float = setting("how strongly alignments prefer the diagonal; 0 is IBM model 1", 4.0)
    translations: int = setting("translations kept of each source unit, at most", 100)
    max_words: int = setting("pairs with a longer side are left out, in words", 80)
    max_sentences: int | None = setting("use only the first so many pairs of each folder", None)
    overwrite: bool = setting("replace an existing file", False)


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    arguments = parse(Arguments, "lexical-table", argv)
    for name in ("iterations", "translations", "max_words", "max_sentences"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be 1 or more, not {value}")
    if not 0 <= arguments.tension < float("inf"):
        raise UsageError(f"--tension must be 0 or more and finite, not {arguments.tension}")
    output = Path(arguments.output)
    if output.is_dir():
        raise OutputError("the output is a folder, not a file", path=output, remedy="name a file")
    if output.exists() and not arguments.overwrite:
        raise OutputError("the output file exists", path=output, remedy="give another name, or --overwrite")
    columns = ["source", "target", "source_lang", "target_lang"]
    tables = [
        read_table(folder, arguments.split, columns).slice(0, arguments.max_sentences) for folder in arguments.bitext
    ]

    from ..translation.bitext import trainable_rows
    from ..translation.lexical_table import estimate_lexical_table
    from ..translation.loading import load_translation_model, unit_fingerprint

    model, tokenizer = load_translation_model(arguments.model, device="cpu")
    for folder in arguments.bitext:
        check_languages([arguments.model], model, folder, arguments.split)
    sources, targets, left_out = trainable_rows(pa.concat_tables(tables), max_words=arguments.max_words)
    say(f"{len(sources):,} sentence pairs ({left_out:,} empty or too long)")
    table = estimate_lexical_table(
        tokenizer(sources, add_special_tokens=False)["input_ids"],
        tokenizer(text_target=targets, add_special_tokens=False)["input_ids"],
        source_vocab_size=int(model.config.source_vocab_size),
        target_vocab_size=int(model.config.vocab_size),
        iterations=arguments.iterations,
        tension=arguments.tension,
        translations=arguments.translations,
    )
    table.save(output, units=unit_fingerprint(tokenizer))
    say(f"lexical table of {len(table.targets):,} translations: {arguments.output}")
