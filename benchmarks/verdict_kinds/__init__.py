"""Kinds of made data on which a verdict is measured, with what is true of each."""

from benchmarks.verdict_kinds.challenge_nulls import CHALLENGE_NULLS
from benchmarks.verdict_kinds.nulls import NULLS
from benchmarks.verdict_kinds.property_nulls import PROPERTY_NULLS
from benchmarks.verdict_kinds.records import Kind
from benchmarks.verdict_kinds.shortcuts import SHORTCUTS

KINDS: tuple[Kind, ...] = (*NULLS, *PROPERTY_NULLS, *CHALLENGE_NULLS, *SHORTCUTS)
