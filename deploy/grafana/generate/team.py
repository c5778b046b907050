"""Team: people, machines or projects side by side, each against its own past."""

from . import board
from .board import USAGE
from .panels import (
    BLUE,
    GREEN,
    NOTHING,
    ORANGE,
    RED,
    YELLOW,
    bars,
    gauge_cell,
    series,
    steps,
    table,
    target,
)


def who(expr):
    """`expr`, summed by the chosen label, which is shown as `who` whatever its name is."""
    named = f'label_replace({expr}, "who", "$1", "$by", "(.+)")'
    return f'label_replace({named}, "who", "no label $by", "who", "")'


def rise(metric, window, extra="", offset=""):
    return f"sum by ($by) (increase({metric}{{{USAGE}{extra}}}[{window}]{offset}))"


COST = rise("copilot_cost_usd_total", "$__range")
CALLS = rise("copilot_calls_total", "$__range")
TOKENS = rise("copilot_tokens_total", "$__range")
READ = rise("copilot_tokens_total", "$__range", ', token_type="cache_read"')
INPUT = rise("copilot_tokens_total", "$__range", ', token_type=~"input|cache_read|cache_write"')
LAST_DAY = rise("copilot_cost_usd_total", "1d")
# The days before the last one, those without spend left out: the weekend lowers nobody's usual day.
DAYS_BEFORE = f"({rise('copilot_cost_usd_total', '1d')} > 0)[7d:1d] offset 1d"


def side_by_side():
    return (
        "Side by side",
        [
            (
                11,
                [
                    (
                        24,
                        table(
                            "Everyone in the time range",
                            "One row for each value of the label chosen above. Cost per call and cache hits tell how people "
                            "work; spend alone does not.",
                            [
                                ("A", who(f"{COST} > 0")),
                                ("B", who(f"{CALLS} > 0")),
                                ("C", who(TOKENS)),
                                ("D", who(f"{COST} / ({CALLS} > 0)")),
                                ("E", who(f"{READ} / ({INPUT} > 0)")),
                                ("F", who(rise("copilot_sessions_total", "$__range"))),
                                ("G", who(f'sum by ($by) (copilot_window_cost_usd{{{USAGE}, window="today"}})')),
                                ("H", who(f'sum by ($by) (copilot_window_cost_usd{{{USAGE}, window="month"}})')),
                            ],
                            [
                                ("who", "Who", {}),
                                ("A", "Spend", {"unit": "currencyUSD", "decimals": 2, **gauge_cell(BLUE)}),
                                ("G", "Today", {"unit": "currencyUSD", "decimals": 2}),
                                ("H", "This month", {"unit": "currencyUSD", "decimals": 2}),
                                ("B", "Calls", {"unit": "locale", "decimals": 0}),
                                ("F", "Sessions", {"unit": "locale", "decimals": 0}),
                                ("C", "Tokens", {"unit": "short"}),
                                ("D", "Per call", {"unit": "currencyUSD", "decimals": 4}),
                                (
                                    "E",
                                    "Cache hits",
                                    {
                                        "unit": "percentunit",
                                        "decimals": 0,
                                        "custom.cellOptions": {"type": "color-text"},
                                        "color": {"mode": "thresholds"},
                                        "thresholds": steps(RED, (0.4, ORANGE), (0.6, YELLOW), (0.75, GREEN)),
                                    },
                                ),
                            ],
                            "Spend",
                            drop=["user", "instance", "host", "team", "project", "surface"],
                        ),
                    )
                ],
            ),
            (
                9,
                [
                    (
                        16,
                        series(
                            "Spend over time",
                            "Cost per interval, at least an hour.",
                            "currencyUSD",
                            [target(who(f"{rise('copilot_cost_usd_total', '$__interval')} > 0"), "{{who}}")],
                            stacked=True,
                            columns=True,
                            interval="1h",
                            maxDataPoints=200,
                        ),
                    ),
                    (
                        8,
                        bars(
                            "Calls",
                            "Calls of the time range.",
                            "locale",
                            f"sort_desc({who(f'topk(12, {CALLS} > 0)')})",
                            "{{who}}",
                            decimals=0,
                            color={"mode": "continuous-BlPu"},
                        ),
                    ),
                ],
            ),
        ],
    )


def unusual():
    return (
        "Unusual",
        [
            (
                9,
                [
                    (
                        8,
                        bars(
                            "Last day against own usual day",
                            "Spend of the last 24 hours divided by the average of the active days among the 7 before. 1 is "
                            "usual, 3 is worth a look. Empty for whoever has no past yet.",
                            "none",
                            f"sort_desc({who(f'{LAST_DAY} / (avg_over_time({DAYS_BEFORE}) > 0)')})",
                            "{{who}}",
                            decimals=1,
                            max=5,
                            color={"mode": "thresholds"},
                            thresholds=steps(GREEN, (2, YELLOW), (3, ORANGE), (5, RED)),
                            empty="nobody has a past to compare with",
                        ),
                    ),
                    (
                        16,
                        series(
                            "Spend of the last hour, against the same hour a week ago",
                            "Solid: spend of a sliding hour. Faint: the same hour a week ago.",
                            "currencyUSD",
                            [
                                target(who(rise("copilot_cost_usd_total", "1h")), "{{who}}", ref="A"),
                                target(who(rise("copilot_cost_usd_total", "1h", offset=" offset 1w")), "{{who}}, a week ago", ref="B"),
                            ],
                            interval="10m",
                            overrides=[
                                {
                                    "matcher": {"id": "byFrameRefID", "options": "B"},
                                    "properties": [
                                        {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [4, 6]}},
                                        {"id": "custom.lineWidth", "value": 1},
                                        {"id": "custom.fillOpacity", "value": 0},
                                    ],
                                }
                            ],
                        ),
                    ),
                ],
            ),
            (
                9,
                [
                    (
                        12,
                        table(
                            "New models of the last day",
                            "Models that somebody used in the last 24 hours and not in the 7 days before.",
                            [
                                (
                                    "A",
                                    who(
                                        "sum by ($by, model) (increase(copilot_cost_usd_total{%s}[1d]))"
                                        " unless (sum by ($by, model) (increase(copilot_calls_total{%s}[7d] offset 1d)) > 0)"
                                        % (USAGE, USAGE)
                                    )
                                    + " > 0",
                                )
                            ],
                            [
                                ("who", "Who", {}),
                                ("model", "Model", {}),
                                ("A", "Spend", {"unit": "currencyUSD", "decimals": 2}),
                            ],
                            "Spend",
                            drop=["user", "instance", "host", "team", "project", "surface"],
                            empty="no new model",
                        ),
                    ),
                    (
                        12,
                        series(
                            "Models in use",
                            "How many different models each one used in a sliding day.",
                            "short",
                            [
                                target(
                                    who(f"count by ($by) (sum by ($by, model) (increase(copilot_calls_total{{{USAGE}}}[1d])) > 0)"),
                                    "{{who}}",
                                )
                            ],
                            interval="1h",
                            decimals=0,
                            empty=NOTHING,
                        ),
                    ),
                ],
            ),
        ],
    )


def dashboard():
    by = board.choice(
        "by",
        "compare by",
        "The label to tell people, machines or projects apart. user needs several homes or a constant label, host and "
        "team need constant labels in the exporters' configuration.",
        [(name, name) for name in ("user", "instance", "host", "team", "project", "surface")],
    )
    variables = board.chain("job", "instance", *board.FILTERS)
    return board.dashboard(
        "copilot-team",
        "Copilot / Team",
        "People, machines or projects side by side, each against its own past.",
        [variables[0], by, *variables[1:]],
        [side_by_side(), unusual()],
    )
