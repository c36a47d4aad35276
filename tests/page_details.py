"""The tables and pictures that a report's page shows on demand, read back from the page."""

import json
import re
from typing import Any


def details_of(page: str) -> list[dict[str, Any]]:
    """The tables and pictures that a page shows on demand, as its viewer reads them."""
    found = re.search(r'<script type="application/json" id="details-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    details: list[dict[str, Any]] = json.loads(found[1])
    return details
