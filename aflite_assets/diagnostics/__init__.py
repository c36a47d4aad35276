"""Statistics about data, before and after filtering: plain functions on rows. No models, no drawing, no files."""

from aflite_assets.diagnostics.balance import class_shares_moved, label_balance
from aflite_assets.diagnostics.kept_removed import attribute_shares, label_shares, mean_scores, text_lengths
from aflite_assets.diagnostics.repeats import RepeatCount, RepeatedText, repeated_texts, repeats_across_splits
from aflite_assets.diagnostics.word_artifacts import WordArtifacts, word_artifacts

__all__ = [
    "RepeatCount",
    "RepeatedText",
    "WordArtifacts",
    "attribute_shares",
    "class_shares_moved",
    "label_balance",
    "label_shares",
    "mean_scores",
    "repeated_texts",
    "repeats_across_splits",
    "text_lengths",
    "word_artifacts",
]
