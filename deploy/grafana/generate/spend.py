"""Spend: what it costs, where it goes, and whether it stays within budget."""

from . import board
from .board import TARGET, USAGE
from .panels import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    YELLOW,
    bars,
    gauge_cell,
    link,
    series,
    share,
    stat,
    steps,
    table,
    target,
)

COST = f"increase(copilot_cost_usd_total{{{USAGE}}}[$__range])"
CALLS = f"increase(copilot_calls_total{{{USAGE}}}[$__range])"
UNPRICED = f"increase(copilot_unpriced_calls_total{{{USAGE}}}[$__range])"
PRICED_CALLS = f"(sum({CALLS}) - (sum({UNPRICED}) or vector(0)) > 0)"
MONTH = f'sum(copilot_window_cost_usd{{{USAGE}, window="month"}})'
ELAPSED = "((day_of_month() - 1 + hour() / 24 + minute() / 1440) / days_in_month())"


def price(token_type):
    return f'max by (model) (copilot_model_price_usd_per_million_tokens{{{TARGET}, token_type="{token_type}"}})'


def tokens(token_type):
    return f'sum by (model) (increase(copilot_tokens_total{{{USAGE}, token_type="{token_type}"}}[$__range]))'


SAVED = (
    f"(sum({tokens('cache_read')} * on (model) ({price('input')} - on (model) {price('cache_read')}))"
    f" - (sum({tokens('cache_write')} * on (model) ({price('cache_write')} - on (model) {price('input')})) or vector(0)))"
    " / 1e6"
)

ALLOWANCE_USED = (
    f'sum(copilot_window_cost_usd{{{TARGET}, provider="copilot", window="month"}}'
    f" and on (job, instance) copilot_plan_allowance_credits{{{TARGET}}})"
    f" * 100 / sum(copilot_plan_allowance_credits{{{TARGET}}})"
)

# What the recording rules say of everybody together.
TEAM_MONTH = "copilot:cost_usd:month"
TEAM_FORECAST = "copilot:cost_usd:month_forecast"
TEAM_BUDGET = "on () (copilot_setting:month_budget_usd > 0)"

BUDGET_STEPS = steps(GREEN, (0.75, YELLOW), (0.9, ORANGE), (1, RED))


def now():
    return (
        "Now",
        [
            (
                4,
                [
                    (
                        4,
                        stat(
                            "Spend today",
                            "Cost of the calls made since midnight, by each exporter's own time zone. Does not depend on "
                            "the time range.",
                            "currencyUSD",
                            f'sum(copilot_window_cost_usd{{{USAGE}, window="today"}})',
                            BLUE,
                            decimals=2,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Month to date",
                            "Cost of the calls made since the first of the month, by each exporter's own time zone. Does "
                            "not depend on the time range.",
                            "currencyUSD",
                            MONTH,
                            BLUE,
                            decimals=2,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Forecast for the month",
                            "Month to date divided by the part of the month that has passed (UTC): where the month ends if "
                            "it goes on like this. Rough in the first days; none before a twentieth of the month has passed.",
                            "currencyUSD",
                            f"{MONTH} / on () ({ELAPSED} >= 0.05)",
                            PURPLE,
                            decimals=2,
                            empty="too early",
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Spend in the time range",
                            "Increase of the cost counters over the chosen time range. Increases are extrapolated to the "
                            "edges of the range, so the last digits may differ from the reports.",
                            "currencyUSD",
                            f"sum({COST})",
                            BLUE,
                            decimals=2,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Cost per call",
                            "Cost of the time range divided by its calls, those without a known price left out of both.",
                            "currencyUSD",
                            f"sum({COST}) / {PRICED_CALLS}",
                            decimals=4,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Cost per session",
                            "Cost of the time range divided by the conversations that began in it.",
                            "currencyUSD",
                            f"sum({COST}) / (sum(increase(copilot_sessions_total{{{USAGE}}}[$__range])) > 0)",
                            decimals=2,
                        ),
                    ),
                ],
            ),
            (
                6,
                [
                    (
                        6,
                        bars(
                            "Budgets used",
                            "Part of each budget from the exporters' configuration that its current window has spent; the "
                            "fullest one where several exporters have a budget of the same name.",
                            "percentunit",
                            f"sort_desc(max by (budget) (copilot_budget_used_ratio{{{TARGET}}}))",
                            "{{budget}}",
                            max=1,
                            color={"mode": "thresholds"},
                            thresholds=BUDGET_STEPS,
                            empty="no budget configured",
                        ),
                    ),
                    (
                        5,
                        stat(
                            "Team's budget",
                            "Everybody's month to date, and its forecast, against the team's budget in settings.yml of the rules "
                            "(month_budget_usd). Laptops that sleep are included; filters don't apply.",
                            "percentunit",
                            [
                                target(f"{TEAM_MONTH} / {TEAM_BUDGET}", "used", instant=True),
                                target(
                                    f"{TEAM_FORECAST} / {TEAM_BUDGET} and on () ({ELAPSED} >= 0.05)",
                                    "forecast",
                                    instant=True,
                                    ref="B",
                                ),
                            ],
                            thresholds=BUDGET_STEPS,
                            decimals=0,
                            text_mode="value_and_name",
                            empty="no budget",
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Plan allowance used",
                            "Copilot spend of the month in credits (1 credit is 0.01 USD) against the credits that the "
                            "configured plans include, over the exporters that know their plan.",
                            "percentunit",
                            ALLOWANCE_USED,
                            thresholds=BUDGET_STEPS,
                            decimals=0,
                            empty="no plan",
                        ),
                    ),
                    (
                        3,
                        stat(
                            "Credits reported",
                            "AI credits that Copilot itself reported for the calls of the time range. Calls of stores that "
                            "tell no credits are priced by list and are not in here.",
                            "short",
                            f"sum(increase(copilot_ai_credits_total{{{USAGE}}}[$__range]))",
                            decimals=1,
                        ),
                    ),
                    (
                        3,
                        stat(
                            "Saved by the cache",
                            "What the cache reads of the time range would have cost more as uncached input, less the extra "
                            "charge of cache writes; at today's list prices.",
                            "currencyUSD",
                            SAVED,
                            GREEN,
                            decimals=2,
                        ),
                    ),
                    (
                        3,
                        stat(
                            "Unpriced calls",
                            "Calls of the time range whose cost is unknown. They are in no amount of this dashboard: give "
                            "their model a price in the configuration.",
                            "locale",
                            f"sum({UNPRICED})",
                            thresholds=steps(GREEN, (0.5, ORANGE)),
                            decimals=0,
                        ),
                    ),
                ],
            ),
        ],
    )


def where():
    return (
        "Where it goes",
        [
            (
                9,
                [
                    (
                        17,
                        series(
                            "Spend over time, by model",
                            "Cost per interval, at least an hour. Each column is the increase over its interval.",
                            "currencyUSD",
                            [
                                target(
                                    f"sum by (model) (increase(copilot_cost_usd_total{{{USAGE}}}[$__interval])) > 0",
                                    "{{model}}",
                                )
                            ],
                            stacked=True,
                            columns=True,
                            interval="1h",
                            maxDataPoints=200,
                        ),
                    ),
                    (
                        7,
                        bars(
                            "By model",
                            "Cost of the time range of the ten dearest models.",
                            "currencyUSD",
                            f"sort_desc(topk(10, sum by (model) ({COST}) > 0))",
                            "{{model}}",
                            decimals=2,
                            color={"mode": "continuous-BlPu"},
                        ),
                    ),
                ],
            ),
            (
                9,
                [
                    (
                        9,
                        bars(
                            "By project",
                            "Cost of the time range of the ten dearest projects.",
                            "currencyUSD",
                            f"sort_desc(topk(10, sum by (project) ({COST}) > 0))",
                            "{{project}}",
                            decimals=2,
                            color={"mode": "continuous-BlPu"},
                        ),
                    ),
                    (
                        8,
                        bars(
                            "By user",
                            "Cost of the time range of the ten dearest users. Users are told apart only where an exporter "
                            "reads several homes, or adds a label user.",
                            "currencyUSD",
                            f"sort_desc(topk(10, sum by (user) ({COST}) > 0))",
                            "{{user}}",
                            decimals=2,
                            color={"mode": "continuous-BlPu"},
                        ),
                    ),
                    (
                        7,
                        share(
                            "By surface",
                            "Cost of the time range by the place where people worked: terminal, desktop app or editor.",
                            "currencyUSD",
                            f"sort_desc(sum by (surface) ({COST}) > 0)",
                            "{{surface}}",
                            decimals=2,
                        ),
                    ),
                ],
            ),
            (
                12,
                [
                    (
                        17,
                        table(
                            "The ten dearest pairs of project and model",
                            "Where a change of model would matter most. A click on a project or a model shows its usage.",
                            [
                                ("A", f"topk(10, sum by (project, model) ({COST}) > 0)"),
                                ("B", f"sum by (project, model) ({CALLS}) > 0"),
                                ("C", f"sum by (project, model) ({COST}) / (sum by (project, model) ({CALLS}) > 0)"),
                            ],
                            [
                                ("project", "Project", link("Usage of this project", "copilot-usage", "project", "Project")),
                                ("model", "Model", link("Usage of this model", "copilot-usage", "model", "Model")),
                                ("A", "Spend", {"unit": "currencyUSD", "decimals": 2, **gauge_cell(BLUE)}),
                                ("B", "Calls", {"unit": "locale", "decimals": 0, "custom.width": 100}),
                                ("C", "Per call", {"unit": "currencyUSD", "decimals": 4, "custom.width": 110}),
                            ],
                            "Spend",
                            limit=10,
                        ),
                    ),
                    (
                        7,
                        share(
                            "How we know",
                            "reported: the charge as Copilot recorded it. list_price: tokens at the list price of the call's "
                            "day, for stores that record no charge and for people's own providers.",
                            "currencyUSD",
                            f"sum by (basis) ({COST}) > 0",
                            "{{basis}}",
                            decimals=2,
                        ),
                    ),
                ],
            ),
        ],
    )


def efficiency():
    per_model = "sum by (model) (increase({}[$__interval]))"
    cost = per_model.format(f"copilot_cost_usd_total{{{USAGE}}}")
    calls = per_model.format(f"copilot_calls_total{{{USAGE}}}")
    volume = per_model.format(f"copilot_tokens_total{{{USAGE}}}")
    return (
        "Efficiency",
        [
            (
                8,
                [
                    (
                        12,
                        series(
                            "Cost per call, by model",
                            "Cost divided by calls per interval. A rise at the same model means longer prompts or a colder "
                            "cache.",
                            "currencyUSD",
                            [target(f"{cost} / ({calls} > 0) > 0", "{{model}}")],
                            interval="3h",
                            maxDataPoints=120,
                            custom={"showPoints": "auto", "pointSize": 4, "spanNulls": 86_400_000},
                        ),
                    ),
                    (
                        12,
                        series(
                            "Cost per million tokens, by model",
                            "What a million tokens cost in the mix of uncached input, cache and output that was really used.",
                            "currencyUSD",
                            [target(f"1e6 * {cost} / ({volume} > 0) > 0", "{{model}}")],
                            interval="3h",
                            maxDataPoints=120,
                            custom={"showPoints": "auto", "pointSize": 4, "spanNulls": 86_400_000},
                        ),
                    ),
                ],
            )
        ],
    )


def budgets():
    def of(metric):
        return f"max by (budget, instance) ({metric}{{{TARGET}}})"

    forecast_steps = {"mode": "absolute", "steps": BUDGET_STEPS["steps"]}
    return (
        "Budgets",
        [
            (
                7,
                [
                    (
                        24,
                        table(
                            "Budgets",
                            "Each budget of each exporter: its amount, what is used, and where a straight line from the "
                            "start of the window through now ends.",
                            [
                                ("A", of("copilot_budget_usd")),
                                ("B", of("copilot_budget_used_ratio")),
                                ("C", of("copilot_budget_forecast_usd")),
                                ("D", f"{of('copilot_budget_forecast_usd')} / {of('copilot_budget_usd')}"),
                            ],
                            [
                                ("budget", "Budget", {}),
                                ("instance", "Exporter", {}),
                                ("A", "Amount", {"unit": "currencyUSD", "decimals": 2}),
                                (
                                    "B",
                                    "Used",
                                    {
                                        **gauge_cell(GREEN),
                                        "unit": "percentunit",
                                        "decimals": 0,
                                        "max": 1,
                                        "color": {"mode": "thresholds"},
                                        "thresholds": BUDGET_STEPS,
                                    },
                                ),
                                ("C", "Forecast", {"unit": "currencyUSD", "decimals": 2}),
                                (
                                    "D",
                                    "Forecast against amount",
                                    {
                                        "unit": "percentunit",
                                        "decimals": 0,
                                        "custom.cellOptions": {"type": "color-text"},
                                        "color": {"mode": "thresholds"},
                                        "thresholds": forecast_steps,
                                    },
                                ),
                            ],
                            "Used",
                            empty="no budget configured",
                        ),
                    )
                ],
            )
        ],
    )


def dashboard():
    return board.dashboard(
        "copilot-spend",
        "Copilot / Spend",
        "What GitHub Copilot costs, where the money goes, and whether it stays within budget.",
        board.chain("job", "instance", *board.FILTERS),
        [now(), where(), efficiency(), budgets()],
    )
