"""Writes the dashboards: `python3 -m generate` in deploy/grafana. Change a dashboard here, not in its JSON."""

import json
import pathlib

from . import exporter, spend, team, usage

FOLDER = pathlib.Path(__file__).parent.parent / "dashboards"

for board in (spend, usage, team, exporter):
    dashboard = board.dashboard()
    text = json.dumps(dashboard, indent=2, ensure_ascii=False)
    (FOLDER / f"{dashboard['uid']}.json").write_text(text + "\n", encoding="utf-8")
