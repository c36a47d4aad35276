"""The tables of "Adversarial Filters of Dataset Biases".

ICML: Le Bras et al., "Adversarial Filters of Dataset Biases", ICML 2020. ICLR: the submission of the same title to
ICLR 2020. In the ICML text the rows of Table 4 stand under exchanged headings: its own text, and Table 2 of the ICLR
submission, give the numbers under "QNLI" to MultiNLI and the other way round, and so do the tables here.
"""

from aflite_assets.reports.papers.record import PublishedTable

SNLI_ZERO_SHOT = PublishedTable(
    "zero_shot",
    "ICML 2020, Table 1",
    "RoBERTa-large trained on SNLI, zero-shot; mean and deviation over 5 seeds",
    (
        "HANS lexical overlap", "HANS subsequence", "HANS constituent", "Diagnostics knowledge", "Diagnostics logic",
        "Diagnostics predicate-argument structure", "Diagnostics lexical semantics", "Stress competence",
        "Stress distraction", "Stress noise",
    ),
    (
        ("full, 550k", (88.4, 28.2, 21.7, 51.8, 57.8, 72.6, 65.7, 77.9, 73.5, 79.8)),
        ("random, 182k", (56.6, 19.6, 13.8, 56.4, 53.9, 71.2, 65.6, 68.4, 73.0, 78.6)),
        ("filtered (RoBERTa), 182k", (94.1, 46.3, 38.5, 53.9, 58.7, 69.9, 66.5, 79.1, 72.0, 79.5)),
    ),
    (
        (2.2, 3.4, 7.1, 1.6, 1.7, 1.3, 1.9, 2.5, 2.9, 0.8),
        (14.7, 5.6, 2.9, 0.8, 1.5, 1.1, 1.7, 3.0, 3.0, 0.4),
        (3.5, 6.0, 15.2, 1.6, 1.2, 0.9, 1.7, 1.0, 1.8, 0.4),
    ),
    note="HANS: non-entailment rows of each heuristic alone.",
)  # fmt: skip

SNLI_FINE_TUNED = PublishedTable(
    "fine_tuned",
    "ICML 2020, Table 2",
    "RoBERTa-large trained on SNLI, then fine-tuned on each round of Adversarial NLI",
    ("round 1", "round 2", "round 3"),
    (("full, 550k", (58.5, 48.3, 50.1)), ("filtered (RoBERTa), 182k", (65.1, 49.1, 52.8))),
    note="Compares with evaluators of kind fine_tuned on the rounds of Adversarial NLI, and with no zero-shot number.",
)

SNLI_IN_DISTRIBUTION = PublishedTable(
    "in_distribution",
    "ICML 2020, Table 3; single pass: section 4.2",
    "SNLI, development set; a lower threshold than for Table 1",
    (
        "full, 550k", "random, 92k", "filtered (ESIM+GloVe), 138k", "filtered (BERT), 109k", "filtered (RoBERTa), 92k",
        "difference (RoBERTa, points)",
    ),
    (
        ("ESIM+ELMo", (88.7, 86.0, 61.5, 54.2, 51.9, -36.8)),
        ("BERT", (91.3, 87.6, 74.7, 61.8, 57.0, -34.3)),
        ("RoBERTa", (92.6, 88.3, 78.9, 71.4, 62.6, -30.0)),
        ("RoBERTa, single pass", (None, None, None, None, 72.1, None)),
        ("Max-PPMI", (54.5, 52.0, 41.1, 41.5, 41.9, -12.6)),
        ("BERT, hypothesis only", (71.5, 70.1, 52.3, 46.4, 48.4, -23.1)),
        ("RoBERTa, hypothesis only", (72.0, 70.4, 53.6, 49.5, 48.5, -23.5)),
        ("human", (88.1, 88.1, 82.3, 80.3, 77.8, -10.3)),
    ),
    note="The difference is filtered (RoBERTa) minus full; ours is full minus filtered. Single pass: trained on such a "
    "set of the same size; on which development rows it was tested is not said.",
)  # fmt: skip

_TABLE_4 = "ICML 2020, Table 4, under the heading of the other dataset; assigned as in its text and ICLR Table 2"
_TABLE_4_COLUMNS = ("full", "filtered (RoBERTa)", "difference (points)")
_TABLE_4_NOTE = "The difference is filtered minus full; ours is full minus filtered."

MULTI_NLI = PublishedTable(
    "in_distribution",
    _TABLE_4,
    "MultiNLI, matched development set",
    _TABLE_4_COLUMNS,
    (
        ("BERT", (86.6, 55.8, -30.8)),
        ("RoBERTa", (90.3, 66.2, -24.1)),
        ("BERT, hypothesis only", (59.7, 43.2, -16.5)),
        ("RoBERTa, hypothesis only", (60.3, 44.4, -15.9)),
    ),
    note=_TABLE_4_NOTE,
)

QNLI = PublishedTable(
    "in_distribution",
    _TABLE_4,
    "QNLI, development set",
    _TABLE_4_COLUMNS,
    (
        ("BERT", (92.0, 63.5, -28.5)),
        ("RoBERTa", (93.7, 77.7, -16.0)),
        ("BERT, answer only", (62.6, 56.6, -6.0)),
        ("RoBERTa, answer only", (63.9, 59.4, -4.5)),
    ),
    note=_TABLE_4_NOTE,
)

IMAGENET_A = PublishedTable(
    "zero_shot",
    "ICML 2020, Table 5",
    "Top-1 on ImageNet-A",
    ("EfficientNet-B5", "EfficientNet-B7"),
    (
        ("full", (16.5, 20.6)),
        ("random, 40 %", (5.9, 8.5)),
        ("filtered (EfficientNet-B7), 40 %", (7.2, 10.4)),
    ),
    note="Full is over twice as large as the other two.",
)

IMAGENET = PublishedTable(
    "in_distribution",
    "ICML 2020, Table 6",
    "Top-1 on the ImageNet validation set; RandAugment, filtered to 40 %",
    ("full", "random, 40 %", "filtered (EfficientNet-B7)", "difference (points)"),
    (
        ("EfficientNet-B0", (76.3, 69.6, 50.2, -26.1)),
        ("EfficientNet-B3", (81.7, 75.1, 57.3, -24.4)),
        ("EfficientNet-B5", (83.7, 78.6, 62.2, -21.5)),
        ("EfficientNet-B7", (84.4, 78.8, 63.5, -20.9)),
        ("ResNet-34", (78.4, 65.9, 46.9, -31.5)),
        ("ResNet-50", (79.2, 68.9, 50.1, -29.1)),
        ("ResNet-101", (80.1, 70.1, 52.2, -27.9)),
        ("ResNet-152", (80.6, 71.0, 53.3, -27.3)),
    ),
    note="The difference is filtered minus full; ours is full minus filtered.",
)

IMAGENET_TOP_5 = PublishedTable(
    "top_k",
    "ICLR 2020 submission, Table 4",
    "Top-1 and top-5 on the ImageNet validation set; AutoAugment, filtered to 20 %",
    ("full, top-1", "full, top-5", "random 20 %, top-1", "random 20 %, top-5", "filtered, top-1", "filtered, top-5"),
    (
        ("EfficientNet-B0", (76.3, 93.2, 58.5, 81.2, 18.1, 48.1)),
        ("EfficientNet-B2", (79.8, 94.9, 60.9, 82.8, 20.7, 53.1)),
        ("EfficientNet-B4", (82.6, 96.3, 64.4, 85.8, 23.3, 58.8)),
        ("EfficientNet-B7", (84.4, 97.1, 73.8, 90.8, 24.5, 60.6)),
        ("ResNet-34", (78.4, 94.4, 51.8, 74.3, 11.1, 30.2)),
        ("ResNet-50", (79.2, 94.7, 53.2, 75.5, 12.2, 30.2)),
        ("ResNet-101", (80.1, 95.4, 55.6, 77.5, 12.3, 32.1)),
        ("ResNet-152", (80.6, 95.5, 56.5, 78.2, 13.2, 33.8)),
    ),
    note="Not the filtered set of the ICML paper, which keeps twice as many images.",
)
