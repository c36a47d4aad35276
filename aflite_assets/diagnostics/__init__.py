"""Statistics about data before and after filtering, as plain functions on rows. The package draws no figures."""

from aflite_assets.diagnostics.data_checks.all_checks import data_findings
from aflite_assets.diagnostics.data_checks.annotators import AnnotatorAgreement, annotator_agreement
from aflite_assets.diagnostics.data_checks.balance import class_shares_moved, label_balance
from aflite_assets.diagnostics.data_checks.repeats import input_codes, repeats_across_splits, repeats_in_train
from aflite_assets.diagnostics.data_checks.texts import SharedText, shared_texts
from aflite_assets.diagnostics.evidence.kept_vs_removed import (
    annotator_shares,
    attribute_shares,
    label_shares,
    mean_scores,
    text_lengths,
)
from aflite_assets.diagnostics.evidence.label_errors import suspects
from aflite_assets.diagnostics.evidence.neighbours import NeighbourDistances, neighbour_distances
from aflite_assets.diagnostics.evidence.removal_overlap import removal_overlap
from aflite_assets.diagnostics.evidence.similarity import class_similarities
from aflite_assets.diagnostics.evidence.unseen_adversary import UnseenAdversary, unseen_adversary
from aflite_assets.diagnostics.evidence.word_artifacts import AmongDraws, WordArtifacts, word_artifacts

__all__ = [
    "AmongDraws",
    "AnnotatorAgreement",
    "NeighbourDistances",
    "SharedText",
    "UnseenAdversary",
    "WordArtifacts",
    "annotator_agreement",
    "annotator_shares",
    "attribute_shares",
    "class_shares_moved",
    "class_similarities",
    "data_findings",
    "input_codes",
    "label_balance",
    "label_shares",
    "mean_scores",
    "neighbour_distances",
    "removal_overlap",
    "repeats_across_splits",
    "repeats_in_train",
    "shared_texts",
    "suspects",
    "text_lengths",
    "unseen_adversary",
    "word_artifacts",
]
