"""docs/grafana.json is a dashboard that Grafana can import. That its queries are right, Prometheus tells."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import jsonschema
import pytest

from tests.metrics.test_prometheus import DASHBOARD

_DATASOURCE = {
    "type": "object",
    "properties": {"type": {"const": "prometheus"}, "uid": {"const": "${datasource}"}},
    "required": ["type", "uid"],
}
_PLACE = {"type": "integer", "minimum": 0}
_TARGET = {
    "type": "object",
    "properties": {
        "refId": {"pattern": "^[A-Z]$"},
        "expr": {"type": "string", "minLength": 1},
        "datasource": _DATASOURCE,
    },
    "required": ["refId", "expr", "datasource", "legendFormat"],
}
_PANEL = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "type": {"enum": ["row", "stat", "timeseries", "heatmap"]},
        "title": {"type": "string", "minLength": 1},
        "gridPos": {"type": "object", "properties": dict.fromkeys("hwxy", _PLACE), "required": [*"hwxy"]},
    },
    "required": ["id", "type", "title", "gridPos"],
    "if": {"properties": {"type": {"const": "row"}}},
    "else": {
        "properties": {"datasource": _DATASOURCE, "targets": {"type": "array", "minItems": 1, "items": _TARGET}},
        "required": ["datasource", "description", "targets", "fieldConfig", "options"],
    },
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "schemaVersion": {"type": "integer", "minimum": 36},
        "panels": {"type": "array", "minItems": 10, "items": _PANEL},
        "templating": {
            "type": "object",
            "properties": {"list": {"type": "array", "contains": {"properties": {"name": {"const": "datasource"}}}}},
            "required": ["list"],
        },
    },
    "required": ["title", "uid", "schemaVersion", "panels", "templating", "time", "refresh"],
    "not": {"required": ["id"]},  # it would be that of another one's database
}


@pytest.fixture
def dashboard() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return parsed


def test_its_structure_is_that_of_a_dashboard(dashboard: dict[str, Any]) -> None:
    jsonschema.validate(dashboard, _SCHEMA)


def test_panels_have_their_own_number_and_place(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert max(Counter(panel["id"] for panel in panels).values()) == 1
    squares = Counter(
        (place["x"] + right, place["y"] + down)
        for place in (panel["gridPos"] for panel in panels)
        for right in range(place["w"])
        for down in range(place["h"])
    )
    assert max(squares.values()) == 1
    assert max(x for x, _ in squares) < 24


def test_a_variable_that_is_used_is_there(dashboard: dict[str, Any]) -> None:
    names = {variable["name"] for variable in dashboard["templating"]["list"]}
    assert names == {"datasource", "generator", "server"}
