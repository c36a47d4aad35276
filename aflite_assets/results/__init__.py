"""The result store: keys, publishing in one step, manifests, locks, and the current version of each asset.

No code in this package is specific to AFLite.
"""

from aflite_assets.results.keys import ResultKey
from aflite_assets.results.records import PublishedResult
from aflite_assets.results.store import Draft, ResultStore, StoredResult

__all__ = ["Draft", "PublishedResult", "ResultKey", "ResultStore", "StoredResult"]
