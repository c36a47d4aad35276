"""Kinds of made data on which a verdict is measured, with what is true of each; no rule of a verdict belongs here.

The list is fixed before rules are tuned. In the table, *kept* is the share of train rows that the filter keeps. It is
taken from `FILTER_SHARES` by a checksum of the kind's name, whatever the share of the cue is. *Expected* codes are
right, and *refused* codes are false. A code in neither column is a miss in a shortcut kind and harmless in a null.
Codes are letters:
F = shortcut_found, P = shortcut_found_helps, M = shortcut_found_mixed, W = shortcut_found_harms, L = leans_on, H =
helps_no_shortcut_named, N = learnable_no_shortcut_shown, E = easy, B = class_balance_only, O = nothing_found, C =
cannot_tell.

The table is the output of `describe(KINDS)`:

| kind | truth | cue | seen | kept | expected | refused |
|---|---|---|---|--:|---|---|
| random labels | null |  | none | 0.5 | BOC | FPMWLHNE |
| random labels, classes of 70, 20 and 10 % | null |  | none | 0.5 | BOC | FPMWLHNE |
| random labels, groups of four | null |  | none | 0.35 | BOC | FPMWLHNE |
| clean task | null |  | none | 0.35 | NE | FPMWLHBO |
| clean task, 15 % wrong labels | null |  | none | 0.65 | NE | FPMWLHBO |
| clean task, classes of 70, 20 and 10 % | null |  | none | 0.35 | NE | FPMWLHBO |
| clean task, groups of four | null |  | none | 0.65 | NE | FPMWLHBO |
| clean task, texts of any length | null | words | none | 0.35 | NE | FPMWHBO |
| heavy tails | null |  | none | 0.5 | NE | FPMWLHBO |
| undeclared clusters | null | site | none | 0.65 | NE | FPMWLHBO |
| classes of 95 and 5 % with noise | null |  | none | 0.5 | NE | FPMWLH |
| near copies, undeclared | null | rare_word | none | 0.65 | NE | FPMWLHBO |
| near copies, declared as groups | null | rare_word | none | 0.35 | NE | FPMWLHBO |
| groups of unequal size with one random label each | null | source | none | 0.65 | BOC | FPMWLHNE |
| image quality, independent of the label, declared | null | quality | none | 0.35 | NE | FPMWLHBO |
| image quality, 56 and 44 % of the classes | null | quality | none | 0.65 | LNE | FPMWHBO |
| property that marks hard rows | null | handwritten | none | 0.65 | NE | FPMWLHBO |
| causal property | null | negation | none | 0.35 | LNE | FPMWHBO |
| proxy that models cannot see | null | region | none | 0.65 | NE | FPMWLHBO |
| proxy that models cannot see, declared | null | region | none | 0.5 | NE | FPMWLHBO |
| proxy that models cannot see, declared, 8 % wrong labels | null | region | none | 0.5 | NE | FPMWLHBO |
| proxy that models cannot see, reversed in the challenge set | null | region | none | 0.65 | NE | FPMWLHBO |
| file format that models cannot see | null | saved_as_png | none | 0.35 | NE | FPMWLHBO |
| three confusable classes | null | at_night | none | 0.5 | NE | FPMWLHBO |
| no carriers outside the class, seen by models | null | breed | none | 0.35 | LNEC | FPMWHBO |
| no carriers outside the class, not seen by models | null | breed | none | 0.35 | NEC | FPMWLHBO |
| twenty classes | null | at_night | none | 0.5 | NE | FPMWLHBO |
| clean task, random rows kept | null, random filter | quality | none | 0.35 | NE | FPMWLHBO |
| proxy that models cannot see, random rows kept | null, random filter | region | none | 0.35 | NE | FPMWLHBO |
| clean task, another kind of challenge set | null |  | none | 0.5 | NE | FPMWLHBO |
| classes of unequal difficulty, weaker challenge set | null |  | none | 0.35 | NE | FPMWLHBO |
| covariate shift | null |  | none | 0.5 | NE | FPMWLHBO |
| other class shares in the challenge set | null |  | none | 0.35 | NE | FPMWLHBO |
| minority kind of rows, named | null | dialect | none | 0.35 | NE | FPMWLHBO |
| minority kind of rows, not named | null |  | none | 0.35 | NE | FPMWLHBO |
| conflicting kinds of rows | null |  | none | 0.5 | NE | FPMWLHBO |
| conflicting kinds of rows, challenge set of the rare kind | null |  | none | 0.35 | HNE | FPMWLBO |
| collected against the full model | null |  | none | 0.5 | NE | FPMWLHBO |
| collected against the full model, not declared | null |  | none | 0.35 | NE | FPMWLHBO |
| collected against the full model, declared constructed | null, wrong declaration |  | none | 0.35 | NE | FPMWLHBO |
| collected against another model | null |  | none | 0.5 | NE | FPMWLHBO |
| collected against another model, not declared | null |  | none | 0.35 | NE | FPMWLHBO |
| rows near the true border | null |  | none | 0.35 | NE | FPMWLHBO |
| re-annotated challenge set | null |  | none | 0.35 | NE | FPMWLHBO |
| harder challenge set without the property | null | place | none | 0.35 | NE | FPMWLHBO |
| few effective rows kept, surprising challenge set | null |  | none | 0.35 | NE | FPMWLHBO |
| cue word on 30 %, seen | shortcut | cue_word | reversed | 0.35 | FPMW | HEBO |
| cue word on 50 %, seen | shortcut | cue_word | reversed | 0.65 | FPMW | HEBO |
| cue word on 70 %, seen | shortcut | cue_word | reversed | 0.65 | FPMW | HEBO |
| cue word on 50 %, not seen | shortcut |  | unseen | 0.35 | HNC | EBO |
| cue word on 70 %, not seen | shortcut |  | unseen | 0.5 | HNC | EBO |
| length of the second text follows the class on 40 % | shortcut | words | reversed | 0.5 | FPMW | HEBO |
| length of the second text follows the class on 60 % | shortcut | words | reversed | 0.65 | FPMW | HEBO |
| length of the only text follows the class on 40 % | shortcut | words | reversed | 0.5 | FPMW | HEBO |
| length of the only text follows the class on 60 % | shortcut | words | reversed | 0.65 | FPMW | HEBO |
| place goes with the class, declared | shortcut | place | declared | 0.65 | FPMW | HEBO |
| place goes with the class, reversed | shortcut | place | reversed | 0.35 | FPMW | HEBO |
| place goes with the class, not declared | shortcut | place | none | 0.5 | L | FPMWHEBO |
| place goes with the class, no property | shortcut |  | unseen | 0.5 | NC | EBO |
| continuous cue on 30 %, declared | shortcut | pause | declared | 0.5 | FPMW | HEBO |
| continuous cue on 60 %, declared | shortcut | pause | declared | 0.65 | FPMW | HEBO |
| continuous cue on 30 %, reversed | shortcut | pause | reversed | 0.5 | FPMW | HEBO |
| continuous cue on 60 %, reversed | shortcut | pause | reversed | 0.65 | FPMW | HEBO |
| mark on 95 % of one class | shortcut | final_period | editable | 0.35 | FPMW | HEBO |
| mark on 97 % of one class | shortcut | final_period | editable | 0.65 | FPMW | HEBO |
| blanks on 40 % of one class and nowhere else | shortcut | double_blank | editable | 0.35 | FPMW | HEBO |
| mark on one class of three, declared | shortcut | watermark | declared | 0.65 | FPMW | HEBO |
| mark on one class of three, reversed | shortcut | watermark | reversed | 0.35 | FPMW | HEBO |
| two weak cues, declared | shortcut | smiley | declared | 0.35 | FPMW | HEBO |
| two weak cues, reversed | shortcut | smiley | reversed | 0.65 | FPMW | HEBO |
| cue spread over 40 features, declared | shortcut | camera | declared | 0.35 | FPMW | HEBO |
| cue spread over 40 features, reversed | shortcut | camera | reversed | 0.65 | FPMW | HEBO |
| cue spread over 40 features, not seen | shortcut |  | unseen | 0.5 | HNC | EBO |
| record numbers of one range on half of one class | shortcut | record_number | editable | 0.65 | FPMW | HEBO |
| position of the answer | shortcut | position | editable | 0.35 | FPMW | HEBO |
| file format goes with the class | shortcut | file_format | declared | 0.35 | FPMW | HEBO |
| declared place, random rows kept | shortcut, random filter | place | declared | 0.35 | F | PMWHEBO |
| image quality, 20 and 80 % of the classes | shortcut | quality | none | 0.35 | L | FPMWHEBO |
| rating that copies a part of the task, reversed in the challenge set | null | rating | none | 0.35 | NE | FPMWHBO |
| clinic chosen by the size of the finding, declared | null | clinic | none | 0.65 | LNE | FPMWHBO |
| crowd labels, a third wrong, experts' challenge set | null | crowd | none | 0.35 | NE | FPMWLHBO |
| stamp on the rows of one scanner, declared | shortcut | stamp | declared | 0.35 | FPMW | HEBO |
| missing age in one class of five, weaker in test | shortcut | age_missing | editable | 0.5 | FPMW | HEBO |
| snow with one class of three, challenge set of counter-examples | shortcut | snow | reversed | 0.65 | FPMW | HEBO |
"""

from benchmarks.verdict_kinds.challenge_nulls import CHALLENGE_NULLS
from benchmarks.verdict_kinds.nulls import NULLS
from benchmarks.verdict_kinds.outside import OUTSIDE
from benchmarks.verdict_kinds.property_nulls import PROPERTY_NULLS
from benchmarks.verdict_kinds.records import Kind
from benchmarks.verdict_kinds.shortcuts import SHORTCUTS

KINDS: tuple[Kind, ...] = (*NULLS, *PROPERTY_NULLS, *CHALLENGE_NULLS, *SHORTCUTS, *OUTSIDE)
