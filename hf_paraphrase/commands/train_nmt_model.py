"""The model that `train-nmt` starts from: a new one, or one that was trained before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from .train_nmt import Arguments


def new_model(
    arguments: Arguments, sources: Sequence[str], targets: Sequence[str], languages: tuple[str, str]
) -> tuple[Any, Any]:
    """Learns the units of a bitext and makes a model of random weights for them."""
    from ..models.configuration_rnn_search import RnnSearchConfig
    from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
    from ..tokenization.subword import train_bpe_tokenizer, train_separate_bpe_tokenizer

    tokenizer: Any
    if arguments.joint_vocabulary:
        tokenizer = train_bpe_tokenizer([*sources, *targets], arguments.vocab_size, lowercase=arguments.lowercase)
    else:
        tokenizer = train_separate_bpe_tokenizer(sources, targets, arguments.vocab_size, lowercase=arguments.lowercase)
    config = RnnSearchConfig(
        vocab_size=len(tokenizer),
        source_vocab_size=None if arguments.joint_vocabulary else tokenizer.source_vocab_size,
        hidden_size=arguments.hidden_size,
        embedding_size=arguments.embedding_size,
        dropout=arguments.dropout,
        word_dropout=arguments.word_dropout,
        label_smoothing=arguments.label_smoothing,
        initialization=arguments.initialization,
        share_embeddings=arguments.share_embeddings,
        tie_word_embeddings=arguments.share_embeddings,
        lowercase=arguments.lowercase,
        source_lang=languages[0],
        target_lang=languages[1],
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
    )
    return RnnSearchForConditionalGeneration(config), tokenizer


def check_initial_model(folder: str, languages: tuple[str, str]) -> None:
    """Checks, before anything is written, that a run on bitext of these languages can go on from a model.

    Raises:
        InputError: If it translates from or to another language.
        ModelError: If it is no translation model.
    """
    from ..artefacts.model_loading import check_model_type
    from ..models.configuration_rnn_search import RnnSearchConfig

    check_model_type(folder, ["rnn_search"], kind="translation model", verb="train-nmt")
    config = RnnSearchConfig.from_pretrained(folder)
    if (config.source_lang, config.target_lang) != languages:
        raise InputError(
            f"this model translates {config.source_lang}→{config.target_lang}, the bitext is {'→'.join(languages)}",
            path=folder,
            remedy="give a model of the same two languages",
        )


def initial_model(folder: str, arguments: Arguments) -> tuple[Any, Any]:
    """Opens the model to go on from, with the dropouts and the label smoothing of this run.

    Raises:
        ModelError: If it is damaged.
    """
    from ..artefacts.model_loading import load_model_folder
    from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration

    names = ("dropout", "word_dropout", "label_smoothing")
    settings = {name: getattr(arguments, name) for name in names}
    return load_model_folder(folder, RnnSearchForConditionalGeneration, **settings)


def taken_over(config: Any, tokenizer: Any) -> dict[str, Any]:
    """Returns the settings that a run has from the model it went on from, to be recorded as they were."""
    names = ("hidden_size", "embedding_size", "initialization", "share_embeddings", "lowercase", "vocab_size")
    return {
        **{name: getattr(config, name) for name in names},
        "joint_vocabulary": not hasattr(tokenizer, "source_tokenizer"),
    }
