"""Terms in our own text: each links once to its definition; what is escaped stays so."""

from markupsafe import Markup

from aflite_assets.reports.page.html import term_id, with_definitions
from aflite_assets.reports.sentences.wording import GLOSSARY


def test_a_term_links_to_its_definition_once() -> None:
    marked = with_definitions("Two evaluators; the evaluator <b> and an Evaluator's points.")
    assert marked.count('<a class="term" href="#term-evaluator" title="A model trained from scratch') == 1
    assert marked.startswith('Two <a class="term"')
    assert "><dfn>evaluators</dfn></a>; the evaluator &lt;b&gt; and an Evaluator" in marked
    assert '"#term-points"' in marked


def test_longer_terms_win_and_parts_of_names_are_none() -> None:
    marked = with_definitions("The representation bias of random_matched and 3-full runs.")
    assert "<dfn>representation bias</dfn>" in marked
    assert marked.count("<a ") == 1


def test_markup_links_and_code_are_left_alone() -> None:
    given = Markup('<p title="points">At <a href="#x">points</a>, <code>full</code>; points again.</p>')
    assert with_definitions(given).replace(with_definitions("points"), "points") == given


def test_definitions_are_escaped_attributes() -> None:
    for term in GLOSSARY:
        marked = with_definitions(term)
        assert f'href="#{term_id(term)}"' in marked, term
        assert marked.count('"') == 6, term
    assert len({term_id(term) for term in GLOSSARY}) == len(GLOSSARY)


def test_what_must_not_be_shown_is_replaced() -> None:
    assert with_definitions("a\x00b \u202ec & <d>") == "a\u2400b \ufffdc &amp; &lt;d&gt;"
