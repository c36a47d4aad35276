"""The tables of "Increasing Robustness to Spurious Correlations using Forgettable Examples".

EACL: Yaghoobzadeh et al., "Increasing Robustness to Spurious Correlations using Forgettable Examples", EACL 2021. Where
it says two things of one number, the table has the table's, and its note the other. "+ F(BoW)" is its model trained on
all rows and then on those that the bag of words forgets.
"""

from aflite_assets.reports.papers.record import Form, PublishedTable

_SIZES_FORMS: tuple[Form, ...] = ("rows", "per cent")
_SIZES_NOTE = (
    "The sets are balanced, which the paper does not say: all sizes are multiples of the number of classes. Compare "
    "with the rows taken, not with the forgettable ones. BoW is the mean of word vectors in section 3.1, their maximum "
    "in appendix A."
)


def _sizes(
    rows: str, tested: str, bow: tuple[int, float], lstm: tuple[int, float], bert: tuple[int, float], note: str
) -> PublishedTable:
    return PublishedTable(
        "forgettables",
        "EACL 2021, Table 1",
        f"Forgettable rows of {rows}, and accuracy on {tested}",
        ("forgettable rows", "accuracy"),
        (("BoW", bow), ("BiLSTM", lstm), ("BERT-base", bert)),
        note=f"{_SIZES_NOTE} {note}",
        forms=_SIZES_FORMS,
    )


_OVERLAP_FORMS: tuple[Form, ...] = ("index", "index", "per cent", "per cent")


def _minorities(positive: str, negative: str, *values: tuple[float, ...], note: str) -> PublishedTable:
    """Of all rows and of the three weak models' ones."""
    names = ("all", "F(BoW)", "F(BiLSTM)", "F(BERT)")
    return PublishedTable(
        "minorities",
        "EACL 2021, Tables 2 and 3",
        "Mean Jaccard overlap of the two texts, and share of rows whose second text has one of not, no, doesn't, "
        "don't, never, any",
        (f"overlap, {positive}", "overlap, others", f"negation, {negative}", "negation, others"),
        tuple(zip(names, values, strict=True)),
        note=note,
        forms=_OVERLAP_FORMS,
    )


_MINORITIES_TEXT = (
    "The text says that forgettable rows of the negative class have such a word less often than the others, but for "
    "F(BERT) and FEVER"
)

MULTI_NLI_FORGETTABLES = (
    _sizes(
        "392,703 of MultiNLI", "the matched development set", (63_390, 64.0), (46_740, 69.6), (17_748, 84.5),
        "GLUE has 392,702 train rows. BERT-base's accuracy is 84.4 in Table 4.",
    ),
    _minorities(
        "entailment", "contradiction",
        (0.33, 0.22, 31.5, 10.4), (0.26, 0.30, 9.9, 11.5), (0.25, 0.28, 11.5, 11.2), (0.26, 0.26, 14.2, 12.3),
        note=f"{_MINORITIES_TEXT}; F(BiLSTM) is another exception here.",
    ),
    PublishedTable(
        "two_phase",
        "EACL 2021, Table 4",
        "BERT-base trained on MultiNLI, then on forgettable rows, and four published methods; mean and deviation over "
        "five seeds",
        ("MultiNLI matched", "HANS", "average"),
        (
            ("BERT", (84.4, 62.9, 73.7)),
            ("BERT + F(BERT), 17,748", (83.0, 68.9, 75.9)),
            ("BERT + F(BiLSTM), 46,740", (82.9, 70.4, 76.7)),
            ("BERT + F(BoW), 63,390", (83.1, 70.5, 76.8)),
            ("BERT + random, 63,390", (84.3, 63.6, 73.9)),
            ("BERT + F(HANS), about 200,000", (83.9, 69.5, 76.7)),
            ("Clark et al. 2019, reweight", (83.5, 69.2, 76.4)),
            ("Clark et al. 2019, learned mixin", (84.3, 64.0, 74.2)),
            ("Mahabadi and Henderson 2019, product of experts", (84.0, 66.5, 75.3)),
            ("He et al. 2019, DRiFt-HYPO", (84.3, 67.1, 75.7)),
            ("Utama et al. 2020, Reg-conf (hans)", (84.3, 69.1, 76.7)),
        ),
        (
            (0.1, 1.5, 0.8), (0.4, 1.4, 0.7), (0.4, 0.9, 0.5), (0.3, 0.7, 0.4), (None, None, None), (0.4, 0.9, 0.5),
            (None, None, None), (None, None, None), (None, None, None), (None, None, None), (0.1, 1.2, 0.6),
        ),
        note="F(HANS): of a model with seven features of word overlap, made for HANS. HANS with F(BoW) is at most 71.3 "
        "over five seeds. BERT has 84.5 and 63.1 in Table 7.",
    ),
    PublishedTable(
        "two_phase",
        "EACL 2021, Figure 5 and section 4.4, as said in the text",
        "Larger models, and rows that a BiLSTM forgets which reads the hypothesis alone; mean over seeds",
        ("HANS", "MultiNLI matched, hard"),
        (
            ("BERT-base", (62.9, 76.5)),
            ("BERT-base + F(BiLSTM, hypothesis only)", (None, 78.0)),
            ("BERT-large", (70.6, None)),
            ("XLNet-base", (71.7, None)),
            ("XLNet-large", (76.1, None)),
            ("XLNet-large + F(BoW)", (83.1, None)),
        ),
        note="XLNet-large + F(BoW): at most 86.8 over three seeds. On the stress tests, Adversarial NLI and the hard "
        "rows F(BoW) improves nothing, says the text, without numbers.",
    ),
    PublishedTable(
        "forgettables_alone",
        "EACL 2021, Table 7",
        "BERT-base trained on these rows alone; mean and deviation over seeds",
        ("MultiNLI matched", "HANS"),
        (
            ("F(BERT), 17,748", (49.6, 37.9)),
            ("random, 17,748", (74.7, 50.8)),
            ("F(BiLSTM), 46,740", (66.7, 54.0)),
            ("random, 46,740", (78.8, 51.3)),
            ("F(BoW), 63,390", (68.2, 55.4)),
            ("random, 63,390", (79.9, 51.8)),
            ("all", (84.5, 63.1)),
        ),
        ((0.2, 1.3), (0.4, 0.2), (0.9, 0.6), (0.4, 0.6), (0.8, 1.4), (0.4, 0.2), (0.1, 1.2)),
        note="The text gives F(BERT) 37.9 on MultiNLI, which is the table's HANS; MultiNLI is 49.6. All rows have 84.4 "
        "and 62.9 in Table 4.",
    ),
    PublishedTable(
        "by_overlap",
        "EACL 2021, Table 10",
        "MultiNLI, matched development set, by overlap of the two texts: high is over the mean, low under it",
        (
            "entailment", "entailment, high", "entailment, low", "non-entailment", "non-entailment, high",
            "non-entailment, low",
        ),
        (
            ("BERT", (84.0, 89.9, 76.0, 84.9, 85.5, 84.6)),
            ("BERT + F(BoW)", (80.2, 85.1, 73.4, 85.6, 86.9, 85.0)),
            ("BERT + F(BiLSTM)", (79.9, 85.2, 72.4, 85.6, 87.4, 84.8)),
        ),
        note="Where rows with exactly the mean belong is not said; here they are low.",
    ),
)  # fmt: skip

QQP_FORGETTABLES = (
    _sizes(
        "384,348 of QQP", "its development set", (71_116, 81.1), (76_634, 84.3), (20_498, 91.3),
        "BERT-base's accuracy is 90.9 in Table 5.",
    ),
    _minorities(
        "paraphrase", "non-paraphrase",
        (0.51, 0.34, 6.2, 4.0), (0.48, 0.49, 4.1, 4.6), (0.48, 0.50, 4.2, 4.4), (0.50, 0.50, 4.2, 4.4),
        note=f"{_MINORITIES_TEXT}. With two classes the rows that are not negative are the positive ones.",
    ),
    PublishedTable(
        "two_phase",
        "EACL 2021, Table 5",
        "BERT-base trained on QQP, then on forgettable rows, tested on 10,000 rows of QQP and on PAWS-QQP's 677; mean "
        "and deviation over seeds",
        ("QQP", "PAWS", "average"),
        (
            ("BERT", (90.9, 34.5, 62.7)),
            ("BERT + F(BoW)", (89.0, 48.8, 68.9)),
            ("BERT + F(BiLSTM)", (88.0, 47.6, 67.8)),
            ("Utama et al. 2020, BERT", (91.0, 34.3, 62.6)),
            ("Utama et al. 2020, Reg-conf (hans)", (89.1, 39.8, 64.5)),
        ),
        ((0.4, 1.5, 0.6), (0.9, 5.2, 2.2), (0.8, 4.1, 1.7), (None, None, None), (None, None, None)),
        note="The text gives BERT 91.3 on QQP and 32.2 on PAWS with reference to this table. Utama et al. print "
        "accuracies by label; the whole ones are computed from these.",
    ),
    PublishedTable(
        "two_phase",
        "EACL 2021, Table 8",
        "Larger models on QQP and PAWS, before and after rows that the bag of words forgets; mean over seeds",
        ("QQP", "PAWS"),
        (
            ("BERT-base", (90.9, 34.5)), ("BERT-base + F(BoW)", (89.0, 48.8)),
            ("BERT-large", (91.2, 36.0)), ("BERT-large + F(BoW)", (88.3, 54.4)),
            ("XLNet-base", (90.9, 37.1)), ("XLNet-base + F(BoW)", (88.2, 55.2)),
            ("XLNet-large", (89.2, 48.4)), ("XLNet-large + F(BoW)", (87.8, 65.2)),
        ),
    ),
    PublishedTable(
        "by_overlap",
        "EACL 2021, Table 11",
        "QQP, development set, by overlap of the two questions: high is over the mean, low under it",
        (
            "paraphrase", "paraphrase, high", "paraphrase, low", "non-paraphrase", "non-paraphrase, high",
            "non-paraphrase, low",
        ),
        (
            ("BERT", (90.0, 90.8, 88.9, 92.2, 85.6, 95.0)),
            ("BERT + F(BiLSTM)", (85.2, 84.9, 85.8, 93.0, 87.3, 95.4)),
            ("BERT + F(BoW)", (87.3, 87.2, 87.4, 92.6, 86.4, 95.2)),
        ),
        note="Where rows with exactly the mean belong is not said; here they are low.",
    ),
)  # fmt: skip

FEVER_FORGETTABLES = (
    _sizes(
        "242,911 of FEVER", "its development set", (76_368, 53.3), (68_406, 56.7), (21_066, 84.4),
        "BERT-base's accuracy is 86.1 in Table 6.",
    ),
    _minorities(
        "supports", "refutes",
        (0.19, 0.15, 16.4, 1.2), (0.18, 0.17, 1.6, 3.1), (0.18, 0.17, 2.9, 2.7), (0.19, 0.18, 6.3, 2.5),
        note=f"{_MINORITIES_TEXT}. In print the overlap .17 of F(BiLSTM) lacks its point.",
    ),
    PublishedTable(
        "two_phase",
        "EACL 2021, Table 6",
        "BERT-base trained on FEVER, then on forgettable rows; mean and deviation over seeds",
        ("FEVER", "Symmetric, version 1", "Symmetric, version 2"),
        (
            ("BERT", (86.1, 57.7, 64.7)),
            ("BERT + F(BoW)", (87.1, 61.0, 67.0)),
            ("BERT + F(BiLSTM)", (86.5, 61.7, 66.6)),
            ("Utama et al. 2020, BERT", (85.8, 57.9, 64.4)),
            ("Utama et al. 2020, reweighting (bigrams)", (85.5, 61.7, 66.5)),
            ("Utama et al. 2020, Reg-conf (claim)", (86.4, 60.5, 66.2)),
        ),
        ((0.3, 1.3, 1.1), (0.2, 1.4, 1.5), (0.4, 1.2, 1.0), (0.1, 1.1, 0.6), (0.3, 1.1, 1.3), (0.2, 0.4, 0.6)),
        note="BERT-base's accuracy is 84.4 in Table 1, and 87.2 in Table 9 after F(BoW).",
    ),
    PublishedTable(
        "two_phase",
        "EACL 2021, Table 9",
        "Larger models on FEVER and its Symmetric set, before and after rows that the bag of words forgets; mean over "
        "seeds",
        ("FEVER", "Symmetric, version 1"),
        (
            ("BERT-base", (86.1, 57.7)), ("BERT-base + F(BoW)", (87.2, 61.0)),
            ("BERT-large", (86.9, 59.7)), ("BERT-large + F(BoW)", (86.5, 67.8)),
            ("XLNet-base", (86.4, 63.9)), ("XLNet-base + F(BoW)", (87.5, 67.8)),
            ("XLNet-large", (88.2, 68.8)), ("XLNet-large + F(BoW)", (88.7, 75.3)),
        ),
        note="BERT-base + F(BoW) has 87.1 on FEVER in Table 6.",
    ),
)  # fmt: skip
