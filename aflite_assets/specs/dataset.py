"""Model of a dataset's YAML file. Other modules define the models of its fields, and the package `yaml` reads the
file.
"""

import re
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from aflite_assets.specs.columns import images_without_column
from aflite_assets.specs.core import CoreSpec, PlantedValues
from aflite_assets.specs.filter import compared_name
from aflite_assets.specs.models.kinds import EncoderSpec
from aflite_assets.specs.models.studies import with_studies
from aflite_assets.specs.paper_preset import with_paper_preset
from aflite_assets.specs.recipes import check_recipes
from aflite_assets.specs.refresh_settings import RefreshSpec
from aflite_assets.specs.report_settings import ReportSpec
from aflite_assets.specs.scan_settings import ScanSpec
from aflite_assets.specs.sources import CHOICE_FORMATS
from aflite_assets.wording import did_you_mean

LONGEST_SET_NAME = 64
"""Longest name of a representation, in characters, and longest name of a set that contains a representation's name."""

if TYPE_CHECKING:  # which studies are installed is known at run time alone
    _WithStudies = CoreSpec
else:
    _WithStudies = with_studies(CoreSpec, "specs.settings")


class DatasetSpec(_WithStudies):
    """Settings of one dataset: the source, the filter, the studies, and the models that evaluate the dataset."""

    distance_encoder: EncoderSpec | None = Field(
        None,
        description="an encoder that is trained on all train rows, including the warm-up rows; distances to the "
        "nearest train rows are also measured in its features",
    )
    planted: dict[str, PlantedValues] = Field(
        default_factory=dict,
        description="known shortcut rows: a mapping of an attribute column to the value or values of rows with the "
        "shortcut; the evidence then contains the precision and recall of the removal",
    )
    irrelevant: tuple[str, ...] = Field(
        (),
        description="names of attributes and feature columns that are not part of the task: if models lean on one of "
        "them, it is a shortcut (attributes in `planted` are treated the same way)",
    )
    scan: ScanSpec = Field(
        ScanSpec(), description="sets whether a run ends after the scan for cues, before any model is trained"
    )
    report: ReportSpec = ReportSpec()
    refresh: Literal["never"] | RefreshSpec = Field(
        RefreshSpec(), description="sets when a refresh processes changes; never: refreshes skip the dataset"
    )

    @model_validator(mode="before")
    @classmethod
    def _whole_questions(cls, values: object) -> object:
        """Add the settings of a preset. By default, let the filter remove all answers to a question together."""
        if not isinstance(values, dict):
            return values
        values = with_paper_preset(values)
        source, settings = values.get("source"), values.get("filter", {})
        form = source.get("format") if isinstance(source, dict) else getattr(source, "format", None)
        if form == "preference":
            values = {"answers": "compared", **values}
        if form in CHOICE_FORMATS and isinstance(settings, dict) and "remove" not in settings:
            return {**values, "filter": {**settings, "remove": "groups"}}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        splits = (*self.source.splits, *self.holdout)
        if (problem := images_without_column(self.source, self.columns.image)) is not None:
            raise ValueError(problem)
        if "train" not in self.source.splits:
            raise ValueError(f"`source` has no split named 'train' (it has {list(splits)}); rename the split to filter")
        if len(splits) < 2:
            raise ValueError(
                "`source` has only the split 'train'; add a test split, or draw one from the train rows with "
                "`holdout: {test: 0.2}`"
            )
        for split in self.holdout:
            if split in self.source.splits:
                raise ValueError(
                    f"`holdout` contains {split!r}, but `source` has a split with this name; rename one of the two"
                )
        for split in self.limit or ():
            if split not in splits:
                raise ValueError(f"`limit` contains {split!r}, which is not a split (the splits are {list(splits)})")
        for split in self.least_rows:
            if split not in self.source.splits:
                held = list(self.source.splits)
                raise ValueError(
                    f"`least_rows` contains {split!r}, but `source` has only the splits {held}; name one of them"
                )
        for name, challenge in self.challenge_sets.items():
            if challenge.source == self.source:
                challenge.check_outside_pool(name, challenge.split, self.filter)
            if name in splits:
                raise ValueError(f"`challenge_sets` contains {name!r}, which is also a split; rename the challenge set")
        if "matched" in self.train_sets:
            raise ValueError(
                "`train_sets` contains 'matched', but `random_matched` is the name of a control; choose another name"
            )
        self._check_evaluation_rows(splits)
        self._check_rank(splits)
        self._check_quarantine(splits)
        self._check_standardise()
        self._check_choices()
        if len(self.seeds) % self.filter_seeds:
            raise ValueError(
                f"`filter_seeds` is {self.filter_seeds}, but {len(self.seeds)} seeds cannot be divided evenly among "
                "so many filter runs; change `filter_seeds` or the number of `seeds`"
            )
        self._check_early_stopping(splits)
        self._check_primary(splits)
        self._check_planted()
        self._check_irrelevant()
        check_recipes(self.evaluators, {name: challenge.fine_tune for name, challenge in self.challenge_sets.items()})
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"`seeds` is {list(self.seeds)}, which repeats a seed; give every run a different seed")
        if self.annotations is not None and self.columns.annotators is not None:
            raise ValueError("`columns.annotators` and `annotations` both give annotators' labels; keep only one")
        return self

    def _check_evaluation_rows(self, splits: tuple[str, ...]) -> None:
        named = self.filter.evaluation_rows if isinstance(self.filter.evaluation_rows, dict) else {}
        others = [split for split in splits if split != "train"]
        for split in named:
            if split not in others:
                raise ValueError(
                    f"`filter.evaluation_rows` contains {split!r}, but the splits other than 'train' are {others}"
                )

    @property
    def filterings(self) -> dict[str, str]:
        """Map the name of every filtered set to its representation; sets from `filter.compare` are last."""
        own = {name: name for name in self.representations}
        return own | {compared_name(name, rank): name for rank in self.filter.compare for name in own}

    def _check_rank(self, splits: tuple[str, ...]) -> None:
        for name in self.filter.representations.keys() - self.representations.keys():
            raise ValueError(
                f"`filter.representations` contains {name!r}, which is not one of `representations` "
                f"({list(self.representations)}){did_you_mean(name, list(self.representations))}"
            )
        taken = {compared_name(name, rank) for rank in self.filter.compare for name in self.representations}
        for name in taken & self.representations.keys():
            raise ValueError(
                f"`representations` contains {name!r}, but `filter.compare` uses this name for another set; rename "
                "the representation"
            )
        for name in taken:
            if len(name) > LONGEST_SET_NAME:
                raise ValueError(
                    f"`filter.compare` creates a filtered set named {name!r}, which is longer than {LONGEST_SET_NAME} "
                    "characters; shorten the representation's name"
                )
        if self.filter.rank != "vocabulary":
            return
        if self.columns.text is None and self.source.format not in ("template_nli", *CHOICE_FORMATS):
            raise ValueError(
                f"`filter.rank` is {self.filter.rank}, but the rows have no texts because `columns.text` is not set; "
                "set `columns.text`, or remove `filter.rank`"
            )
        for split in splits:
            policy = self.filter.evaluation_rows_of(split)
            if split != "train" and policy != "kept":
                raise ValueError(
                    f"`filter.evaluation_rows` is {policy} for the split {split!r}, but `filter.rank: "
                    f"{self.filter.rank}` can remove train rows only; set `evaluation_rows: kept`, or remove "
                    "`filter.rank`"
                )

    def _check_quarantine(self, splits: tuple[str, ...]) -> None:
        for split in self.filter.quarantined_splits - set(splits):
            raise ValueError(
                f"`filter.suspected_label_errors` contains {split!r}, which is not a split (the splits are "
                f"{list(splits)})"
            )
        for split in self.filter.quarantined_splits - {"train"}:
            if self.filter.evaluation_rows_of(split) == "kept":
                raise ValueError(
                    f"`filter.suspected_label_errors` contains {split!r}, but `filter.evaluation_rows` is 'kept' for "
                    "this split, so rows of this split get no scores; remove the split, or set `evaluation_rows` to "
                    "'scored' or 'pooled' for it"
                )

    def _check_standardise(self) -> None:
        given = self.source.format in ("features", "circles") or self.columns.features is not None
        if self.standardise and not given:
            raise ValueError(
                "`standardise` is true, but the dataset has no feature vectors; remove `standardise`, or set "
                "`columns.features`"
            )

    def _check_choices(self) -> None:
        if self.source.format not in CHOICE_FORMATS:
            if self.answers == "compared":
                raise ValueError(
                    f"`answers` is 'compared', but `source.format` is {self.source.format}, which has no questions; "
                    "remove `answers`"
                )
            return
        if self.drop_duplicates:
            raise ValueError(
                "`drop_duplicates` is set, but the rows are single answers, so questions would lose answers; remove "
                "`drop_duplicates`, and delete repeated questions from the source"
            )
        if self.filter.quarantined_splits:
            raise ValueError(
                "`filter.suspected_label_errors` is 'quarantine', but the rows are single answers, so questions "
                "would lose answers; remove this setting, and use the list of suspected rows in the report"
            )
        given = sorted(self.columns.model_fields_set - {"annotators", "attributes", "allow_label_copies"})
        if given or self.labels is not None or self.unlabelled:
            named = [*(f"columns.{name}" for name in given), *(["labels"] if self.labels is not None else [])]
            raise ValueError(
                f"a source of format {self.source.format} determines texts, labels, ids and groups itself, but "
                f"{' and '.join(named) or 'unlabelled'} is set; remove this setting and name the columns in `source`"
            )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the rows' attributes: `columns.attributes` or, by default, the attributes of the source."""
        implied: tuple[str, ...] = getattr(self.source, "attributes", ())
        return self.columns.attributes if "attributes" in self.columns.model_fields_set else implied

    def _check_irrelevant(self) -> None:
        features = self.columns.features
        known = (*self.attributes, *(features if isinstance(features, tuple) else ()))
        for name in self.irrelevant:
            if name not in known and (isinstance(features, tuple) or not re.fullmatch(r"column \d+", name)):
                raise ValueError(
                    f"`irrelevant` contains {name!r}, which is neither an attribute nor a feature column (known: "
                    f"{list(known)}){did_you_mean(name, known)}; correct the name, add it to `columns.attributes`, or "
                    "write 'column 0' for the first feature in a list"
                )

    def _check_planted(self) -> None:
        known = self.attributes
        for attribute in self.planted:
            if attribute not in known:
                raise ValueError(
                    f"`planted` contains {attribute!r}, but the attributes of the rows are {list(known)}; correct the "
                    "name, or add the column to `columns.attributes`"
                )

    def _check_early_stopping(self, splits: tuple[str, ...]) -> None:
        for field in ("representations", "evaluators"):
            for name, settings in getattr(self, field).items():
                stopping = getattr(settings, "early_stopping", None)
                if stopping is None or stopping.split is None:
                    continue
                if field == "representations":
                    raise ValueError(
                        f"`representations.{name}.early_stopping.split` is {stopping.split!r}, but an encoder may see "
                        "warm-up rows only; remove `split`, so that a share of the warm-up rows is used instead"
                    )
                if stopping.split == "train" or stopping.split not in splits:
                    raise ValueError(
                        f"`evaluators.{name}.early_stopping.split` is {stopping.split!r}, which is not a split to "
                        f"validate on; name one of {[split for split in splits if split != 'train']}, or remove "
                        "`split`"
                    )

    def _check_primary(self, splits: tuple[str, ...]) -> None:
        primary = self.report.primary
        if primary is None:
            return
        if primary.evaluator not in self.evaluators:
            raise ValueError(
                f"`report.primary.evaluator` is {primary.evaluator!r}, which is not an evaluator; name one of "
                f"{list(self.evaluators)}"
            )
        tested = [test_set for test_set in (*splits, *self.challenge_sets) if test_set != "train"]
        if primary.test_set not in tested:
            raise ValueError(
                f"`report.primary.test_set` is {primary.test_set!r}, but the test sets are {tested}; name one of them"
            )
        if primary.test_set in splits and self.filter.evaluation_rows_of(primary.test_set) == "pooled":
            raise ValueError(
                f"`report.primary.test_set` is {primary.test_set!r}, but the filter removes rows of this split too, "
                "so scores on this split are not comparable; name a challenge set, or a split for which "
                "`filter.evaluation_rows` is 'kept'"
            )
