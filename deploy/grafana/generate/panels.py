"""The kinds of panels, with one way to look for each."""

from .board import DATASOURCE

GREEN, YELLOW, ORANGE, RED, BLUE, PURPLE = "green", "yellow", "orange", "red", "blue", "purple"

# One colour a token class, on every dashboard.
TOKEN_COLORS = {"input": BLUE, "cache_read": GREEN, "cache_write": YELLOW, "output": PURPLE}

NOTHING = "nothing yet"


def target(expr, legend="", instant=False, table=False, ref="A"):
    query = {
        "refId": ref,
        "datasource": DATASOURCE,
        "expr": expr,
        "legendFormat": legend or "__auto",
        "editorMode": "code",
        "instant": instant,
        "range": not instant,
    }
    if table:
        query["format"] = "table"
    return query


def steps(*colors):
    """Thresholds: a colour, then (value, colour)…"""
    first, *rest = colors
    return {
        "mode": "absolute",
        "steps": [{"color": first, "value": None}] + [{"color": color, "value": value} for value, color in rest],
    }


def panel(kind, title, description, unit, targets, options, **extra):
    defaults = {
        "unit": unit,
        "noValue": extra.pop("empty", NOTHING),
        "color": extra.pop("color", {"mode": "palette-classic"}),
        "custom": extra.pop("custom", {}),
        "mappings": extra.pop("mappings", []),
        "thresholds": extra.pop("thresholds", steps(GREEN)),
    }
    for name in ("decimals", "min", "max", "links"):
        if name in extra:
            defaults[name] = extra.pop(name)
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": extra.pop("overrides", [])},
        "options": options,
        **extra,
    }


def stat(title, description, unit, expr, color=BLUE, **extra):
    """One number, as of the end of the time range; or some, of several targets."""
    if "thresholds" in extra:
        extra["color"] = {"mode": "thresholds"}
    else:
        extra["color"] = {"mode": "fixed", "fixedColor": color}
    options = {
        "colorMode": extra.pop("color_mode", "value"),
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": extra.pop("text_mode", "auto"),
        "wideLayout": True,
    }
    targets = [target(expr, instant=True)] if isinstance(expr, str) else expr
    return panel("stat", title, description, unit, targets, options, **extra)


def bars(title, description, unit, expr, legend, **extra):
    """Named values, the largest first."""
    options = {
        "displayMode": "gradient",
        "orientation": "horizontal",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showUnfilled": True,
        "valueMode": "color",
        "namePlacement": "top",
        "minVizHeight": 28,
        "maxVizHeight": 40,
        "minVizWidth": 8,
        "sizing": "manual",
    }
    extra.setdefault("min", 0)
    return panel("bargauge", title, description, unit, [target(expr, legend, instant=True)], options, **extra)


def share(title, description, unit, expr, legend, **extra):
    """Parts of a whole."""
    options = {
        "pieType": "donut",
        "displayLabels": [],
        "legend": {
            "showLegend": True,
            "displayMode": "table",
            "placement": "right",
            "values": ["percent", "value"],
        },
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "tooltip": {"mode": "single", "sort": "desc"},
    }
    return panel("piechart", title, description, unit, [target(expr, legend, instant=True)], options, **extra)


def series(title, description, unit, targets, stacked=False, columns=False, legend="list", **extra):
    """Values over time: lines, or stacked areas, or columns (sums per interval)."""
    custom = {
        "drawStyle": "bars" if columns else "line",
        "lineInterpolation": "linear",
        "lineWidth": 1 if columns or stacked else 2,
        "fillOpacity": 80 if columns else 35 if stacked else 0,
        "gradientMode": "none" if columns else "opacity",
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": stacked if isinstance(stacked, str) else "normal" if stacked else "none", "group": "A"},
        "axisSoftMin": 0,
        "barWidthFactor": 0.85,
        **extra.pop("custom", {}),
    }
    options = {
        "legend": {
            "showLegend": True,
            "displayMode": legend,
            "placement": "right" if legend == "table" else "bottom",
            "calcs": extra.pop("calcs", []),
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return panel("timeseries", title, description, unit, targets, options, custom=custom, **extra)


def table(title, description, queries, columns, sort, **extra):
    """Rows by label. `queries` are (ref, expr); `columns` are (field, name, {property: value}), in order, where
    a field is a label or the ref of a query."""
    targets = [target(expr, instant=True, table=True, ref=ref) for ref, expr in queries]
    refs = {ref for ref, _ in queries}
    joined = len(queries) > 1
    # Grafana calls the value of a lone table query `Value`, those of several `Value #A`, `Value #B`, …
    field = {ref: f"Value #{ref}" if joined else "Value" for ref in refs}
    names = {field.get(name, name): heading for name, heading, _ in columns}
    transformations = [{"id": "merge", "options": {}}] if joined else []
    transformations += [
        {
            "id": "organize",
            "options": {
                "excludeByName": {"Time": True, **{name: True for name in extra.pop("drop", [])}},
                "indexByName": {name: n for n, name in enumerate(names)},
                "renameByName": names,
            },
        },
        {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": sort, "desc": True}]}},
    ]
    if limit := extra.pop("limit", None):
        transformations.append({"id": "limit", "options": {"limitField": str(limit)}})
    overrides = [
        {
            "matcher": {"id": "byName", "options": heading},
            "properties": [{"id": name, "value": value} for name, value in {"noValue": "–", **properties}.items()],
        }
        for _, heading, properties in columns
    ]
    options = {"showHeader": True, "cellHeight": "sm", "footer": {"show": False, "reducer": ["sum"], "fields": ""}}
    return panel(
        "table",
        title,
        description,
        extra.pop("unit", "short"),
        targets,
        options,
        overrides=overrides,
        transformations=transformations,
        custom={"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True},
        **extra,
    )


def colored(colors):
    """Overrides that give named series fixed colours."""
    return [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}],
        }
        for name, color in colors.items()
    ]


def gauge_cell(color):
    """A table cell with a bar behind its number."""
    return {
        "custom.cellOptions": {"type": "gauge", "mode": "gradient", "valueDisplayMode": "text"},
        "color": {"mode": "fixed", "fixedColor": color},
        "min": 0,
        # The longest bar is the column's largest value, not the table's.
        "fieldMinMax": True,
    }


def link(title, uid, variable, field):
    """A data link of a column to another dashboard, filtered by the row's value."""
    url = f"/d/{uid}?${{__url_time_range}}&var-{variable}=${{__data.fields.{field}}}"
    return {"links": [{"title": title, "url": url, "targetBlank": False}]}
