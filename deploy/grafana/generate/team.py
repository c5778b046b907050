"""Team: people, machines or projects side by side, each against its own past."""

from . import board
from .board import USAGE
from .panels import (
    BLUE,
    GREEN,
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
from .usage import cache_hits


def who(expr):
    """`expr`, summed by the chosen label, which is shown as `who` whatever its name is."""
    named = f'label_replace({expr}, "who", "$1", "$by", "(.+)")'
    return f'label_replace({named}, "who", "no label $by", "who", "")'


def rise(metric, window):
    return f"sum by ($by) (increase({metric}{{{USAGE}}}[{window}]))"


COST = rise("copilot_cost_usd_total", "$__range")
BY_MODEL = COST.replace("by ($by)", "by ($by, model)")
CALLS = rise("copilot_calls_total", "$__range")
TOKENS = rise("copilot_tokens_total", "$__range")
CACHE_HITS = cache_hits("$__range", " by ($by)")
LAST_DAY = rise("copilot_cost_usd_total", "1d")
# The days before the last one, those without spend left out: the weekend lowers nobody's usual day.
USUAL_DAY = f"avg_over_time(({rise('copilot_cost_usd_total', '1d')} > 0)[7d:1d] offset 1d)"
LAST_HOUR = rise("copilot_cost_usd_total", "1h")
# As the spike alert has it: the median of the active hours.
USUAL_HOUR = f"quantile_over_time(0.5, ({rise('copilot_cost_usd_total', '1h')} > 0)[7d:1h] offset 1d)"


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
                                ("E", who(CACHE_HITS)),
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
                            f"sort_desc({who(f'{LAST_DAY} / ({USUAL_DAY} > 0)')})",
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
                        table(
                            "Last hour against own usual hour",
                            "Spend of the last hour beside the median of the active hours of the week before, as the spike alert "
                            "measures it, and the dearest hour of the time range. More than three times the usual hour is a "
                            "spike if it is also above the floor in the rules' settings.",
                            [
                                ("A", who(LAST_HOUR)),
                                ("B", who(USUAL_HOUR)),
                                ("C", who(f"{LAST_HOUR} / ({USUAL_HOUR} > 0)")),
                                ("D", who(f"max_over_time(({LAST_HOUR})[$__range:1h])")),
                            ],
                            [
                                ("who", "Who", {}),
                                ("A", "Last hour", {"unit": "currencyUSD", "decimals": 2}),
                                ("B", "Usual hour", {"unit": "currencyUSD", "decimals": 2}),
                                (
                                    "C",
                                    "Times usual",
                                    {
                                        "unit": "none",
                                        "decimals": 1,
                                        "custom.cellOptions": {"type": "color-text"},
                                        "color": {"mode": "thresholds"},
                                        "thresholds": steps(GREEN, (2, YELLOW), (3, ORANGE), (5, RED)),
                                    },
                                ),
                                ("D", "Dearest hour", {"unit": "currencyUSD", "decimals": 2, **gauge_cell(ORANGE)}),
                            ],
                            "Times usual",
                            drop=["user", "instance", "host", "team", "project", "surface"],
                        ),
                    ),
                ],
            ),
            (
                10,
                [
                    (
                        8,
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
                        16,
                        table(
                            "Who uses which model",
                            "Spend and calls of the time range by model, and the model's share of that row's own spend: a dear "
                            "model with a small share is somebody trying it, or an accident.",
                            [
                                ("A", who(f"{BY_MODEL} > 0")),
                                ("B", who(f"{BY_MODEL} / on ($by) group_left () ({COST} > 0)")),
                                ("C", who(BY_MODEL.replace("cost_usd", "calls"))),
                            ],
                            [
                                ("who", "Who", {}),
                                ("model", "Model", {}),
                                ("A", "Spend", {"unit": "currencyUSD", "decimals": 2, **gauge_cell(BLUE)}),
                                ("B", "Share of own spend", {"unit": "percentunit", "decimals": 0}),
                                ("C", "Calls", {"unit": "locale", "decimals": 0}),
                            ],
                            "Spend",
                            drop=["user", "instance", "host", "team", "project", "surface"],
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
