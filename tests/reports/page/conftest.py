"""A headless Chromium for pages that were rendered by a test."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser(chromium: "Browser") -> "Browser":
    """The Chromium, under the name that Playwright's users know."""
    return chromium
