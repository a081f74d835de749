"""The command `train-nmt`: a bitext in, the folder of a translation model out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..artefacts.card_metadata import Measurement
from ..artefacts.files import quiet_transformers, read_optional_json
from ..artefacts.fsspec_path import to_path
from ..artefacts.hub_models import model_folder
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import recipe, setting
from ..training.run import TrainingRun, TrainingRunSettings, run_on_main_process

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from .bitext import BitextSides
    from .tokenized_bitext import ArrowRows
    from .trainer import TranslationTrainer


_FIXED = ("hidden_size", "embedding_size", "initialization", "share_embeddings")
"""Settings of the model's configuration that a run with an initial model takes over from it."""
_DEV_SPLIT = "validation"
"""The split for choosing the checkpoint."""
_POSITIONS = 1_024
"""Positions of encoder and decoder of a new transformer; RNNsearch has no limit."""
_MAX_DEV_WORDS = 10_000
"""Maximum number of words of a dev sentence that is translated."""
LEARNING_RATES = {"adam": 1e-3, "adadelta": 1.0}
"""The optimizers, with their default learning rates for RNNsearch."""
_TRANSFORMER_RATES = {"new": 5e-4, "initial": 5e-5}
"""Adam's default learning rates for a transformer with random weights, and for a trained one."""


@dataclass(kw_only=True)
class TranslationTrainingSettings(TrainingRunSettings):
    """Train a translation model on bitext: RNNsearch (Wieting et al. 2017), a transformer, or a model from the Hub."""

    bitext: list[str] = setting(
        "data folders with the columns source and target, from `prepare bitext`; several are mixed, a folder named "
        "twice counts twice, and the first one has the dev set",
        path=True,
        dataset=True,
    )
    initial_model: str | None = setting(
        "a translation model to continue from: one from train-nmt, or any sequence-to-sequence model of transformers "
        "(Marian, mBART, NLLB, M2M100, T5); its tokens, casing and sizes override the flags",
        None,
        path=True,
    )
    model_source_lang: str | None = setting(
        "source language by its code in a multilingual initial model [default: the bitext's]",
        None,
        only_with="initial_model",
    )
    model_target_lang: str | None = setting(
        "target language by its code in a multilingual model [default: the bitext's]", None, only_with="initial_model"
    )
    task_prefix: str | None = setting(
        "text before every source, as T5 models need it [default: the prefix for the languages]",
        None,
        only_with="initial_model",
    )
    architecture: str = setting(
        "architecture of a new model: rnn_search (a GRU encoder-decoder with attention), or transformer (Marian's)",
        "rnn_search",
        choices=["rnn_search", "transformer"],
    )
    num_layers: int = setting(
        "layers of a transformer's encoder, and of its decoder",
        3,
        at_least=1,
        only_with={"architecture": "transformer"},
    )
    num_heads: int = setting(
        "attention heads of a transformer", 8, at_least=1, only_with={"architecture": "transformer"}
    )
    vocab_size: int = setting(
        "number of BPE tokens, of a joint vocabulary or of each language",
        8_000,
        at_least=1,
        at_most=10_000_000,
        formerly="vocabulary_size",
    )
    joint_vocabulary: bool = setting(
        "one vocabulary for source and target; otherwise --no-share-embeddings is needed",
        True,
        only_with={"architecture": "rnn_search"},
    )
    lower_case: bool = setting(
        "lower-case source and target, also in pairs that are made with the model later",
        False,
        formerly="lowercase",
    )
    hidden_size: int = setting("size of the GRU states (paper: 1000), or of a transformer", 512, at_least=2)
    embedding_size: int = setting("size of the word embeddings of RNNsearch (paper: 620)", 320, at_least=1)
    dropout: float | None = setting(
        "dropout (paper: 0) [default: 0.3; 0.1 for a new transformer, its own for an initial one]",
        None,
        at_least=0,
        below=1,
    )
    label_smoothing: float = setting("probability spread over all subwords (paper: 0)", 0.1, at_least=0, below=1)
    initialization: str = setting(
        "initial weights: reference (the paper's, normal and small) or xavier (Glorot's, which learn faster)",
        "xavier",
        choices=["reference", "xavier"],
    )
    share_embeddings: bool = setting(
        "one matrix for source, target and output embeddings (paper: false)",
        True,
        only_with={"architecture": "rnn_search"},
    )
    epochs: float = setting("passes over the training pairs", 20.0, above=0)
    batch_size: int = setting("sentence pairs per batch and process", 80, at_least=1)
    gradient_accumulation_steps: int = setting("batches per update", 1, at_least=1)
    optimizer: str = setting(
        "Adam with warm-up and cosine decay, or the paper's Adadelta (ρ 0.95, ε 1e-6) with a constant rate",
        "adam",
        choices=list(LEARNING_RATES),
    )
    learning_rate: float | None = setting(
        "peak learning rate [default: 0.001; 5e-4 for a new transformer, 5e-5 for an initial one; 1 for Adadelta]",
        None,
        above=0,
    )
    warmup_steps: int | None = setting(
        "steps of linear warm-up of Adam [default: 400, or a tenth of the run if that is shorter]", None, at_least=0
    )
    freeze_embeddings: bool = setting(
        "do not train the word embeddings (second stage of Wieting et al. 2017)", False, only_with="initial_model"
    )
    evaluations: int = setting("number of dev BLEU scores (greedy) and checkpoints", 20, at_least=1)
    max_words: int = setting("leave out pairs with more words than this in a sentence", 80, at_least=1)
    max_units: int | None = setting("maximum subwords of a sentence, like --max-words (paper: 50)", None, at_least=1)
    max_dev_pairs: int = setting("dev pairs used during training", 1_000, at_least=1)
    precision: str = setting(
        "precision; auto: bf16 if the hardware supports it", "auto", choices=["auto", "bf16", "fp32"]
    )

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if self.architecture == "transformer" and self.initial_model is not None:
            problem = "--architecture transformer makes a new model, not one from --initial-model"
            raise UsageError(problem, remedy="leave out --architecture or --initial-model")
        if self.hidden_size % 2:
            raise UsageError(f"--hidden-size {self.hidden_size} is odd", remedy="give an even number, for maxout")
        if self.architecture == "transformer" and self.hidden_size % self.num_heads:
            problem = f"--hidden-size {self.hidden_size} is no multiple of --num-heads {self.num_heads}"
            raise UsageError(problem, remedy="give a multiple")
        if not self.joint_vocabulary and self.share_embeddings:
            raise UsageError(
                "separate vocabularies cannot share embeddings", remedy="give --no-share-embeddings as well"
            )

    def fill_in(self) -> None:
        """Fill in the default dropout and learning rate of the model."""
        kind = "new" if self.architecture == "transformer" else None
        if self.initial_model is not None and not _is_rnn_search(self.initial_model):
            kind = "initial"
        if self.dropout is None and kind != "initial":
            self.dropout = 0.1 if kind == "new" else 0.3
        if self.learning_rate is None:
            is_adam = self.optimizer == "adam"
            self.learning_rate = _TRANSFORMER_RATES[kind] if kind and is_adam else LEARNING_RATES[self.optimizer]


@recipe(TranslationTrainingSettings)
def train_nmt(settings: TranslationTrainingSettings) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Train a translation model on bitext, with the weights of the best dev BLEU at the end.

    The gradient of the mean loss of a batch is clipped; the reference code clips the gradient of the sum to norm 1.

    Returns:
        The model, opened from its folder, and its tokenizer.
    """
    settings.fill_in()
    inputs = [*settings.bitext, *([settings.initial_model] if settings.initial_model is not None else [])]
    with TrainingRun(settings, command="train-nmt", inputs=inputs) as run:
        if not run.is_finished:
            _train(settings, run)
    log(f"translation model saved to {settings.output}")
    log(f"Use it with: AutoModelForSeq2SeqLM.from_pretrained({settings.output!r}) after `hf_paraphrase.register()`")

    from .loading import load_translation_model

    return load_translation_model(settings.output)


def _is_rnn_search(folder: str) -> bool:
    """Return whether a model folder contains an RNNsearch model."""
    settings = read_optional_json(model_folder(folder, any_type=True) / "config.json")
    return settings.get("model_type") == "rnn_search"


def _train(settings: TranslationTrainingSettings, run: TrainingRun) -> None:
    from .bitext import COLUMNS, clean_rows, languages_of, open_bitext

    dev_table = open_bitext(settings.bitext[0], _DEV_SPLIT).read(COLUMNS, stop=settings.max_dev_pairs)
    folders = {folder: open_bitext(folder, "train") for folder in dict.fromkeys(settings.bitext)}
    languages = languages_of(list(folders.values()))
    initial = None if settings.initial_model is None else _initial_model(settings, settings.initial_model, languages)

    from transformers import set_seed

    from ..artefacts.weights import check_finite
    from .tokenized_bitext import ArrowRows, write_texts, write_tokens

    moses = settings.architecture == "rnn_search" and (initial is None or initial[0].config.model_type == "rnn_search")
    dev = clean_rows(dev_table, max_words=_MAX_DEV_WORDS, moses=moses)
    if not dev.sources:
        problem = f"the split `{_DEV_SPLIT}` has no pairs of two texts"
        raise InputError(problem, path=settings.bitext[0], remedy="give another --bitext")
    work = run.begin() / "bitext"
    bitexts = [folders[folder] for folder in settings.bitext]

    def clean() -> int:
        work.mkdir(exist_ok=True)
        return write_texts(work / "texts.arrow", bitexts, max_words=settings.max_words, moses=moses)

    left_out = run_on_main_process(clean)
    texts = ArrowRows(work / "texts.arrow")
    log(f"{len(texts):,} training pairs ({left_out:,} empty or too long), {len(dev.sources):,} dev pairs")
    set_seed(settings.seed)
    model, tokenizer = initial or _new_model(settings, texts, languages)
    prefix = getattr(model.config, "prefix", None) or ""
    options: dict[str, Any] = {"max_tokens": settings.max_units, "prefix": prefix}
    too_long = run_on_main_process(lambda: write_tokens(work / "tokens.arrow", texts, tokenizer, **options))
    bitext = ArrowRows(work / "tokens.arrow")
    if too_long:
        log(f"{too_long:,} pairs have too many subwords and are left out")
    name = "RNNsearch" if model.config.model_type == "rnn_search" else model.config.model_type
    log(f"{name} {languages[0]}→{languages[1]}: {model.num_parameters():,} parameters, {len(tokenizer):,} subwords")
    trainer = _trainer(settings, run, model, tokenizer, bitext, dev)
    run.train(trainer)
    check_finite(model)
    if run.writes:
        counts = {"training_pairs": len(bitext), "pairs_left_out": left_out + too_long, "bf16": trainer.args.bf16}
        _write(settings, run, trainer, counts)


def _new_model(settings: TranslationTrainingSettings, texts: ArrowRows, languages: tuple[str, str]) -> tuple[Any, Any]:
    """Train the tokenizer on a bitext and make a model with random weights."""
    from itertools import chain

    from ..models.configurations import RnnSearchConfig
    from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
    from ..tokenization.subword import train_bpe_tokenizer, train_separate_bpe_tokenizer

    tokenizer: Any
    sources, targets = (chain.from_iterable(texts.batches(side)) for side in ("source", "target"))
    if settings.joint_vocabulary:
        tokenizer = train_bpe_tokenizer(chain(sources, targets), settings.vocab_size, lowercase=settings.lower_case)
    else:
        tokenizer = train_separate_bpe_tokenizer(sources, targets, settings.vocab_size, lowercase=settings.lower_case)
    common = {
        "vocab_size": len(tokenizer),
        "source_lang": languages[0],
        "target_lang": languages[1],
        "decoder_start_token_id": tokenizer.bos_token_id,
        **{f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")},
    }
    if settings.architecture == "transformer":
        return _new_transformer(settings, common), tokenizer
    config = RnnSearchConfig(
        source_vocab_size=None if settings.joint_vocabulary else tokenizer.source_vocab_size,
        tie_word_embeddings=settings.share_embeddings,
        lowercase=settings.lower_case,
        **common,
        **{name: getattr(settings, name) for name in ("dropout", "label_smoothing", *_FIXED)},
    )
    return RnnSearchForConditionalGeneration(config), tokenizer


def _new_transformer(settings: TranslationTrainingSettings, common: dict[str, Any]) -> PreTrainedModel:
    """Make a Marian model with random weights."""
    from transformers import MarianConfig, MarianMTModel

    sizes = {"layers": settings.num_layers, "attention_heads": settings.num_heads, "ffn_dim": 4 * settings.hidden_size}
    config = MarianConfig(
        d_model=settings.hidden_size,
        max_position_embeddings=_POSITIONS,
        dropout=settings.dropout,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        forced_eos_token_id=None,
        init_std=settings.hidden_size**-0.5,
        **{f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()},
        **common,
    )
    config.lowercase = settings.lower_case
    return MarianMTModel(config)


def _initial_model(settings: TranslationTrainingSettings, folder: str, languages: tuple[str, str]) -> tuple[Any, Any]:
    """Open the model to continue from, with the dropout and the label smoothing of this run."""
    from .loading import load_translation_model

    model: Any
    given = [None if code == "und" else code for code in languages]
    model, tokenizer = load_translation_model(
        folder,
        device="cpu",
        source_lang=settings.model_source_lang or given[0],
        target_lang=settings.model_target_lang or given[1],
        task_prefix=settings.task_prefix,
    )
    if model.config.model_type == "rnn_search":
        model.config.label_smoothing = settings.label_smoothing
    if settings.dropout is not None:
        names = [name for name in ("dropout", "dropout_rate") if hasattr(model.config, name)]
        if not names:
            raise UsageError(f"{folder} has no dropout to set", remedy="leave out --dropout")
        setattr(model.config, names[0], settings.dropout)
        # Its layers have read the configuration already.
        for module in model.modules():
            if isinstance(getattr(module, "dropout", None), float):
                module.dropout = settings.dropout
            elif type(module).__name__ == "Dropout":
                module.p = settings.dropout
    return model, tokenizer


def _trainer(
    settings: TranslationTrainingSettings,
    run: TrainingRun,
    model: Any,
    tokenizer: PreTrainedTokenizerFast,
    bitext: ArrowRows,
    dev: BitextSides,
) -> TranslationTrainer:
    import torch
    from transformers import Seq2SeqTrainingArguments

    from ..training.devices import is_bf16
    from .trainer import TranslationTrainer

    is_adadelta = settings.optimizer == "adadelta"
    # A fraction of all steps; the Trainer would read 1 as every step.
    interval = min(1 / settings.evaluations, 1 - 1e-9)
    is_rnn_search = model.config.model_type == "rnn_search"
    arguments = run.arguments(
        Seq2SeqTrainingArguments,
        # RNNsearch smooths its labels itself.
        label_smoothing_factor=0.0 if is_rnn_search else settings.label_smoothing,
        gradient_accumulation_steps=settings.gradient_accumulation_steps,
        lr_scheduler_type="constant" if is_adadelta else "cosine",
        warmup_steps=0 if is_adadelta else settings.warmup_steps or 0,
        optim="adamw_torch_fused",
        max_grad_norm=1.0,
        bf16=is_bf16(settings.precision, settings.device),
        eval_strategy="steps",
        eval_steps=interval,
        save_strategy="steps",
        save_steps=interval,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="bleu",
        greater_is_better=True,
        logging_steps=50,
        remove_unused_columns=False,
        accelerator_config={"even_batches": False},
        ddp_find_unused_parameters=False,
    )
    if settings.freeze_embeddings:  # Jean et al. 2015, section 3.3
        tables = [model.get_input_embeddings(), *([model.encoder.embeddings] if is_rnn_search else [])]
        for module in tables:
            module.requires_grad_(False)
    return TranslationTrainer(
        model,
        arguments,
        bitext,
        dev,
        tokenizer,
        default_warmup=settings.warmup_steps is None and not is_adadelta,
        optimizer=(torch.optim.Adadelta, {"lr": settings.learning_rate, "rho": 0.95, "eps": 1e-6})
        if is_adadelta
        else None,
    )


def _write(
    settings: TranslationTrainingSettings, run: TrainingRun, trainer: TranslationTrainer, counts: dict[str, Any]
) -> None:
    """Write the model with its record and its card."""
    import torch

    model: Any = trainer.model
    tokenizer: Any = trainer.processing_class
    history = trainer.state.log_history
    # The Trainer keeps the first of equal scores.
    best = max((entry for entry in history if "eval_bleu" in entry), key=lambda entry: entry["eval_bleu"])
    # A resumed run counts from its checkpoint.
    seconds = max((entry["train_runtime"] for entry in history if "train_runtime" in entry), default=0.0)
    log(f"best dev BLEU (greedy) {best['eval_bleu']:.2f} at epoch {best['epoch']:.2f}; {seconds / 60:.1f} minutes")
    is_rnn_search = model.config.model_type == "rnn_search"
    if is_rnn_search or settings.initial_model is None:
        model.generation_config.update(num_beams=5, max_length=256, length_penalty=1.0, early_stopping=False)
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        # The settings of the last call differ if a run was resumed after its last evaluation.
        backend.no_truncation()
        backend.no_padding()
    with quiet_transformers():
        model.to(dtype=torch.float32).save_pretrained(run.folder)
        tokenizer.save_pretrained(run.folder)
    results = {"dev_bleu": best["eval_bleu"], "best_epoch": best["epoch"], **counts, "train_seconds": seconds}
    recorded = settings.record() | {"warmup_steps": int(trainer.args.warmup_steps)}
    initial = settings.initial_model
    if initial is not None:
        names = [name for name in (*_FIXED, "vocab_size") if hasattr(model.config, name)]
        recorded |= {name: getattr(model.config, name) for name in names}
        recorded["lower_case"] = bool(getattr(model.config, "lowercase", False))
        recorded["joint_vocabulary"] = not hasattr(tokenizer, "source_tokenizer")
    bitexts = " + ".join(to_path(folder).name for folder in settings.bitext)
    shown = {**recorded, "bitext": bitexts, "initial_model": to_path(initial).name if initial else None}
    measured = Measurement(
        task="translation",
        dataset=settings.bitext[0],
        split=_DEV_SPLIT,
        metric="sacrebleu",
        value=best["eval_bleu"],
        name="BLEU (greedy; it chose the checkpoint)",
        task_name="Translation",
    )
    run.write(
        results=results,
        template="rnn_search",
        card={"config": model.config, "settings": shown, "results": results},
        measurements=[measured],
        settings=recorded,
    )
