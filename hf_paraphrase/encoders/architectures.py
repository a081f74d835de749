"""The architectures of trainable sentence encoders, with their options, and functions that make and recognize models.

`hf_paraphrase.registry.ENCODERS` lists them by name. Users can register their own model class:

    @ENCODERS.register("mine")
    class MyEncoder(PreTrainedModel): ...

Its `forward(input_ids, attention_mask)` returns `last_hidden_state` and `pooler_output`, its word vectors are the
parameter `embeddings`, and its configuration accepts `vocab_size`, `hidden_size`, `pad_token_id` and `unk_token_id`.
A saved folder includes the file that defines the class.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..artefacts.files import read_optional_json
from ..artefacts.model_loading import check_model_type
from ..errors import UsageError
from ..models.registry import MODELS, SENTENCE_ENCODERS, config_class, model_class
from ..registry import ENCODERS
from ..settings import Settings, setting

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase


HIDDEN_SIZE = 300
"""The default size of word vectors and embeddings (Wieting et al. 2017; Wieting and Gimpel 2017)."""
DROPOUTS = ("dropout", "word_dropout", "variational_dropout")
"""The settings of configurations that make training mode random."""


@dataclass(kw_only=True)
class EncoderOptions(Settings):
    """Options that only some architectures have; None means the default of the configuration."""

    GROUP: ClassVar[str] = "model"

    skip_unknown: bool | None = setting(
        "ignore unknown words unless a sentence has no others; otherwise they share one vector [default: false]", None
    )
    initial_distribution: str | None = setting(
        "random initial vectors of avg and trigram: normal with a standard deviation of 0.01, or uniform from -0.01 "
        "to 0.01, as a gru always uses [default: normal]",
        None,
        choices=["normal", "uniform"],
    )
    cell: str | None = setting(
        "recurrent cell: lstm (Wieting et al. 2017) or gru (Sjöblom et al. 2018) [default: lstm]",
        None,
        choices=["lstm", "gru"],
    )
    peepholes: bool | None = setting(
        "connect the gates of an lstm to its cell; without this it is faster [default: true]",
        None,
        only_with={"cell": ("lstm", None)},
    )
    candidate_activation: str | None = setting(
        "function of the candidate state of a gru [default: leaky_relu, as in Sjöblom et al. 2018]",
        None,
        choices=["leaky_relu", "tanh"],
        only_with={"cell": "gru"},
    )
    bidirectional: bool | None = setting("read in both directions [default: false]", None)
    variational_dropout: float | None = setting(
        "probability of dropping a component of the input or state at all steps [default: 0]",
        None,
        at_least=0,
        below=1,
    )
    variational_dropout_of: str | None = setting(
        "targets of the variational dropout of gran besides the state: all uses of word vectors (words), or their use "
        "in the network and the gate only (network) [default: words]",
        None,
        choices=["words", "network"],
        only_with="variational_dropout",
    )
    pooling: str | None = setting(
        "embedding of a recurrent encoder: its last state, or the mean of its states [default: last]",
        None,
        choices=["last", "mean"],
    )


@dataclass(frozen=True)
class Architecture:
    """An architecture of a sentence encoder.

    Attributes:
        model: A model type of :mod:`..models.registry`, or a model class of the user.
        epochs: The number of epochs in Wieting et al. (2017), section 5.2, or for others a similar effort.
        options: The names of its options in :class:`EncoderOptions`.
        words: Whether words, or the tokens of a given tokenizer, are among its tokens.
        trigrams: Whether character trigrams are among its tokens.
        own_embedding_size: Whether `embedding_size`, the size of its word vectors, may differ from `hidden_size`.
    """

    model: str | type[PreTrainedModel]
    epochs: float = 20.0
    options: tuple[str, ...] = ()
    words: bool = True
    trigrams: bool = False
    own_embedding_size: bool = False

    @property
    def model_class(self) -> type[PreTrainedModel]:
        """The model class."""
        return model_class(self.model) if isinstance(self.model, str) else self.model

    @property
    def config_class(self) -> type[PreTrainedConfig]:
        """The class of the configuration."""
        return config_class(self.model) if isinstance(self.model, str) else self.model.config_class


_AVERAGE = ("skip_unknown", "initial_distribution")
_RECURRENT = ("skip_unknown", "cell", "peepholes", "candidate_activation", "bidirectional", "variational_dropout")
AVG = Architecture("avg", options=_AVERAGE)
GRAN = Architecture("gran", 3.0, (*_RECURRENT, "variational_dropout_of"))
RECURRENT = Architecture("recurrent", 3.0, (*_RECURRENT, "pooling"), own_embedding_size=True)
TRIGRAM = Architecture("avg", options=_AVERAGE, words=False, trigrams=True)
WORD_TRIGRAM = Architecture("concatenation", trigrams=True)


def get_architecture(name: str) -> Architecture:
    """Return the architecture of a registered name; a model class of the user reads words and has no options."""
    registered = ENCODERS[name]
    if isinstance(registered, Architecture):
        return registered
    if not (isinstance(registered, type) and hasattr(registered, "config_class")):
        raise UsageError(f"the type of encoder `{name}` is not a model class", remedy="register a PreTrainedModel")
    return Architecture(registered)


def list_option_names(options: Any) -> list[str]:
    """Name the fields of a dataclass of options."""
    return [field.name for field in dataclasses.fields(options)]


def list_own_classes() -> dict[str, type[PreTrainedModel]]:
    """Return the registered model classes of users, by their model types."""
    models = [get_architecture(name).model for name in ENCODERS]
    return {model.config_class.model_type: model for model in models if not isinstance(model, str)}


def read_third_party_type(folder: Path) -> str | None:
    """Return the model type of a folder of transformers or sentence-transformers; None for our types."""
    path = folder / "config.json"
    model_type = read_optional_json(path).get("model_type")
    if model_type is None:
        # Modules of sentence-transformers need no configuration of transformers.
        files = ("modules.json",) if path.is_file() else ("modules.json", "adapter_config.json")
        return "sentence-transformers" if any((folder / file).is_file() for file in files) else None
    return None if model_type in (*MODELS, "model2vec", *list_own_classes()) else str(model_type)


def find_encoder_class(folder: Path) -> type[PreTrainedModel]:
    """Return the model class of a folder of this package or of a user's class."""
    classes = list_own_classes()
    types = [*SENTENCE_ENCODERS, *classes]
    model_type = check_model_type(folder, types, kind="sentence encoder", verb="train-encoder")
    return model_class(model_type) if model_type in SENTENCE_ENCODERS else classes[model_type]


def is_of_transformers(model: Any) -> bool:
    """Return whether the class of a model comes from transformers or from trusted code of a repository."""
    return type(model).__module__.partition(".")[0] in ("transformers", "transformers_modules") and not isinstance(
        model, tuple(list_own_classes().values())
    )


def is_own_class(model: PreTrainedModel) -> bool:
    """Return whether a user defined the class of a model; its code is then saved with the weights."""
    model_type = model.config.model_type
    is_ours = model_type in MODELS and type(model) is model_class(model_type)
    return not is_ours and not is_of_transformers(model)


def check_own_class(model: PreTrainedModel) -> None:
    """Refuse a user-defined class whose folder could not be opened again."""
    if not is_own_class(model):
        return
    if (model_type := model.config.model_type) in MODELS:
        raise UsageError(
            f"{type(model).__name__} has the model type `{model_type}` of {MODELS[model_type].model}",
            remedy=f"give it as config_class a subclass of {type(model.config).__name__} with a model_type and an "
            "__init__ of its own",
        )
    for kind in (type(model), type(model.config)):
        has_file = kind.__module__ != "__main__" and hasattr(sys.modules.get(kind.__module__), "__file__")
        if not has_file or "." in kind.__qualname__:
            what = f"{kind.__qualname__} is not at the top level of a file, so that its code cannot be saved"
            raise UsageError(what, remedy="put it into a file of its own, and import it from there")


def new_encoder(
    name: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    hidden_size: int | None = None,
    embedding_size: int | None = None,
    seed: int = 0,
    **settings: Any,
) -> PreTrainedModel:
    """Make an encoder with random weights.

    `hidden_size` is the size of the sentence embedding, or of each part of a concatenation, and `embedding_size` the
    size of the word vectors. An unset size equals the set one, and both default to 300. Settings of None keep the
    default of the configuration.
    """
    from transformers import set_seed

    architecture = get_architecture(name)
    hidden_size = hidden_size or embedding_size or HIDDEN_SIZE
    if architecture.own_embedding_size:
        settings["embedding_size"] = embedding_size
    elif embedding_size not in (None, hidden_size):
        raise ValueError(f"word vectors of {embedding_size} components cannot give embeddings of {hidden_size}")
    if architecture.model == "concatenation":
        settings |= {"vocab_sizes": tokenizer.part_sizes, "part_size": hidden_size}
    else:
        settings |= {"vocab_size": len(tokenizer), "hidden_size": hidden_size, "unk_token_id": tokenizer.unk_token_id}
    given = {name: value for name, value in settings.items() if value is not None or name == "unk_token_id"}
    try:
        config = architecture.config_class(pad_token_id=tokenizer.pad_token_id, **given)
    except ValueError as error:
        raise UsageError(str(error), remedy="change one of these settings") from error
    set_seed(seed)
    return architecture.model_class(config)
