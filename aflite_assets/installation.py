"""Which installed packages differ from the versions that this project was tested with."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def constraints_file() -> Path | None:
    """`constraints.txt` beside the package or in the working directory, None where there is neither."""
    places = (Path(__file__).parents[1] / "constraints.txt", Path("constraints.txt").absolute())
    return next((place for place in places if place.is_file()), None)


def differing_packages(constraints: Path) -> dict[str, tuple[str, str]]:
    """By package: the installed version and the tested one. What is not installed differs from nothing."""
    differing = {}
    for line in constraints.read_text(encoding="utf-8").splitlines():
        name, _, tested = line.partition("#")[0].partition(";")[0].strip().partition("==")
        if not tested:
            continue
        try:
            installed = version(name)
        except PackageNotFoundError:
            continue
        if _public(installed) != _public(tested):
            differing[name] = (installed, tested)
    return differing


def _public(text: str) -> str:
    """Without the build's mark: 2.15.0+cpu is 2.15.0."""
    return text.strip().partition("+")[0]
