"""The dashboards as code: one module a dashboard, what they share in `board` and `panels`."""
