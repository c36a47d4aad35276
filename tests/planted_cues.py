"""Planted results of a scan: cues whose numbers are known, for the tests of verdict and report."""

from dataclasses import replace

from aflite_assets.scan.cues import ClassSize, Cue, CueProperty, Elsewhere, ScanFacts
from aflite_assets.scan.surface import SurfaceAccuracy

STOP = Cue(
    number=0,
    name="ends without a full stop (text)",
    kind="typography",
    reason="artefact",
    label="contradiction",
    rows=320,
    share_of_class=0.6,
    share_of_rest=0.1,
    precision=0.75,
    base_rate=0.4,
    balanced=0.75,
    low=0.71,
    high=0.79,
    p_value=0.002,
    elsewhere=(Elsewhere("hans", 400, "gone", 0.5, 0.45, 0.55), Elsewhere("test", 300, "holds", 0.74, 0.7, 0.78)),
)
WORD = replace(
    STOP, number=1, name="the word 'not' (text)", kind="words", reason=None, balanced=0.682, low=0.65, elsewhere=()
)
ORDER = replace(STOP, number=2, name="row number in the file (from 1) at most 500", kind="order", elsewhere=())


def scanned(*cues: Cue, spread: float = 0.4) -> ScanFacts:
    """Return the result of a scan that found these cues; `spread`: balanced accuracy of all artefacts together."""
    surface = SurfaceAccuracy(spread, spread - 0.02, spread + 0.02, 1 / 3, 40)
    classes = tuple(ClassSize(name, 400, 0.61) for name in ("entailment", "neutral", "contradiction"))
    return ScanFacts(cues, surface, classes, 1_200, 1_150, 830, ())


def cue_of(*properties: CueProperty) -> Cue:
    """Return a cue of these properties."""
    return replace(STOP, name=" and ".join(one.name for one in properties), properties=properties)
