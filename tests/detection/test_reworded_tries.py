"""Tries in other words that find nothing, miss one name, are given up, or only think; each with its look-alike."""

from __future__ import annotations

import json

import pytest
from tests.detection.test_loop_histories import History, bad, joined, ok, says, verdicts
from tests.detection.test_loop_rules import tool
from tests.detection.test_same_aim import apart, between, changed

NOWHERE = (
    "I searched the repository but found no code that publishes margin events. It may live in another repository.",
    "No publisher of margin events could be found in this repository. It is probably in another one.",
)
ORDERS = (
    "Find where margin events are published",
    "Search the repository for the code that publishes margin events",
    "Locate the margin event publisher",
    "Thoroughly look for the publisher of margin events",
    "Find the producer of margin events in the code base",
)
SCREEN = "Screen: Sign in\n- TextField 'Email'\n- Button 'Continue' disabled"
THOUGHTS = (
    "To support late events past noon I should first see the current structure, then design, implement and test.",
    "Let me reconsider how to tackle late events past noon: analyse the code, choose a design, write it, add tests.",
    "A cleaner way to organise the work on late events past noon: discovery, interface, implementation, verification.",
    "Before starting with late events past noon I want to order the steps again: read, decide, change, check.",
    "I need to think about the order: study the modules, settle the approach to late events past noon, code, tests.",
)
WORDS = ("Let me think about this:", "I want to order it.", "Once more:", "On the plan again", "Hm, wait")


def told(history: History) -> bool:
    """Return whether something is said."""
    return bool(verdicts(history))


@pytest.mark.parametrize("nothing", ["could not find any implementation of", "was unable to locate the code of"])
def test_orders_of_one_form_that_find_nothing(nothing: str) -> None:
    """The orders differ in a few words only, and the count of files that were looked at in each answer."""
    orders = ("Find page compression", "Where are pages compressed", "Explore compression", "Trace compressed pages")
    for quiet, answer in ((False, f"I {nothing} page compression"), (True, "I read all of page compression")):
        steps = [
            tool("Task", f"{answer}. ({n} files)", prompt=f"{order}: very thorough. Return file and line.")
            for n, order in enumerate(orders, 15)
        ]
        assert told(joined(steps)) is not quiet


def test_guesses_by_a_script_and_by_a_request() -> None:
    """One refused answer stays one, whether the guess goes through a script or to the address itself."""
    calls = [
        "./submit.sh two-time-pad 'flag{b3ac0n}'",
        'curl -s -X POST https://ctf.example/attempt -d \'{"id": 14, "submission": "flag{h4rb0ur}"}\'',
        "./submit.sh two-time-pad 'flag{starboard}'",
        'curl -s -X POST https://ctf.example/attempt -d \'{"id": 14, "submission": "flag{l1ght}"}\'',
        'curl -s -X POST https://ctf.example/attempt -d \'{"id": 14, "submission": "flag{beacon}"}\'',
        "./submit.sh two-time-pad 'flag{lights}'",
    ]
    refused = '{"success": true, "data": {"status": "incorrect", "message": "Incorrect"}}'
    assert told(joined([ok(call, refused) for call in calls]))


@pytest.mark.parametrize(
    ("calls", "nothing"),
    [
        (
            (
                "sqlite3 app.db \"select * from widgets where status = 'open'\"",
                "sqlite3 app.db \"select * from widgets where lower(status) = 'open'\"",
                "sqlite3 app.db \"select id from widgets where status like '%open%'\"",
                "sqlite3 app.db \"select * from widgets where trim(status) = 'open' limit 9\"",
            ),
            "",
        ),
        (
            ("jq .coverage m.json", "jq .data.coverage m.json", "jq .all.coverage m.json", "jq .sum.coverage m.json"),
            "null",
        ),
        (
            (
                "aws logs filter-log-events --log-group-name toll --filter-pattern ERROR --max-items 50",
                "aws logs filter-log-events --log-group-name toll --filter-pattern ERROR --start-time 1762800000000",
                "aws logs filter-log-events --log-group-name toll --filter-pattern Traceback",
                "aws logs filter-log-events --log-group-name toll --filter-pattern Timeout --limit 20 --no-paginate",
            ),
            '{"events": [], "searchedLogStreams": []}',
        ),
        (
            ("pdftotext a.pdf -", "pdftotext -layout a.pdf - | head", "pdftotext -raw a.pdf -", "mutool draw a.pdf -"),
            "\f",
        ),
        (
            (
                "tshark -r e.pcap -Y 'http.cookie contains sid' | head",
                "tshark -r e.pcap -Y 'http contains sid' -T fields -e frame.number",
                "tshark -r e.pcap -Y 'tcp contains sid' -c 10",
                "tshark -r e.pcap -Y 'frame contains sid' -T fields",
            ),
            "",
        ),
    ],
)
def test_questions_that_find_nothing(calls: tuple[str, ...], nothing: str) -> None:
    """Four forms of one question; an answer to one of them, or an edit, begins anew."""
    assert told(apart(*(ok(call, nothing) for call in calls)))
    assert not told(apart(*(ok(call, nothing) for call in calls[:3])))
    assert not told(joined(ok(call, nothing) + changed("a.py", f"x{n}", f"y{n}") for n, call in enumerate(calls)))


@pytest.mark.parametrize(
    "calls",
    [
        ("sed -i 's/a/b/' app.conf", "sed -i 's/c/d/g' app.conf", "sed -i '/e/d' app.conf", "sed -i 5d app.conf"),
        (
            "sqlite3 a.db 'insert into a values (1)'",
            "sqlite3 a.db 'delete from a'",
            "sqlite3 a.db 'vacuum'",
            "sqlite3 a.db 'analyze'",
        ),
        ("jq .name.first a.json", "jq .address.street a.json", "jq .orders.total a.json", "jq .phone.mobile a.json"),
        ("git add a.py", "git add -u", "git add -A src", "git add docs a.py"),
        ("chmod +x a.sh", "cp a.sh b.sh", "mv b.sh a.sh", "touch -r b.sh a.sh"),
    ],
)
def test_silent_calls_that_ask_for_nothing(calls: tuple[str, ...]) -> None:
    """Commands that change something are silent when they succeed, and other fields are other questions."""
    assert not told(apart(*(ok(call, "null" if call[:2] == "jq" else "") for call in calls)))


def test_an_order_to_a_sub_agent_in_other_words() -> None:
    """Its answers say the same in two ways, with other figures below; answers to other questions differ."""
    asked = [
        tool("Task", f"{NOWHERE[n % 2]}\n\n(tool uses: {12 + n * 3 % 5}, {29 + n * 7}s)", prompt=order)
        for n, order in enumerate((*ORDERS, ORDERS[0]))
    ]
    assert told(apart(*asked))
    found = [
        tool("Task", f"The {word} of margin events is in src/{word}.py.", prompt=f"Find the {word} of margin events")
        for n, word in enumerate(("publisher", "consumer", "schema", "test", "retry"))
    ]
    assert not told(apart(*found))
    orders = (
        "Tidy the names in the parser",
        "Tidy all names of the lexer",
        "Now tidy the names in part",
        "Tidy names: cli",
    )
    mended = [tool("Task", "All the names are tidy now.", prompt=order) for order in orders]
    assert not told(apart(*mended))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("pip install {}", "ERROR: Could not find a version that satisfies {}\nERROR: No matching distribution for {}"),
        (
            "npm view {}",
            "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/{}\nnpm error 404 '{}@*'",
        ),
        ("cargo add {}", "error: the crate `{}` could not be found, nor one like {}"),
    ],
)
def test_one_name_in_other_spellings(call: str, text: str) -> None:
    """The fourth spelling is a loop; four other names are four questions."""
    spelt = ("juris-segment", "juris_segment", "pyjuris-segment", "juris-segment-core")
    assert told(apart(*(bad(call.format(name), text.format(name, name)) for name in spelt)))
    around = ("@astro/law-chart", "astro-law-chart", "law-chart-plugin", "law-chart-core")
    assert told(apart(*(bad(call.format(name), text.format(name, name)) for name in around)))
    others = ("juris-segment", "lawtext", "statute-split", "paragraphs")
    assert not told(apart(*(bad(call.format(name), text.format(name, name)) for name in others)))
    family = ("law-plugin-text", "law-plugin-date", "law-plugin-sum", "law-plugin-name")
    assert not told(apart(*(bad(call.format(name), text.format(name, name)) for name in family)))


def test_a_screen_that_is_listed_after_each_touch() -> None:
    """Touches that say nothing, after each of which the list is as before."""
    touches = ("click_on_screen", "press_button", "double_tap_on_screen", "long_press_on_screen")
    made = [tool(f"mcp__mobile__mobile_{one}", "Done: 1", at=n) for n, one in enumerate(touches)]
    assert told(joined(one + tool("mcp__mobile__list_elements", SCREEN) + between(n) for n, one in enumerate(made)))
    other = [tool("mcp__mobile__list_elements", f"{SCREEN}\n- Text '{n} left'") for n in range(4)]
    assert not told(joined(one + other[n] + between(n) for n, one in enumerate(made)))


def test_what_is_begun_and_given_up_again() -> None:
    """The third merge or rebase that is aborted; an edit between is a resolution."""
    tries = ("merge origin/main", "rebase origin/main", "merge --no-ff origin/main")
    text = "CONFLICT (content): Merge conflict in a.rb"
    made = [bad(f"git {one}", f"{text}\nhint {n}") + ok(f"git {one.split()[0]} --abort") for n, one in enumerate(tries)]
    assert told(apart(*made))
    assert not told(apart(*made[:2]))
    assert not told(joined(one + changed("a.rb", f"x{n}", f"y{n}") for n, one in enumerate(made)))


@pytest.mark.parametrize(
    "name", ["sequential-thinking_sequentialthinking", "mcp__sequential-thinking__sequentialthinking"]
)
def test_thoughts_that_name_nothing(name: str) -> None:
    """The fifth plan in other words, with a word before each; thoughts about files, or with steps between, are none."""

    def thinks(text: str, number: int) -> History:
        return says(WORDS[number]) + ok(json.dumps({"thought": text, "thoughtNumber": number}), "{}", name)

    assert told(joined(thinks(text, n) for n, text in enumerate(THOUGHTS)))
    assert not told(joined(thinks(text, n) for n, text in enumerate(THOUGHTS[:4])))
    assert not told(joined(thinks(text, n) + between(n) for n, text in enumerate(THOUGHTS)))
    assert not told(joined(thinks(f"{text} See src/part{n}.py.", n) for n, text in enumerate(THOUGHTS)))


def test_restated_messages_with_a_word_between() -> None:
    """A word on the way to an echo does not hide that one message comes in four forms."""
    forms = (
        "The batch documentation has been updated. All changes are complete.",
        "The documentation for batch is updated. Everything is complete.",
        "All changes to the batch documentation are complete.",
        "The batch docs have been updated; the work is complete.",
    )
    said = [says(form) + says("On to it:") + ok('echo "Task complete"', "Task complete") for form in forms]
    assert told(joined(said))
    assert not told(joined(said[:2]))
    assert not told(joined(says(form) + between(n) for n, form in enumerate(forms)))
