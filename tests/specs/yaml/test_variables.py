import re

import pytest
from pydantic import SecretStr

from aflite_assets.errors import SpecError
from aflite_assets.specs.yaml.variables import fill_in

ENVIRONMENT = {"N": "400", "DATA": "/data", "EMPTY": "", "NESTED": "${N}", "_x9": "low", "KEY": "hf_planted"}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", ""),
        ("plain $ text, $5 and $x", "plain $ text, $5 and $x"),
        ("${N}", "400"),
        ("${DATA}/a/${N}.csv", "/data/a/400.csv"),
        ("${N}${N}", "400400"),
        ("${_x9}", "low"),
        ("${EMPTY}|", "|"),
        ("${N:-5}", "400"),
        ("${EMPTY:-5}", "5"),
        ("${UNSET:-5}", "5"),
        ("${UNSET:-}", ""),
        ("${UNSET:-a b: c, $d -:-}", "a b: c, $d -:-"),
        ("${UNSET:-two\nlines}", "two\nlines"),
        ("$$", "$"),
        ("$$${N}", "$400"),
        ("$${N}", "${N}"),
        ("$${secret:KEY}", "${secret:KEY}"),
        ("$$$${N}", "$${N}"),
        ("$$$$", "$$"),
        ("${NESTED}", "${N}"),
    ],
)
def test_variables_are_filled_in_once(text: str, filled: str) -> None:
    assert fill_in(text, environment=ENVIRONMENT) == filled


def test_secret_is_the_whole_text_and_never_shown() -> None:
    secret = fill_in("${secret:KEY}", environment=ENVIRONMENT)
    assert isinstance(secret, SecretStr)
    assert secret.get_secret_value() == "hf_planted"
    assert "hf_planted" not in f"{secret} {secret!r}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a ${UNSET} b",
            "the environment variable UNSET is not set; set it before starting, or write ${UNSET:-default}",
        ),
        ("${secret:UNSET}", "the environment variable UNSET is not set or empty; set it to the secret before starting"),
        ("${secret:EMPTY}", "the environment variable EMPTY is not set or empty"),
        ("x${secret:KEY}", "${secret:...} must be the whole value, with nothing before or after it"),
        ("${secret:KEY}x", "${secret:...} must be the whole value"),
        ("${secret:KEY}${N}", "${secret:...} must be the whole value"),
        ("${secret:KEY:-x}", "${secret:...} takes the name of one variable and no default; write ${secret:NAME}"),
        ("${secret:}", "${secret:...} takes the name of one variable"),
        ("${secret:1A}", "${secret:...} takes the name of one variable"),
        ("${", "'${' is no variable; write ${NAME}, ${NAME:-default} or ${secret:NAME}, and $${ where the text"),
        ("a ${}", "'${}' is no variable"),
        ("${1A}", "'${1A}' is no variable"),
        ("${A-B}", "'${A-B}' is no variable"),
        ("${N:?stop}", "'${N:?stop}' is no variable"),
        ("${ N }", "'${ N }' is no variable"),
        ("${é}", "'${é}' is no variable"),
        ("${N", "'${N' is no variable"),
        ("${UNSET:-${N}}", "'${UNSET:-${N}}' is no variable"),
        ("${UNSET:-$${N}}", "'${UNSET:-$${N}}' is no variable"),
        ("${" + "x" * 1000, "'${" + "x" * 37 + "…' is no variable"),
    ],
)
def test_what_is_not_set_or_no_variable_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)) as caught:
        fill_in(text, environment=ENVIRONMENT)
    assert "hf_planted" not in str(caught.value)
