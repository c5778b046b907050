"""Exporter: whether the numbers of the other dashboards can be trusted."""

from . import board
from .board import TARGET
from .panels import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    YELLOW,
    bars,
    colored,
    series,
    stat,
    steps,
    table,
    target,
)


def own(metric, extra=""):
    return f"{metric}{{{TARGET}{extra}}}"


def ratio_of_calls(part):
    return (
        f"(sum(increase({own(part)}[$__range])) or vector(0))"
        f" / (sum(increase({own('copilot_calls_total')}[$__range])) > 0)"
    )


ESTIMATED = (
    f"(sum(increase({own('copilot_estimated_tokens_total')}[$__range])) or vector(0))"
    f" / (sum(increase({own('copilot_tokens_total')}[$__range])) > 0)"
)


def health():
    return (
        "Health",
        [
            (
                4,
                [
                    (
                        4,
                        stat(
                            "Exporters",
                            "Exporters that report now.",
                            "locale",
                            f"count({own('copilot_exporter_build_info')})",
                            BLUE,
                            decimals=0,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Stores with a problem",
                            "Stores that exist and could not be read whole at the last scan; their last totals stay.",
                            "locale",
                            f"count({own('copilot_exporter_store_up')} == 0) or"
                            f" 0 * count({own('copilot_exporter_store_up')})",
                            thresholds=steps(GREEN, (1, RED)),
                            decimals=0,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Oldest scan",
                            "How long ago the exporter that is furthest behind scanned last.",
                            "s",
                            f"max(time() - {own('copilot_exporter_last_scan_timestamp_seconds')})",
                            thresholds=steps(GREEN, (180, YELLOW), (900, RED)),
                            decimals=0,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Calls without a price",
                            "Part of the calls of the time range whose cost is unknown, and in no amount.",
                            "percentunit",
                            ratio_of_calls("copilot_unpriced_calls_total"),
                            thresholds=steps(GREEN, (0.001, YELLOW), (0.02, ORANGE), (0.1, RED)),
                            decimals=2,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Estimated tokens",
                            "Part of the tokens of the time range that is estimated from text length.",
                            "percentunit",
                            ESTIMATED,
                            thresholds=steps(GREEN, (0.05, YELLOW), (0.25, ORANGE)),
                            decimals=2,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Partly known calls",
                            "Part of the calls of the time range of which a store tells only some token classes: their tokens "
                            "are a lower bound.",
                            "percentunit",
                            ratio_of_calls("copilot_partial_calls_total"),
                            thresholds=steps(GREEN, (0.02, YELLOW), (0.1, ORANGE)),
                            decimals=2,
                        ),
                    ),
                ],
            ),
            (
                8,
                [
                    (
                        24,
                        table(
                            "Exporters",
                            "Every exporter that reports now.",
                            [
                                ("A", f"max by (instance, version) ({own('copilot_exporter_build_info')})"),
                                ("B", f"max by (instance) (time() - {own('copilot_exporter_last_scan_timestamp_seconds')})"),
                                ("C", f"max by (instance) ({own('copilot_exporter_scan_duration_seconds')})"),
                                ("D", f"count by (instance) ({own('copilot_exporter_store_up')} == 1)"),
                                ("E", f"1000 * max by (instance) ({own('copilot_exporter_ledger_epoch_timestamp_seconds')})"),
                                ("F", f"1000 * max by (instance) ({own('copilot_last_call_timestamp_seconds')})"),
                                ("G", f"max by (instance) ({own('process_resident_memory_bytes')})"),
                                ("H", f"max by (instance) (rate({own('process_cpu_seconds_total')}[$__rate_interval]))"),
                            ],
                            [
                                ("instance", "Exporter", {}),
                                ("version", "Version", {}),
                                (
                                    "B",
                                    "Scanned",
                                    {
                                        "unit": "s",
                                        "decimals": 0,
                                        "custom.cellOptions": {"type": "color-text"},
                                        "color": {"mode": "thresholds"},
                                        "thresholds": steps(GREEN, (180, YELLOW), (900, RED)),
                                    },
                                ),
                                ("C", "Scan took", {"unit": "s"}),
                                ("D", "Stores read", {"unit": "locale", "decimals": 0}),
                                ("F", "Last call", {"unit": "dateTimeFromNow"}),
                                ("E", "Ledger born", {"unit": "dateTimeAsIso"}),
                                ("G", "Memory", {"unit": "bytes"}),
                                ("H", "CPU", {"unit": "percentunit", "decimals": 2}),
                            ],
                            "Scanned",
                            drop=["Value #A"],
                        ),
                    )
                ],
            ),
        ],
    )


def stores():
    return (
        "Stores",
        [
            (
                9,
                [
                    (
                        14,
                        table(
                            "Stores",
                            "What Copilot writes, over all exporters: where a store is down, `copilot-exporter stores` on that "
                            "machine tells why.",
                            [
                                ("A", f"min by (store) ({own('copilot_exporter_store_up')})"),
                                ("B", f"sum by (store) ({own('copilot_exporter_store_files')})"),
                                ("C", f"max by (store) (time() - {own('copilot_exporter_store_last_success_timestamp_seconds')})"),
                                ("D", f"sum by (store) (increase({own('copilot_exporter_store_bytes_read_total')}[$__range]))"),
                                ("E", f"sum by (store) (increase({own('copilot_exporter_duplicate_observations_total')}[$__range]))"),
                            ],
                            [
                                ("store", "Store", {}),
                                (
                                    "A",
                                    "State",
                                    {
                                        "custom.cellOptions": {"type": "color-text"},
                                        "color": {"mode": "thresholds"},
                                        "thresholds": steps(RED, (1, GREEN)),
                                        "mappings": [
                                            {
                                                "type": "value",
                                                "options": {"0": {"text": "down", "index": 0}, "1": {"text": "up", "index": 1}},
                                            }
                                        ],
                                    },
                                ),
                                ("B", "Files", {"unit": "locale", "decimals": 0}),
                                ("C", "Read whole", {"unit": "s", "decimals": 0}),
                                ("D", "Bytes read", {"unit": "bytes"}),
                                ("E", "Duplicates", {"unit": "locale", "decimals": 0}),
                            ],
                            "Files",
                            empty="no store found",
                        ),
                    ),
                    (
                        10,
                        series(
                            "Time since a store was read whole",
                            "Grows while a store has a problem.",
                            "s",
                            [
                                target(
                                    f"max by (store) (time() - {own('copilot_exporter_store_last_success_timestamp_seconds')})",
                                    "{{store}}",
                                )
                            ],
                            empty="no store found",
                        ),
                    ),
                ],
            ),
            (
                6,
                [
                    (
                        12,
                        series(
                            "Records not understood",
                            "Records that should have been understood and were not, by store and reason. Usually a new version "
                            "of a client: worth an issue.",
                            "short",
                            [
                                target(
                                    f"sum by (store, reason) (increase({own('copilot_exporter_parse_errors_total')}[$__interval])) > 0",
                                    "{{store}}: {{reason}}",
                                )
                            ],
                            stacked=True,
                            columns=True,
                            interval="5m",
                            maxDataPoints=200,
                            empty="none",
                        ),
                    ),
                    (
                        12,
                        series(
                            "Records left out on purpose",
                            "Records that carry no usage or must not be counted, by store and reason.",
                            "short",
                            [
                                target(
                                    f"sum by (store, reason) (increase({own('copilot_exporter_skipped_records_total')}[$__interval])) > 0",
                                    "{{store}}: {{reason}}",
                                )
                            ],
                            stacked=True,
                            columns=True,
                            interval="5m",
                            maxDataPoints=200,
                            empty="none",
                        ),
                    ),
                ],
            ),
        ],
    )


def scans():
    return (
        "Scans and outlets",
        [
            (
                8,
                [
                    (
                        8,
                        series(
                            "Scan duration",
                            "How long the last scan took. A scan of unchanged stores costs milliseconds.",
                            "s",
                            [target(f"max by (instance) ({own('copilot_exporter_scan_duration_seconds')})", "{{instance}}")],
                        ),
                    ),
                    (
                        8,
                        series(
                            "Scans by outcome",
                            "partial: a store had a problem. failure: nothing could be committed.",
                            "short",
                            [
                                target(
                                    f"sum by (outcome) (increase({own('copilot_exporter_scans_total')}[$__rate_interval]))",
                                    "{{outcome}}",
                                )
                            ],
                            overrides=outcome_colors(),
                        ),
                    ),
                    (
                        8,
                        series(
                            "Requests answered",
                            "HTTP requests per second by handler and status.",
                            "reqps",
                            [
                                target(
                                    f"sum by (handler, code) (rate({own('copilot_exporter_http_requests_total')}[$__rate_interval]))",
                                    "{{handler}} {{code}}",
                                )
                            ],
                        ),
                    ),
                ],
            ),
            (
                8,
                [
                    (
                        8,
                        series(
                            "OTLP pushes",
                            "Pushes per interval by outcome after all retries.",
                            "short",
                            [
                                target(
                                    f"sum by (outcome) (increase({own('copilot_exporter_otlp_exports_total')}[$__rate_interval]))",
                                    "{{outcome}}",
                                )
                            ],
                            overrides=outcome_colors(),
                            empty="no push configured",
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Series held at zero",
                            "New series that wait until a scrape has seen their 0, so that increases see their first call.",
                            "locale",
                            f"sum({own('copilot_exporter_held_series')})",
                            decimals=0,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Projects without a name",
                            "Projects counted together as __other__, because an exporter has reached max_projects.",
                            "locale",
                            f"sum({own('copilot_exporter_overflowed_projects')})",
                            thresholds=steps(GREEN, (1, YELLOW)),
                            decimals=0,
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Credits of no known model",
                            "Credits that Copilot reported as spent without saying on which model, in the time range. In no "
                            "other amount.",
                            "short",
                            f"sum(increase({own('copilot_exporter_unattributed_ai_credits_total')}[$__range]))",
                            thresholds=steps(GREEN, (0.01, YELLOW)),
                            decimals=2,
                            empty="none",
                        ),
                    ),
                    (
                        4,
                        stat(
                            "Open files",
                            "Open file descriptors as a part of what an exporter may open, the highest.",
                            "percentunit",
                            f"max({own('process_open_fds')} / {own('process_max_fds')})",
                            thresholds=steps(GREEN, (0.5, YELLOW), (0.8, RED)),
                            decimals=1,
                            empty="not told by this system",
                        ),
                    ),
                ],
            ),
        ],
    )


def quality():
    return (
        "Quality of the numbers",
        [
            (
                8,
                [
                    (
                        8,
                        bars(
                            "Calls without a price, by model",
                            "Calls of the time range. Give these models a price in the configuration.",
                            "locale",
                            f"sort_desc(sum by (model) (increase({own('copilot_unpriced_calls_total')}[$__range])) > 0)",
                            "{{model}}",
                            decimals=0,
                            color={"mode": "fixed", "fixedColor": ORANGE},
                            empty="every call has a price",
                        ),
                    ),
                    (
                        8,
                        bars(
                            "Estimated tokens, by surface",
                            "Part of the tokens of the time range that is estimated from text length.",
                            "percentunit",
                            f"sort_desc(sum by (surface) (increase({own('copilot_estimated_tokens_total')}[$__range]))"
                            f" / (sum by (surface) (increase({own('copilot_tokens_total')}[$__range])) > 0) > 0)",
                            "{{surface}}",
                            decimals=1,
                            max=1,
                            color={"mode": "thresholds"},
                            thresholds=steps(GREEN, (0.05, YELLOW), (0.25, ORANGE)),
                            empty="nothing is estimated",
                        ),
                    ),
                    (
                        8,
                        table(
                            "Models",
                            "Models seen in calls, and whether a list price is known.",
                            [("A", f"max by (model, vendor, priced) ({own('copilot_model_info')})")],
                            [("model", "Model", {}), ("vendor", "Vendor", {}), ("priced", "Price known", {})],
                            "Model",
                            drop=["Value"],
                        ),
                    ),
                ],
            )
        ],
    )


def outcome_colors():
    return colored({"success": GREEN, "partial": YELLOW, "failure": RED})


def dashboard():
    return board.dashboard(
        "copilot-exporter",
        "Copilot / Exporter",
        "Whether the numbers can be trusted: stores, scans, freshness, and what is unpriced or estimated.",
        board.chain("job", "instance"),
        [health(), stores(), scans(), quality()],
        time="now-6h",
    )
