import pytest

from aflite_assets.sources.wording import did_you_mean


@pytest.mark.parametrize(
    ("name", "said"),
    [("labl", "; did you mean 'label'?"), ("label", "; did you mean 'label'?"), ("xyz", ""), (7, ""), ("", "")],
)
def test_the_nearest_known_name_is_offered_and_nothing_when_none_is_near(name: object, said: str) -> None:
    assert did_you_mean(name, ["split", "label", "text"]) == said
