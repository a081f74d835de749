"""The settings of a search: to build an index, to ask one, or to mine paraphrases."""

from __future__ import annotations

from dataclasses import dataclass

from ...artefacts.hub_models import BUILTIN
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import UsageError
from ...settings import flag, is_given, seed_setting, setting
from ...training.devices import DeviceSettings


@dataclass(kw_only=True)
class SearchSettings(DeviceSettings):
    """Find sentences by meaning.

    Build an index: --corpus FILE --output INDEX. Search it: --index INDEX --query TEXT. Mine paraphrases:
    --index INDEX --mine --output PAIRS. Add sentences: --index INDEX --add FILE. A small corpus needs no index folder:
    --corpus FILE --query TEXT. Beside --corpus, --model DIR names another encoder than the built-in one. Two encoders
    side by side: --model A --compare B --corpus FILE --query TEXT, or --index A --compare B --query TEXT.
    """

    model: str | None = setting(
        "folder of a sentence encoder, which encodes the corpus; by default builtin, the one that is installed with "
        "this package; with --index it encodes the queries, and must be the encoder that the index was built with "
        "(the index holds a copy that is used by default)",
        None,
        path=True,
    )
    corpus: str | None = setting(
        f"the sentences: a text file, one a line, {PLAIN_OR_COMPRESSED}, or a data folder",
        None,
        path=True,
    )
    columns: list[str] = setting(
        "columns of the data folder to read, separated by commas or spaces; by default sentence, text, sentence1 and "
        "sentence2, as far as there are",
        [],
    )
    split: str | None = setting("split of the data folder to read [default: train]", None)
    keep_repeated: bool = setting("keep a sentence that comes several times as often in the index", False)
    index: str | None = setting("an index folder that this command made", None, path=True)
    add: str | None = setting(
        "with --index: sentences to add to it, as for --corpus; what it has is not encoded again", None, path=True
    )
    remove: str | None = setting("with --index: sentences to take out of it, as for --corpus", None, path=True)
    query: list[str] = setting("one or more sentences, in quotes, whose nearest neighbours are printed", [])
    query_file: str | None = setting(
        "a text file of such sentences, one a line",
        None,
        names=["--query-file", "--queries"],
        path=True,
    )
    top_k: int | None = setting(
        "neighbours of each query [default: 10]", None, at_least=1, names=["--top-k", "--neighbours"]
    )
    compare: str | None = setting(
        "with queries: a second encoder (with --corpus) or a second index (with --index), printed beside the first",
        None,
        path=True,
    )
    format: str | None = setting(
        "layout of the neighbours: tsv = query, rank, cosine, position in the corpus, sentence; jsonl; markdown; by "
        "default tsv, with --compare markdown",
        None,
        choices=["tsv", "jsonl", "markdown"],
    )
    mine: bool = setting("write all pairs of sentences of the index that reach --threshold to --output", False)
    threshold: float | None = setting(
        "with --mine: least cosine of a pair, above 0 to 1 [default: 0.8]", None, above=0, at_most=1
    )
    max_pairs: int | None = setting(
        "with --mine: how many pairs to keep at most, those of the greatest cosine [default: 1000000]",
        None,
        at_least=1,
    )
    identical: str | None = setting(
        "keep or drop neighbours and pairs that are the same text but for case and spacing; by default neighbours are "
        "kept and pairs dropped",
        None,
        choices=["keep", "drop"],
    )
    method: str | None = setting(
        "exact = compare with every sentence; approximate = with those in the nearest of many lists; "
        "by default exact for a new index, and approximate for one that was built so",
        None,
        choices=["exact", "approximate"],
    )
    lists: int | None = setting(
        "approximate, when building: how many lists; by default 4 times the root of the sentences, at most 2,048",
        None,
        at_least=1,
    )
    probes: int | None = setting(
        "approximate: how many lists a query reads (when mining: a list is compared with); by default what the index "
        "was built with, a sixteenth of the lists but at least 8",
        None,
        at_least=1,
    )
    output: str | None = setting("the index folder, or with --mine the data folder of pairs, to make", None)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    seed: int | None = seed_setting("approximate, when building: seed of the lists' centroids [default: 0]", None)
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Checks that the settings fit together."""
        super().check()
        queries, changes = bool(self.query or self.query_file), (self.add or self.remove) is not None
        has_index, has_output, has_model = (item is not None for item in (self.index, self.output, self.model))
        works, compares = not queries and not changes, self.compare is not None
        rules = (
            ((self.corpus is not None) == has_index, "give either --corpus or --index"),
            (self.query and self.query_file, "give --query or --query-file, not both"),
            (queries and self.mine, "give queries or --mine, not both"),
            (changes and (queries or self.mine), "change the index first, and search it by another command"),
            (
                changes and (not has_index or has_output or has_model),
                "--add and --remove change the index that --index names, with the encoder that it holds",
            ),
            (queries and has_output, "neighbours are printed: leave --output out, or build the index first"),
            (works and not has_output, "name the folder to make with --output, or give --query"),
            (works and not self.mine and has_index, "nothing to do with the index: give --query, --mine or --add"),
            (compares and not queries, "--compare needs --query or --query-file"),
            (compares and has_index and has_model, "two indexes use the encoders that they hold: leave --model out"),
            (compares and self.format not in (None, "markdown"), f"two indexes are not printed as {self.format}"),
        )
        wrong = next((message for is_wrong, message in rules if is_wrong), None) or self._misplaced(queries)
        if wrong is not None:
            raise UsageError(f"search: {wrong}", remedy="see hf-paraphrase search --help")
        if any(not text.strip() for text in self.query):
            raise UsageError("search: a --query is empty", remedy="give a sentence")
        if self.corpus is not None and self.model is None:
            self.model = BUILTIN

    def _misplaced(self, queries: bool) -> str | None:
        """Finds a flag that would have no effect, and its purpose."""
        corpus, changes = self.corpus is not None, self.add is not None or self.remove is not None
        lists = corpus and self.method == "approximate"
        rules = (
            (("columns", "split"), corpus or changes, "for reading a --corpus"),
            (("keep_repeated",), corpus or self.add is not None, "for reading a --corpus"),
            (("lists", "seed"), lists, "for building an index with --method approximate"),
            (("probes",), self.method != "exact" and (lists or not (corpus or changes)), "for the approximate method"),
            (("method",), not changes, "for searching an index, or building one"),
            (("top_k", "format"), queries, "for queries"),
            (("threshold", "max_pairs"), self.mine, "for --mine"),
            (("identical",), queries or self.mine, "for queries and --mine"),
            (("overwrite",), self.output is not None, "for an --output"),
        )
        for names, allowed, purpose in rules:
            for name in names:
                if not allowed and is_given(self, name):
                    return f"{flag(name)} is {purpose}"
        return None
