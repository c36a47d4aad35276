"""Cues before and after are matched by their properties, and a change for the worse is not mended."""

from dataclasses import replace

import numpy as np
import pytest

from aflite_assets.fixing.comparison import compare_scans, is_mended
from aflite_assets.scan.cues import ClassSize, Cue, CueProperty, ScanResult
from aflite_assets.scan.surface import SurfaceAccuracy


def _property(name: str) -> CueProperty:
    return CueProperty("typography", f"{name} (text)", "text")


def _cue(number: int, *names: str, label: str = "b", balanced: float = 0.8, same: tuple[str, ...] = ()) -> Cue:
    numbers = (10, 0.6, 0.1, 0.8, 0.5, balanced, balanced - 0.1, balanced + 0.1, 0.001)
    properties = tuple(map(_property, names))
    same_properties = tuple(map(_property, same))
    return Cue(
        number, " and ".join(names), "typography", "artefact", label, *numbers,
        properties=properties, same_properties=same_properties,
    )  # fmt: skip


def _result(*cues: Cue, classes: int = 2) -> ScanResult:
    sizes = tuple(ClassSize(name, 50, 0.6) for name in "abc"[:classes])
    carriers = np.zeros((100, len(cues)), dtype=bool)
    sets = np.full(100, "all rows", dtype=object)
    return ScanResult(cues, None, sizes, 100, 100, 10, (), carriers, sets, np.arange(100), np.arange(100))


@pytest.mark.parametrize(
    ("after", "change"),
    [
        ((), "gone"),
        ((_cue(0, "other"),), "gone"),
        ((_cue(0, "dash", balanced=0.79),), "still there"),
        ((_cue(0, "dash", balanced=0.64),), "weaker"),
        ((_cue(0, "dash", label="a"),), "still there"),
        ((_cue(0, "other", same=("dash",)),), "still there"),
        ((_cue(0, "quote"),), "still there"),
        ((_cue(0, "dash", "other"),), "gone"),
        ((_cue(0, "dash", balanced=0.6), _cue(1, "quote", balanced=0.9)), "still there"),
    ],
)
def test_what_became_of_a_cue(after: tuple[Cue, ...], change: str) -> None:
    cue = _cue(0, "dash", same=("quote",))
    assert compare_scans(_result(cue), _result(*after), [cue])[0].change == change


def test_of_three_classes_the_class_counts() -> None:
    cue = _cue(0, "dash")
    before, after = _result(cue, classes=3), _result(_cue(0, "dash", label="a"), classes=3)
    assert [one.change for one in compare_scans(before, after, [cue])] == ["gone", "new"]


def test_of_two_classes_the_same_class_is_matched_first() -> None:
    cues = _cue(0, "dash", label="a"), _cue(1, "dash", balanced=0.7)
    compared = compare_scans(_result(*cues), _result(*cues), [cues[1]])
    assert [(one.before, one.after) for one in compared] == [(cues[1], cues[1]), (cues[0], cues[0])]


def test_chosen_cues_come_first_and_new_ones_last() -> None:
    first, second = _cue(0, "dash"), _cue(1, "quote")
    compared = compare_scans(_result(first, second), _result(first, _cue(1, "tab"), _cue(2, "bar")), [second])
    assert [(one.named.name, one.change, one.is_chosen) for one in compared] == [
        ("quote", "gone", True),
        ("dash", "still there", False),
        ("tab", "new", False),
        ("bar", "new", False),
    ]


def test_mended_means_gone_and_no_artefact_left() -> None:
    cue, other = _cue(0, "dash"), _cue(1, "quote")
    before = _result(cue, other)

    def mended(*after: Cue, surface: SurfaceAccuracy | None = None) -> bool:
        copy = replace(_result(*after), surface=surface)
        return is_mended(compare_scans(before, copy, [cue]), copy)

    assert mended()
    assert not mended(cue)
    assert not mended(replace(other, number=0))
    assert not mended(_cue(0, "tab"))
    assert mended(replace(_cue(0, "tab"), reason=None))
    assert mended(replace(_cue(0, "tab"), reason=None), replace(_cue(1, "dot"), explained_by=0))
    assert not mended(surface=SurfaceAccuracy(0.6, 0.56, 0.64, 0.5, 9))
    assert mended(surface=SurfaceAccuracy(0.56, 0.54, 0.58, 0.5, 9))
