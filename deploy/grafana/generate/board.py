"""What every dashboard has: variables that chain, links to the others, annotations, and a grid that fills
itself."""

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

# Every filter matches series that lack its label as well (".*"): `user` exists only where several homes are
# read, and some OTLP backends set no `instance`.
ALL = ".*"

TARGET = 'job=~"$job", instance=~"$instance"'
FILTERS = ("user", "provider", "project", "model", "surface")
USAGE = ", ".join([TARGET] + [f'{name}=~"${name}"' for name in FILTERS])


def dashboard(uid, title, description, variables, rows, time="now-7d"):
    return {
        "uid": uid,
        "id": None,
        "title": title,
        "description": description,
        "tags": ["copilot"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "1m",
        "timezone": "browser",
        "time": {"from": time, "to": "now"},
        "links": [
            {
                "title": "Copilot dashboards",
                "type": "dashboards",
                "tags": ["copilot"],
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
                "targetBlank": False,
                "icon": "external link",
                "tooltip": "",
                "url": "",
            }
        ],
        "annotations": {"list": annotations()},
        "templating": {"list": variables},
        "panels": place(rows),
    }


def annotations():
    def annotation(name, expr, color, title, text, enable):
        return {
            "name": name,
            "datasource": DATASOURCE,
            "enable": enable,
            "hide": False,
            "iconColor": color,
            "expr": expr,
            "step": "60s",
            "titleFormat": title,
            "textFormat": text,
        }

    return [
        annotation(
            "Alerts",
            'ALERTS{alertname=~"Copilot.+", alertstate="firing"}',
            "red",
            "{{alertname}}",
            "{{severity}} {{project}} {{user}} {{instance}}",
            True,
        ),
        annotation(
            "Totals began anew",
            f"changes(copilot_exporter_ledger_epoch_timestamp_seconds{{{TARGET}}}[5m]) > 0",
            "purple",
            "Totals began anew",
            "{{instance}}: a new ledger. What increases show across this point is not spend.",
            True,
        ),
    ]


def datasource():
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "refresh": 1,
        "regex": "",
        "options": [],
    }


def chain(*names):
    """The data source, then `names`, each narrowed by those before it."""
    variables = [datasource()]
    matchers = []
    for name in names:
        metric = "copilot_exporter_build_info" if name in ("job", "instance") else "copilot_calls_total"
        selector = f"{metric}{{{', '.join(matchers)}}}" if matchers else metric
        variables.append(query_variable(name, f"label_values({selector}, {name})"))
        matchers.append(f'{name}=~"${name}"')
    return variables


def query_variable(name, query):
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 5,
        "multi": True,
        "includeAll": True,
        "allValue": ALL,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "hide": 0,
        "regex": "",
        "options": [],
    }


def choice(name, label, description, values):
    options = [{"text": text, "value": value, "selected": n == 0} for n, (text, value) in enumerate(values)]
    return {
        "name": name,
        "label": label,
        "description": description,
        "type": "custom",
        "query": ", ".join(f"{text} : {value}" for text, value in values),
        "current": options[0],
        "options": options,
        "multi": False,
        "includeAll": False,
        "hide": 0,
    }


def place(rows):
    """Gives every panel an id and a place: a row of panels is a title and lines; a line is a height and panels
    of (width, panel)."""
    placed = []
    y = 0
    for title, lines in rows:
        placed.append(
            {
                "type": "row",
                "title": title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": 24, "h": 1},
                "panels": [],
            }
        )
        y += 1
        for height, panels in lines:
            x = 0
            for width, panel in panels:
                placed.append({**panel, "gridPos": {"x": x, "y": y, "w": width, "h": height}})
                x += width
            assert x == 24, f"{title}: a line is {x} wide"
            y += height
    return [{"id": number, **panel} for number, panel in enumerate(placed, start=1)]
