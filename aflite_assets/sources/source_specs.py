"""The places a dataset can be read from, as its YAML writes them; reading itself is in `loading` and `synthetic`."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from aflite_assets.sources.model_specs import StrictSpec

Files = str | Annotated[tuple[str, ...], Field(min_length=1)]
SplitName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=64)]


class TableSource(StrictSpec):
    """Files of rows and columns, one or more per split; paths are relative to the YAML file."""

    format: Literal["parquet", "csv", "jsonl"]
    splits: dict[SplitName, Files] = Field(min_length=1)
    delimiter: str = Field(",", min_length=1, max_length=1, description="csv only")
    quoted: bool = Field(True, description="csv only: whether double quotes enclose fields")

    def files(self) -> list[Path]:
        """Every file that the source consists of."""
        return [Path(name) for names in self.splits.values() for name in as_tuple(names)]


class ImageFolderSource(StrictSpec):
    """A folder per split with a folder of images per class."""

    format: Literal["image_folder"]
    splits: dict[SplitName, str] = Field(min_length=1)

    def files(self) -> list[Path]:
        """Every file below the splits' folders."""
        return [path for folder in self.splits.values() for path in sorted(Path(folder).rglob("*")) if path.is_file()]


class FeatureFiles(StrictSpec):
    """The `.npy` files of one split: features rows x width, labels and groups one number per row."""

    features: str
    labels: str
    groups: str | None = None


class FeatureSource(StrictSpec):
    """Features computed elsewhere."""

    format: Literal["features"]
    splits: dict[SplitName, FeatureFiles] = Field(min_length=1)

    def files(self) -> list[Path]:
        """Every file that the source consists of."""
        names = [(split.features, split.labels, split.groups) for split in self.splits.values()]
        return [Path(name) for split in names for name in split if name is not None]


class CirclesSource(StrictSpec):
    """Two concentric circles with planted artifacts, drawn from a seed (ICML 2020, section 3).

    The class is the circle. Beside the two coordinates every row has `bias_width` features: on biased rows drawn
    around `+bias_mean` or `-bias_mean` by the row's given label, on the others around zero. On a share of the biased
    train rows the given label is flipped, and the bias features follow the given label.
    """

    format: Literal["circles"]
    splits: dict[SplitName, Annotated[int, Field(ge=4)]] = Field(min_length=1, description="rows per split")
    inner_radius: float = Field(gt=0)
    outer_radius: float = Field(gt=0)
    radius_deviation: float = Field(ge=0, description="standard deviation of a row's distance from its circle")
    biased_share: float = Field(ge=0, le=1, description="share of each class's rows with bias features")
    bias_width: int = Field(ge=1)
    bias_mean: float = Field(gt=0)
    bias_deviation: float = Field(gt=0)
    noise_deviation: float = Field(gt=0, description="of the features that stand in for bias on the other rows")
    flipped_share: float = Field(ge=0, lt=0.5, description="share of the biased train rows whose label is flipped")
    seed: int = Field(0, ge=0)

    def files(self) -> list[Path]:
        """None: the rows are drawn."""
        return []


class DigitsSource(StrictSpec):
    """scikit-learn's 1,797 real images of handwritten digits, 8 x 8 pixels, split by a seeded stratified draw."""

    format: Literal["digits"]
    test_share: float = Field(0.25, gt=0, lt=1)
    seed: int = Field(0, ge=0)

    @property
    def splits(self) -> dict[str, None]:
        """The splits that the source gives."""
        return {"train": None, "test": None}

    def files(self) -> list[Path]:
        """None: the images come with scikit-learn."""
        return []


SourceSpec = Annotated[
    TableSource | ImageFolderSource | FeatureSource | CirclesSource | DigitsSource, Field(discriminator="format")
]


def as_tuple(names: Files) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else names
