"""The order in which `--help` shows the flags of a verb that has many: the usual ones, then others by their purpose.

A flag that no theme names is under the last but one heading; what is required is always among the usual ones.
"""

from __future__ import annotations

from collections.abc import Sequence

FEW = 12
"""A verb with no more flags than these shows them in one list."""
MOST_USUAL = 10

USUAL = {
    "search": "corpus index query query_file top_k model mine threshold output method",
    "evaluate": "data model baseline suite protocols truncate_dim device output update_card",
    "prepare bitext": "source_lang target_lang tsv columns source_file target_file output license max_pairs "
    "validation_size",
    "prepare pairs": "tsv csv jsonl parquet columns lang output license decontaminate max_pairs",
    "prepare ppdb": "file output lang negatives decontaminate max_pairs",
    "prepare opusparcus": "data_dir lang output quality first negatives decontaminate max_pairs",
    "prepare comparable": "bitext output sentences share seed",
    "train-nmt": "bitext output epochs max_pairs vocab_size hidden_size batch_size learning_rate lowercase "
    "initial_model",
    "evaluate-nmt": "model bitext split num_beams max_sentences output translations update_card",
    "back-translate": "model bitext output num_beams num_return_sequences max_sentences split precision resume",
    "encode": "model input output columns normalize truncate_dim batch_size device",
    "score": "pairs output measures translation_model language_model classifier encoder language workers resume",
    "filter": "pairs output keep drop_identical one_per_reference by first sample decontaminate negatives",
    "train-classifier": "pairs output body negatives mined epochs hidden_size learning_rate seed",
    "train-tokenizer": "output kind text pairs vocabulary_size min_frequency lower_case",
    "train-encoder": "pairs output model_type dev_data epochs hidden_size initial_vectors initial_model loss "
    "max_pairs",
    "distill": "teacher text output tokenizer hidden_size epochs dev_data letters teacher_vectors max_texts",
    "tune": "pairs output dev_data data filters encoders epochs seeds one_per_reference resume",
    "analyze gates": "model output text tags tagger sentences pictures max_sentences",
    "analyze similarities": "model text output query queries neighbours vectors",
    "train-supervised": "model data output task target_column epochs learning_rate from_scratch seed",
    "train-sdae": "text pairs output hidden_size max_steps noise expansion initial_vectors max_sentences "
    "learning_rate",
    "train-bilingual-vectors": "bitext output dimension epochs lower_case vocabulary_size max_pairs",
    "train-parallel-classifier": "bitext output encoder negatives n_best epochs hidden_size lower_case max_pairs",
    "mine": "source target output encoder candidates margin threshold one_to_one gold device",
    "evaluate-mining": "pairs gold task encoder classifier margin candidates output device",
}
"""The flags that most users of a verb want, as names of fields in the order in which they are shown."""

_OF_VERBS = {
    "prepare bitext": {
        "files": "tmx gettext gettext_package gettext_plurals gettext_drop_placeholders header on_error "
        "validation_source_file validation_target_file test_source_file test_target_file",
        "which rows": "test_size hold_out_sources shuffle drop_identical min_length max_length max_length_ratio "
        "length_unit identify_languages language_certainty drop_duplicates normalize_punctuation",
    },
    "evaluate": {
        "for some suites": "split dev_split test_split positive_above both_orders seeds tasks sick_test_on_trial",
    },
}
"""Themes of one verb alone, which come before those of all."""

_OF_ALL = {
    "data": "split train_split dev_split test_split columns keep_repeated format header skip_header on_error "
    "max_pairs max_sentences max_texts max_characters max_tokens max_words max_units max_dev_pairs "
    "max_source_tokens sample sample_sentences train_size dev_size test_size dev_share test_share split_seed "
    "target_column lowest_score highest_score validation_size",
    "model": "model_type initial_model hidden_size embedding_size readout_size head_hidden_size score_hidden_size "
    "body dropout word_dropout initialization share_embeddings cell peepholes candidate_activation negative_slope "
    "bidirectional direction_merge variational_dropout variational_dropout_of output_gate pooling "
    "initial_distribution skip_unknown "
    "share_rnn score_layer from_scratch freeze_encoder ordered keep_decoder dimension letters shortest_ngram "
    "longest_ngram ngram_buckets",
    "vocabulary and word vectors": "tokenizer word_list vocab_size vocabulary_size joint_vocabulary bpe_dropout "
    "min_frequency lower_case lowercase split_contractions treebank_words initial_vectors frequency_weights "
    "frequency_constant frequency_counts fixed_vectors digits principal_components corpus_weight dampening "
    "segmentation",
    "loss": "loss margin negatives negatives_from hard_negatives mega_batch_size mega_batch_anneal scramble lambda_c "
    "lambda_w lambda_head label_smoothing embedding_penalty cosine_weight pairwise_weight matryoshka batch_neighbours "
    "window subsampling aligned_weight noise drop swap teacher_weights",
    "training": "dev_data epochs max_steps gradient_accumulation_steps optimizer dense_optimizer relative_steps "
    "learning_rate network_learning_rate warmup_steps max_grad_norm freeze_embeddings_epochs "
    "freeze_embeddings_learning_rate average_checkpoints evaluations evaluations_per_epoch",
    "expansion by definitions": "expansion expansion_use expansion_share expansion_weight expansion_words "
    "expansion_variants expansion_decontaminate",
    "search for translations": "length_penalty min_length_ratio max_length_ratio max_target_units forbid_unknown "
    "no_repeat_ngram_size lexical_table candidates_frequent candidates_per_unit candidates_from_reference",
    "decontamination": "decontaminate decontaminate_ngrams decontaminate_share",
    "computing": "batch_size device workers shard shard_size precision teacher_precision tf32 torch_compile engine "
    "ray_address ray_workers ray_cpus ray_gpus",
}
_LAST = "the run, its output and its card"
_OF_THE_RUN = "seed license url update_card overwrite resume report_to config help"


def help_groups(verb: str, fields: Sequence[str], required: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Orders the flags of a verb.

    Args:
        verb: The verb, with its kind if it has some, e.g. `prepare bitext`.
        fields: The names of its fields, and of what every verb has: `config` and `help`.
        required: Those without which it does not run.

    Returns:
        Headings, each with the names of its fields; every field is under one.
    """
    if len(fields) <= FEW + 2 or verb not in USUAL:
        last = [*_OF_ALL["computing"].split(), *_OF_THE_RUN.split()]
        # What a settings class has of those that it extends stands first in it.
        return [("flags", sorted(fields, key=lambda name: (name in last, name in _OF_THE_RUN.split())))]
    left = dict.fromkeys(fields)
    found: list[tuple[str, list[str]]] = []

    def add(title: str, names: Sequence[str]) -> None:
        taken = [name for name in names if name in left]
        for name in taken:
            del left[name]
        if taken:
            found.append((title, taken))

    usual = USUAL[verb].split()
    add("usual flags", [*(name for name in required if name not in usual), *usual])
    for themes in (_OF_VERBS.get(verb, {}), _OF_ALL):
        for title, names in themes.items():
            # In the order of the settings, which belong together there.
            known = set(names.split())
            add(title, [name for name in left if name in known])
    add("more", [name for name in left if name not in _OF_THE_RUN.split()])
    add(_LAST, list(left))
    return found
