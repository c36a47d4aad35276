"""The result store: keys, atomic publishing, manifests, locks, the current version. Nothing about AFLite."""

from aflite_assets.results.keys import ResultKey
from aflite_assets.results.store import Draft, PublishedResult, ResultStore, StoredResult

__all__ = ["Draft", "PublishedResult", "ResultKey", "ResultStore", "StoredResult"]
