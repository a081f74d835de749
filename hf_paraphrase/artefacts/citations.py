"""BibTeX entries of the papers that models and data sets come from, for their cards."""

from __future__ import annotations

from ..errors import HfParaphraseError

_EMNLP = "Proceedings of the {} Conference on Empirical Methods in Natural Language Processing"
_ACL = "Proceedings of the {} Annual Meeting of the Association for Computational Linguistics ({})"
_LONG = "Volume 1: Long Papers"
_LREC = "Proceedings of the {} International Conference on Language Resources and Evaluation (LREC {})"
_SEMEVAL = "Proceedings of the {} International Workshop on Semantic Evaluation (SemEval {})"

# Key: authors, title, where, year, pages, place in https://aclanthology.org/ or on arXiv.
_ENTRIES: dict[str, tuple[str, str, str, int, str, str]] = {
    "wieting-etal-2017-learning": (
        "Wieting, John and Mallinson, Jonathan and Gimpel, Kevin",
        "Learning Paraphrastic Sentence Embeddings from Back-Translated Bitext",
        _EMNLP.format(2017),
        2017,
        "274--285",
        "D17-1026",
    ),
    "wieting-gimpel-2017-revisiting": (
        "Wieting, John and Gimpel, Kevin",
        "Revisiting Recurrent Networks for Paraphrastic Sentence Embeddings",
        _ACL.format("55th", _LONG),
        2017,
        "2078--2088",
        "P17-1190",
    ),
    "wieting-etal-2016-towards": (
        "Wieting, John and Bansal, Mohit and Gimpel, Kevin and Livescu, Karen",
        "Towards Universal Paraphrastic Sentence Embeddings",
        "4th International Conference on Learning Representations (ICLR 2016)",
        2016,
        "",
        "arxiv:1511.08198",
    ),
    "tai-etal-2015-improved": (
        "Tai, Kai Sheng and Socher, Richard and Manning, Christopher D.",
        "Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks",
        "Proceedings of the 53rd Annual Meeting of the Association for Computational Linguistics and the 7th "
        "International Joint Conference on Natural Language Processing (Volume 1: Long Papers)",
        2015,
        "1556--1566",
        "P15-1150",
    ),
    "wieting-gimpel-2018-paranmt": (
        "Wieting, John and Gimpel, Kevin",
        "ParaNMT-50M: Pushing the Limits of Paraphrastic Sentence Embeddings with Millions of Machine Translations",
        _ACL.format("56th", _LONG),
        2018,
        "451--462",
        "P18-1042",
    ),
    "wieting-etal-2019-simple": (
        "Wieting, John and Gimpel, Kevin and Neubig, Graham and Berg-Kirkpatrick, Taylor",
        "Simple and Effective Paraphrastic Similarity from Parallel Translations",
        "Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics",
        2019,
        "4602--4608",
        "P19-1453",
    ),
    "hill-etal-2016-learning": (
        "Hill, Felix and Cho, Kyunghyun and Korhonen, Anna",
        "Learning Distributed Representations of Sentences from Unlabelled Data",
        "Proceedings of the 2016 Conference of the North American Chapter of the Association for Computational "
        "Linguistics: Human Language Technologies",
        2016,
        "1367--1377",
        "N16-1162",
    ),
    "sjoblom-etal-2018-paraphrase": (
        'Sj{\\"o}blom, Eetu and Creutz, Mathias and Aulamo, Mikko',
        "Paraphrase Detection on Noisy Subtitles in Six Languages",
        "Proceedings of the 2018 EMNLP Workshop W-NUT: The 4th Workshop on Noisy User-generated Text",
        2018,
        "64--73",
        "W18-6109",
    ),
    "bahdanau-etal-2015-neural": (
        "Bahdanau, Dzmitry and Cho, Kyunghyun and Bengio, Yoshua",
        "Neural Machine Translation by Jointly Learning to Align and Translate",
        "3rd International Conference on Learning Representations (ICLR 2015)",
        2015,
        "",
        "arxiv:1409.0473",
    ),
    "sennrich-etal-2016-neural": (
        "Sennrich, Rico and Haddow, Barry and Birch, Alexandra",
        "Neural Machine Translation of Rare Words with Subword Units",
        _ACL.format("54th", _LONG),
        2016,
        "1715--1725",
        "P16-1162",
    ),
    "kudo-2018-subword": (
        "Kudo, Taku",
        "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword Candidates",
        _ACL.format("56th", _LONG),
        2018,
        "66--75",
        "P18-1007",
    ),
    "creutz-lagus-2002-unsupervised": (
        "Creutz, Mathias and Lagus, Krista",
        "Unsupervised Discovery of Morphemes",
        "Proceedings of the ACL-02 Workshop on Morphological and Phonological Learning",
        2002,
        "21--30",
        "W02-0603",
    ),
    "creutz-2018-open": (
        "Creutz, Mathias",
        "Open Subtitles Paraphrase Corpus for Six Languages",
        _LREC.format("Eleventh", 2018),
        2018,
        "",
        "L18-1218",
    ),
    "ganitkevitch-etal-2013-ppdb": (
        "Ganitkevitch, Juri and Van Durme, Benjamin and Callison-Burch, Chris",
        "PPDB: The Paraphrase Database",
        "Proceedings of the 2013 Conference of the North American Chapter of the Association for Computational "
        "Linguistics: Human Language Technologies",
        2013,
        "758--764",
        "N13-1092",
    ),
    "pavlick-etal-2015-ppdb": (
        "Pavlick, Ellie and Rastogi, Pushpendre and Ganitkevitch, Juri and Van Durme, Benjamin and Callison-Burch, "
        "Chris",
        "PPDB 2.0: Better Paraphrase Ranking, Fine-Grained Entailment Relations, Word Embeddings, and Style "
        "Classification",
        "Proceedings of the 53rd Annual Meeting of the Association for Computational Linguistics and the 7th "
        "International Joint Conference on Natural Language Processing (Volume 2: Short Papers)",
        2015,
        "425--430",
        "P15-2070",
    ),
    "coster-kauchak-2011-simple": (
        "Coster, William and Kauchak, David",
        "Simple English Wikipedia: A New Text Simplification Task",
        "Proceedings of the 49th Annual Meeting of the Association for Computational Linguistics: Human Language "
        "Technologies",
        2011,
        "665--669",
        "P11-2117",
    ),
    "agirre-etal-2012-semeval": (
        "Agirre, Eneko and Cer, Daniel and Diab, Mona and Gonzalez-Agirre, Aitor",
        "SemEval-2012 Task 6: A Pilot on Semantic Textual Similarity",
        "*SEM 2012: The First Joint Conference on Lexical and Computational Semantics",
        2012,
        "385--393",
        "S12-1051",
    ),
    "marelli-etal-2014-sick": (
        "Marelli, Marco and Menini, Stefano and Baroni, Marco and Bentivogli, Luisa and Bernardi, Raffaella and "
        "Zamparelli, Roberto",
        "A SICK Cure for the Evaluation of Compositional Distributional Semantic Models",
        _LREC.format("Ninth", 2014),
        2014,
        "216--223",
        "L14-1314",
    ),
    "xu-etal-2015-semeval": (
        "Xu, Wei and Callison-Burch, Chris and Dolan, Bill",
        "SemEval-2015 Task 1: Paraphrase and Semantic Similarity in Twitter (PIT)",
        _SEMEVAL.format("9th", 2015),
        2015,
        "1--11",
        "S15-2001",
    ),
    "dolan-etal-2004-unsupervised": (
        "Dolan, Bill and Quirk, Chris and Brockett, Chris",
        "Unsupervised Construction of Large Paraphrase Corpora: Exploiting Massively Parallel News Sources",
        "COLING 2004: Proceedings of the 20th International Conference on Computational Linguistics",
        2004,
        "350--356",
        "C04-1051",
    ),
    "cer-etal-2017-semeval": (
        "Cer, Daniel and Diab, Mona and Agirre, Eneko and Lopez-Gazpio, I{\\~n}igo and Specia, Lucia",
        "SemEval-2017 Task 1: Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation",
        _SEMEVAL.format("11th", 2017),
        2017,
        "1--14",
        "S17-2001",
    ),
    "kanerva-etal-2021-finnish": (
        "Kanerva, Jenna and Ginter, Filip and Chang, Li-Hsin and Rastas, Iiro and Skantsi, Valtteri and "
        'Kilpel{\\"a}inen, Jemina and '
        "Kupari, Hanna-Mari and Saarni, Jenna and Sev{\\'o}n, Maija and Tarkka, Otto",
        "Finnish Paraphrase Corpus",
        "Proceedings of the 23rd Nordic Conference on Computational Linguistics (NoDaLiDa)",
        2021,
        "288--298",
        "2021.nodalida-main.29",
    ),
    "conneau-kiela-2018-senteval": (
        "Conneau, Alexis and Kiela, Douwe",
        "SentEval: An Evaluation Toolkit for Universal Sentence Representations",
        _LREC.format("Eleventh", 2018),
        2018,
        "",
        "L18-1269",
    ),
    "gregoire-langlais-2017-bucc": (
        "Gr{\\'e}goire, Francis and Langlais, Philippe",
        "BUCC 2017 Shared Task: a First Attempt Toward a Deep Learning Framework for Identifying Parallel Sentences "
        "in Comparable Corpora",
        "Proceedings of the 10th Workshop on Building and Using Comparable Corpora",
        2017,
        "46--50",
        "W17-2509",
    ),
    "gouws-etal-2015-bilbowa": (
        "Gouws, Stephan and Bengio, Yoshua and Corrado, Greg",
        "BilBOWA: Fast Bilingual Distributed Representations without Word Alignments",
        "Proceedings of the 32nd International Conference on Machine Learning",
        2015,
        "748--756",
        "arxiv:1410.2455",
    ),
    "zweigenbaum-etal-2017-overview": (
        "Zweigenbaum, Pierre and Sharoff, Serge and Rapp, Reinhard",
        "Overview of the Second BUCC Shared Task: Spotting Parallel Sentences in Comparable Corpora",
        "Proceedings of the 10th Workshop on Building and Using Comparable Corpora",
        2017,
        "60--67",
        "W17-2512",
    ),
}


def bibtex(*keys: str) -> str:
    """Writes the BibTeX entries of some papers as one Markdown code block.

    Args:
        *keys: Keys as in the ACL Anthology, e.g. `wieting-etal-2017-learning`; each paper once, in their order.

    Raises:
        HfParaphraseError: For a key that is not known.
    """
    entries = "\n\n".join(_entry(key) for key in dict.fromkeys(keys))
    return f"```bibtex\n{entries}\n```"


def _entry(key: str) -> str:
    if key not in _ENTRIES:
        raise HfParaphraseError(f"no citation `{key}`", remedy=f"one of {', '.join(_ENTRIES)}")
    authors, title, place, year, pages, link = _ENTRIES[key]
    address = f"https://arxiv.org/abs/{link[6:]}" if link.startswith("arxiv:") else f"https://aclanthology.org/{link}"
    fields = {"author": authors, "title": title, "booktitle": place, "year": str(year), "pages": pages, "url": address}
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@inproceedings{{{key},", *lines, "}"])
