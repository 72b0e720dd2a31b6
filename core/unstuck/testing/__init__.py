"""The rehearsal kit: scripted agents that do real work in a generated repository, for demos and for policy tests.

A scenario says what an agent *does*; the supervisor's own check decides what *is*. Nothing here needs a model, a key or
a network. To try a policy of your own::

    from unstuck.testing import Part, Rehearsal, load_scenario

    scenario = load_scenario("truly-stuck")
    rehearsal = Rehearsal.prepare([Part("webhook", scenario)], directory)
    result = asyncio.run(rehearsal.run(answers=load_answers(rules)))
    assert result.exit_code == 0
"""

from __future__ import annotations

from unstuck.testing.rehearsal import Rehearsal
from unstuck.testing.scenario import Part, Scenario, curated, load_scenario, scenario_names

__all__ = ["Part", "Rehearsal", "Scenario", "curated", "load_scenario", "scenario_names"]
