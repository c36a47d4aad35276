import traceback

import pytest

from aflite_assets.data.hub.errors import RepoRef, call_hub, translate_error, unreachable
from aflite_assets.errors import DataError, ModelError

TOKEN = "hf_SeCrEt"
PLACE = RepoRef("dataset", "me/data", "main", TOKEN)


def test_a_token_is_in_no_message_and_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_other")

    def leak() -> None:
        try:
            raise ValueError(f"Illegal header value b'Bearer {TOKEN}'")
        except ValueError as error:
            raise RuntimeError(f"sent {TOKEN} or hf_other") from error

    with pytest.raises(
        DataError, match=r"dataset 'me/data': reading failed \(RuntimeError: sent \*\*\* or \*\*\*\)"
    ) as e:
        call_hub(PLACE, leak, doing="reading")
    assert (e.value.__cause__, e.value.__context__) == (None, None)
    assert TOKEN not in "".join(traceback.format_exception(e.value))
    assert TOKEN not in repr(PLACE)


@pytest.mark.parametrize(
    "endpoint", ["https://ann:s3-cret@hub.example/x?key=s3-cret", "https://ann:s3-/cret@hub.example"]
)
def test_a_password_in_the_hubs_address_is_in_no_message(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", endpoint)
    for error in (ConnectionError(f"no way to {endpoint}"), KeyError(f"{endpoint} and s3-cret")):
        message = str(translate_error(PLACE, error, doing="reading"))
        assert "s3-" not in message, message
        assert type(error).__name__ in message
    assert PLACE.page in ("https://hub.example/x/datasets/me/data", "https://(not shown)/datasets/me/data")


def test_own_errors_pass_and_models_have_theirs() -> None:
    def refuse() -> None:
        raise DataError("mine")

    with pytest.raises(DataError, match=r"^mine$"):
        call_hub(PLACE, refuse, doing="reading")
    assert isinstance(translate_error(RepoRef("model", "m", "main"), KeyError("x"), doing="asking"), ModelError)
    assert call_hub(PLACE, lambda: 3, doing="reading") == 3


def test_tokens_are_trimmed_and_impossible_ones_refused() -> None:
    assert RepoRef("dataset", "me/data", "main", " hf_x\n").token == "hf_x"
    assert RepoRef("dataset", "me/data", "main", "\n").token is None
    for token in ("hf x", "hf_x\ny", "hf_ä"):
        with pytest.raises(
            DataError,
            match=r"the token contains spaces, line breaks or other invalid characters; correct the "
            r"environment variable in `source.token`",
        ) as e:
            RepoRef("dataset", "me/data", "main", token)
        assert token not in str(e.value)


def test_offline_mode_is_named_and_counts_as_out_of_reach() -> None:
    from huggingface_hub.errors import OfflineModeIsEnabled

    error = FileNotFoundError("not in the cache")
    error.__cause__ = OfflineModeIsEnabled("offline")
    assert unreachable(error)
    message = str(translate_error(PLACE, error, doing="reading"))
    assert message.startswith("dataset 'me/data': `HF_HUB_OFFLINE` is set and revision 'main' is not in the cache ")
    assert message.endswith("; unset this variable if there is a network")
    assert not unreachable(ValueError("x"))


def _answer(code: int) -> Exception:
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import httpx

    return HfHubHTTPError("told", response=httpx.Response(code, request=httpx.Request("GET", "http://127.0.0.1")))


@pytest.mark.parametrize("place", [PLACE, RepoRef("model", "me/model", "main")], ids=["dataset", "model"])
def test_only_a_hub_that_is_out_of_reach_or_busy_may_pass(place: RepoRef) -> None:
    from huggingface_hub.errors import OfflineModeIsEnabled

    passing: list[Exception] = [_answer(429), _answer(503), ConnectionError("reset"), TimeoutError("late")]
    staying = [_answer(401), _answer(404), OfflineModeIsEnabled("offline"), ValueError("x")]
    assert [translate_error(place, error, doing="reading").may_pass for error in passing] == [True] * 4
    assert [translate_error(place, error, doing="reading").may_pass for error in staying] == [False] * 4
