"""What a scan found in sentences: the first line, and what the numbers of a cue mean. They are not escaped."""

from aflite_assets.scan.cues import Cue, ScanResult
from aflite_assets.wording import counted


def headline(result: ScanResult) -> str:
    """Return in one sentence what was found."""
    if not result.can_tell:
        return (
            f"Cannot tell: of {counted(result.rows)} no class has enough rows, and enough rows outside of it, to test "
            "a cue on rows that it was not chosen on."
        )
    tested = f"{counted(result.properties, 'property').replace('propertys', 'properties')}"
    if result.artefacts:
        return f"{_found(result.artefacts, 'artefact')} {_strongest(result.artefacts)}."
    if result.is_spread and result.surface is not None:
        return (
            f"No single artefact tells the label, but all together do: {percent(result.surface.balanced)} balanced "
            f"accuracy, where chance is {percent(result.surface.chance)}."
        )
    if result.candidates:
        return (
            f"No artefact found among {tested}; {_found(result.candidates, 'candidate cue', begins=False)} "
            f"and may be part of the task {_strongest(result.candidates)}."
        )
    return f"Nothing found: none of {tested} tells a class by itself."


def _found(cues: tuple[Cue, ...], noun: str, *, begins: bool = True) -> str:
    """Count the cues by themselves; those that tell nothing more beside a stronger cue are not counted."""
    number = max(sum(cue.explained_by is None for cue in cues), 1)
    verb = "tells" if number == 1 else "tell"
    return f"{'Found ' if begins else ''}{counted(number, noun)} {'that ' if begins else ''}{verb} the label"


def _strongest(cues: tuple[Cue, ...]) -> str:
    cue = cues[0]
    name = "" if sum(one.explained_by is None for one in cues) <= 1 else "the strongest is "
    return f"({name}“{cue.name}” for class “{cue.label}”, {percent(cue.balanced)} balanced accuracy, chance 50 %)"


def cue_sentence(cue: Cue) -> str:
    """Return what a cue's numbers mean."""
    return (
        f"{percent(cue.share_of_class)} of the rows of “{cue.label}” carry it, against {percent(cue.share_of_rest)} of "
        f"the others; {percent(cue.precision)} of its {counted(cue.rows)} are “{cue.label}”, against "
        f"{percent(cue.base_rate)} of all rows."
    )


def surface_sentence(result: ScanResult) -> str:
    """Return how much all artefacts together tell, or an empty string without any."""
    one = result.surface
    if one is None:
        return ""
    return (
        f"Surface alone, all artefacts in one linear model: {percent(one.balanced)} balanced accuracy "
        f"[{percent(one.low)}, {percent(one.high)}], chance {percent(one.chance)}."
    )


def reach_sentence(result: ScanResult) -> str:
    """Return how weak a cue these rows would show, or an empty string if they show none."""
    reach = [one for one in result.classes if one.detectable is not None]
    if not reach:
        return ""
    best, worst = min(one.detectable or 1 for one in reach), max(one.detectable or 1 for one in reach)
    ends = percent(best) if percent(best) == percent(worst) else f"{percent(best)} to {percent(worst)}, by class"
    return f"Weaker cues than {ends} balanced accuracy can be missed with so many rows."


def elsewhere_sentences(cue: Cue) -> list[str]:
    """Return a sentence for each other set in which the cue does not hold as in the scanned rows."""
    told = {
        "reversed": "it is reversed on",
        "gone": "it tells nothing on",
        "weaker": "it tells less on",
    }
    return [
        f"{told[one.state]} “{one.name}”: {percent(one.balanced)} [{percent(one.low or 0)}, {percent(one.high or 0)}]"
        for one in cue.elsewhere
        if one.state in told and one.balanced is not None
    ]


def percent(share: float) -> str:
    """Return a share in [0, 1] in whole per cent."""
    return f"{100 * share:.0f} %"
