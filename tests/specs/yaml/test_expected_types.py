"""tests/specs/yaml/test_expected_types.py"""

from typing import Any, Literal

import pytest

from aflite_assets.specs.core import ClassNames
from aflite_assets.specs.filter import Count
from aflite_assets.specs.models.kinds import EvaluatorSpec
from aflite_assets.specs.models.settings import Name
from aflite_assets.specs.report_settings import ReportSpec
from aflite_assets.specs.sources import Files, LabelledFolder
from aflite_assets.specs.warmup import WarmupSpec
from aflite_assets.specs.yaml.expected_types import is_count, wish_of_kind

COUNT = "must be a whole number of rows, or a share of them with a decimal point, over 0 and at most 1.0"


INDENTED = "write them below it as indented lines of `key: value`"


QUOTES = "yes/no/on/off and true/false are booleans in YAML; put it in quotes"


@pytest.mark.parametrize(
    ("place", "value", "wish"),
    [
        (str, 5, "must be text; put it in quotes"),
        (str | None, True, f"must be text; {QUOTES}"),
        (str, None, "must be text; write it there"),
        (str, [], "must be text"),
        (int, "x", "must be a whole number"),
        (int, True, "must be a whole number"),
        (float | None, [], "must be a number"),
        (bool, "maybe", "must be true or false"),
        (Files, 5, "must be text or a list of texts; put it in quotes"),
        (ClassNames, "a", "must be a list of texts; write it as a list, in [ ]"),
        (tuple[int, int], 3, "must be a list of whole numbers; write it as a list, in [ ]"),
        (tuple[Literal["a", "b"], ...], {}, "must be a list of 'a' and 'b'"),
        (Literal["rows", "groups"], "row", "must be one of 'rows', 'groups'; did you mean 'rows'?"),
        (Literal["rows", "groups"], None, "must be one of 'rows', 'groups'; write it there"),
        (float | Literal["scale"], "scal", "must be a number or one of 'scale'; did you mean 'scale'?"),
        (Count, 1.5, COUNT),
        (Count | None, "400", f"{COUNT}; write it without quotes"),
        (Count, "many", COUNT),
        (Count | Literal["auto"], "Auto", f"{COUNT}, or one of 'auto'; did you mean 'auto'?"),
        (Count | Literal["auto"], None, f"{COUNT}, or one of 'auto'; write it there"),
        (dict[Name, Count], 5, f"must be a mapping of names to {COUNT.removeprefix('must be ')}; {INDENTED}"),
        (dict[str, str | None], "a", f"must be a mapping of names to text; {INDENTED}"),
        (WarmupSpec, None, f"must be a mapping with keys among ['size', 'draw']; {INDENTED}"),
        (
            ReportSpec | None,
            [1],
            "must be a mapping with keys among ['scatter_features', 'published', 'primary', 'smallest_effect']; "
            f"{INDENTED}",
        ),
        (str | LabelledFolder, [1], "must be text or a mapping with keys among ['folder', 'labels', 'encoding']"),
        (
            EvaluatorSpec,
            "linear",
            "must be a mapping with the key 'kind', one of ['linear', 'rbf_svm', 'max_ppmi', 'huggingface_text', "
            f"'small_transformer', 'esim', 'siamese_bag', 'siamese_lstm', 'word_overlap', 'timm_image', "
            f"'fine_tuned'], and the keys that belong to it; {INDENTED}",
        ),
    ],
)
def test_wishes_say_what_may_stand_there_and_how_to_write_it(place: Any, value: Any, wish: str) -> None:
    assert wish_of_kind(place, value) == wish


def test_counts_are_numbers_of_rows_or_shares() -> None:
    assert is_count(Count | None)
    assert is_count(Count | Literal["auto"])
    assert not is_count(int)
    assert not is_count(float | Literal["scale"])
