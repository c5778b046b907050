"""Usage: calls, tokens, cache, models, failures and speed."""

from . import board
from .board import USAGE
from .panels import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    TOKEN_COLORS,
    YELLOW,
    bars,
    colored,
    series,
    share,
    stat,
    steps,
    table,
    target,
)

CALLS = f"increase(copilot_calls_total{{{USAGE}}}[$__range])"
TOKENS = f"increase(copilot_tokens_total{{{USAGE}}}[$__range])"
FAILURES = f"increase(copilot_call_failures_total{{{USAGE}}}[$__range])"


def cache_hits(window, by=""):
    """Cache reads as a part of all input, over the label sets of which reads are known."""
    read = f'increase(copilot_tokens_total{{{USAGE}, token_type="cache_read"}}[{window}])'
    all_input = f'increase(copilot_tokens_total{{{USAGE}, token_type=~"input|cache_read|cache_write"}}[{window}])'
    known = f"({all_input} and ignoring (token_type) ({read} > 0))"
    return f"sum{by} ({read}) / (sum{by} ({known}) > 0)"


def overview():
    return (
        "Overview",
        [
            (
                4,
                [
                    (
                        4,
                        stat(
                            "Calls",
                            "Billed model calls of the time range, each counted once.",
                            "locale",
                            f"sum({CALLS})",
                            BLUE,
                            decimals=0,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Tokens",
                            "All tokens of the time range: uncached input, cache reads, cache writes and output.",
                            "short",
                            f"sum({TOKENS})",
                            BLUE,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Cache-hit ratio",
                            "Cache reads as a part of all input tokens. A cache read costs about a tenth of uncached input. A "
                            "lower bound where stores tell a prompt and not its cached part.",
                            "percentunit",
                            cache_hits("$__range"),
                            thresholds=steps(RED, (0.4, ORANGE), (0.6, YELLOW), (0.75, GREEN)),
                            decimals=1,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Sessions",
                            "Conversations that began in the time range.",
                            "locale",
                            f"sum(increase(copilot_sessions_total{{{USAGE}}}[$__range]))",
                            decimals=0,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Active sessions",
                            "Conversations with a call in the last minutes, now.",
                            "locale",
                            f"sum(copilot_active_sessions{{{board.TARGET}}})",
                            GREEN,
                            decimals=0,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Failed requests",
                            "Requests to a model that failed, as a part of all attempts. Only some stores record failures.",
                            "percentunit",
                            f"(sum({FAILURES}) or vector(0)) / ((sum({FAILURES}) or vector(0)) + sum({CALLS}) > 0)",
                            thresholds=steps(GREEN, (0.02, YELLOW), (0.05, ORANGE), (0.1, RED)),
                            decimals=1,
                        ),
                    ),
                ],
            )
        ],
    )


def tokens():
    return (
        "Tokens",
        [
            (
                9,
                [
                    (
                        14,
                        series(
                            "Tokens by class",
                            "Tokens per interval, in classes that do not overlap. Reasoning is inside output.",
                            "short",
                            [
                                target(
                                    f"sum by (token_type) (increase(copilot_tokens_total{{{USAGE}}}[$__interval]))",
                                    "{{token_type}}",
                                )
                            ],
                            stacked=True,
                            columns=True,
                            interval="1h",
                            maxDataPoints=200,
                            overrides=colored(TOKEN_COLORS),
                        ),
                    ),
                    (
                        10,
                        series(
                            "Cache-hit ratio, by model",
                            "Cache reads as a part of all input. Falls when prompts change at their beginning, or when people "
                            "pause longer than the cache lives.",
                            "percentunit",
                            [target(cache_hits("$__interval", " by (model)"), "{{model}}")],
                            interval="3h",
                            maxDataPoints=120,
                            max=1,
                            min=0,
                            custom={"showPoints": "auto", "pointSize": 4, "spanNulls": 86_400_000},
                        ),
                    ),
                ],
            ),
            (
                8,
                [
                    (
                        8,
                        share(
                            "Token classes",
                            "Tokens of the time range by class.",
                            "short",
                            f"sum by (token_type) ({TOKENS}) > 0",
                            "{{token_type}}",
                            overrides=colored(TOKEN_COLORS),
                        ),
                    ),
                    (
                        8,
                        bars(
                            "Output that is reasoning, by model",
                            "Reasoning tokens as a part of output tokens. Models that hide their reasoning are left out.",
                            "percentunit",
                            f"sort_desc(sum by (model) (increase(copilot_reasoning_tokens_total{{{USAGE}}}[$__range]))"
                            f' / (sum by (model) (increase(copilot_tokens_total{{{USAGE}, token_type="output"}}[$__range])) > 0)'
                            " > 0)",
                            "{{model}}",
                            max=1,
                            decimals=0,
                            color={"mode": "fixed", "fixedColor": PURPLE},
                            empty="no reasoning recorded",
                        ),
                    ),
                    (
                        8,
                        bars(
                            "Tokens per call, by model",
                            "All tokens divided by calls: how long prompts have grown.",
                            "short",
                            f"sort_desc(sum by (model) ({TOKENS}) / (sum by (model) ({CALLS}) > 0))",
                            "{{model}}",
                            color={"mode": "fixed", "fixedColor": BLUE},
                        ),
                    ),
                ],
            ),
        ],
    )


def calls():
    return (
        "Calls",
        [
            (
                9,
                [
                    (
                        14,
                        series(
                            "Calls by initiator",
                            "Who caused the calls: a user's prompt, the agent's own loop, a subagent, or a compaction.",
                            "short",
                            [
                                target(
                                    f"sum by (initiator) (increase(copilot_calls_total{{{USAGE}}}[$__interval]))",
                                    "{{initiator}}",
                                )
                            ],
                            stacked=True,
                            columns=True,
                            interval="1h",
                            maxDataPoints=200,
                        ),
                    ),
                    (
                        10,
                        series(
                            "Model mix",
                            "Share of each model in the calls, over time.",
                            "percentunit",
                            [
                                target(
                                    f"sum by (model) (increase(copilot_calls_total{{{USAGE}}}[$__interval])) > 0",
                                    "{{model}}",
                                )
                            ],
                            stacked="percent",
                            columns=True,
                            interval="6h",
                            maxDataPoints=60,
                        ),
                    ),
                ],
            ),
            (
                8,
                [
                    (
                        8,
                        share(
                            "Surfaces",
                            "Calls of the time range by the place where people worked.",
                            "locale",
                            f"sort_desc(sum by (surface) ({CALLS}) > 0)",
                            "{{surface}}",
                            decimals=0,
                        ),
                    ),
                    (
                        8,
                        share(
                            "Providers",
                            "Calls of the time range by who bills them: Copilot, or people's own providers.",
                            "locale",
                            f"sort_desc(sum by (provider) ({CALLS}) > 0)",
                            "{{provider}}",
                            decimals=0,
                        ),
                    ),
                    (
                        8,
                        table(
                            "Models",
                            "Calls and tokens of the time range by model.",
                            [("A", f"sum by (model) ({CALLS}) > 0"), ("B", f"sum by (model) ({TOKENS})")],
                            [
                                ("model", "Model", {}),
                                ("A", "Calls", {"unit": "locale", "decimals": 0, "custom.width": 90}),
                                ("B", "Tokens", {"unit": "short", "custom.width": 100}),
                            ],
                            "Calls",
                        ),
                    ),
                ],
            ),
        ],
    )


def quantile(q, metric, window="$__interval", by=""):
    return f"histogram_quantile({q}, sum by (le{by}) (increase({metric}_bucket{{{USAGE}}}[{window}])))"


def speed():
    def lines(metric):
        return [target(quantile(q, metric), name, ref=ref) for ref, q, name in [("A", 0.5, "median"), ("B", 0.95, "95th percentile")]]

    style = {"showPoints": "auto", "pointSize": 4, "spanNulls": 86_400_000}
    return (
        "Speed and failures",
        [
            (
                8,
                [
                    (
                        8,
                        series(
                            "Call duration",
                            "From request to the end of the reply, over the calls whose store tells it.",
                            "s",
                            lines("copilot_call_duration_seconds"),
                            interval="1h",
                            maxDataPoints=120,
                            custom=style,
                            empty="no call with a known duration",
                        ),
                    ),
                    (
                        8,
                        series(
                            "Time to first token",
                            "From request to the first token of the reply, over the calls whose store tells it.",
                            "s",
                            lines("copilot_time_to_first_token_seconds"),
                            interval="1h",
                            maxDataPoints=120,
                            custom=style,
                            empty="no call for which a store tells it",
                        ),
                    ),
                    (
                        8,
                        bars(
                            "Time to first token, 95th percentile by model",
                            "How long one call in twenty lets people wait, at least.",
                            "s",
                            f"sort_desc({quantile(0.95, 'copilot_time_to_first_token_seconds', '$__range', ', model')} > 0)",
                            "{{model}}",
                            decimals=1,
                            color={"mode": "thresholds"},
                            thresholds=steps(GREEN, (5, YELLOW), (10, ORANGE), (20, RED)),
                            empty="no call for which a store tells it",
                        ),
                    ),
                ],
            ),
            (
                8,
                [
                    (
                        16,
                        series(
                            "Failed requests, by reason",
                            "Requests to a model that failed and were not billed. Only some stores record them.",
                            "short",
                            [
                                target(
                                    f"sum by (reason) (increase(copilot_call_failures_total{{{USAGE}}}[$__interval])) > 0",
                                    "{{reason}}",
                                )
                            ],
                            stacked=True,
                            columns=True,
                            interval="1h",
                            maxDataPoints=200,
                            empty="no failure recorded",
                        ),
                    ),
                    (
                        8,
                        bars(
                            "Failed requests, by model",
                            "Failures of the time range by the model that was asked.",
                            "locale",
                            f"sort_desc(sum by (model) ({FAILURES}) > 0)",
                            "{{model}}",
                            decimals=0,
                            color={"mode": "fixed", "fixedColor": RED},
                            empty="no failure recorded",
                        ),
                    ),
                ],
            ),
        ],
    )


def dashboard():
    return board.dashboard(
        "copilot-usage",
        "Copilot / Usage",
        "How GitHub Copilot is used: calls, tokens, cache, models, failures and speed.",
        board.chain("job", "instance", *board.FILTERS),
        [overview(), tokens(), calls(), speed()],
    )
