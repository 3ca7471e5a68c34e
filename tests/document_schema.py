"""The JSON object of `loadgen --output-format json`, schema loadgen/1, as a JSON Schema."""

from __future__ import annotations

from typing import Any, Final

_COUNT: Final = {"type": "integer", "minimum": 0}
_FIGURE: Final = {"type": ["number", "null"], "minimum": 0}
_NUMBER: Final = {"type": "number", "minimum": 0}

FAILURE_CLASSES: Final = (
    "dns", "refused", "connect-timeout", "tls", "reset", "closed", "stale", "timeout", "protocol", "http-4xx",
    "http-5xx", "client", "cancelled",
)  # fmt: skip

CAUSES: Final = (
    "overlapped", "concurrency-limit", "serial", "cpu-shared", "accept-queue", "connection-limit", "shed", "stall",
    "timeout", "client", "unexplained",
)  # fmt: skip


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object that has all of these and nothing else."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


FINDING: Final = {
    "type": "object",
    "properties": {
        "cause": {"enum": [*CAUSES]},
        "requests": _COUNT,
        "sentence": {"type": "string", "pattern": r"^[^\n]+\.$"},
        "evidence": {"type": "object"},
    },
    "required": ["cause", "requests", "sentence", "evidence"],
}

_TIMES: Final = ("min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms", "mean_ms")

_FAILURES: Final = {
    "type": "object",
    "propertyNames": {"enum": [*FAILURE_CLASSES]},
    "additionalProperties": {"type": "integer", "minimum": 1},
}

TARGET_FIGURES: Final = _closed(
    {
        "target": {"type": "integer", "minimum": 1},
        "requests": _COUNT,
        "ok": _COUNT,
        "failed": _COUNT,
        "failures": _FAILURES,
        **dict.fromkeys(_TIMES, _FIGURE),
    }
)

SECOND: Final = _closed(
    {"second": _COUNT, "ok": _COUNT, "failed": _COUNT, "p50_ms": _FIGURE, "p99_ms": _FIGURE, "max_ms": _FIGURE}
)

_PEAK: Final = {"type": ["integer", "null"], "minimum": 0}
PEAKS: Final = {
    "type": ["object", "null"],
    "properties": {
        **dict.fromkeys(("cpu_percent", "gc_pause_ms"), _FIGURE),
        **dict.fromkeys(
            ("rss_bytes", "threads", "descriptors", "context_switches", "queue", "in_flight", "waiting", "queue_limit"),
            _PEAK,
        ),
    },
    "required": ["cpu_percent", "gc_pause_ms", "rss_bytes", "threads", "descriptors", "context_switches", "queue"],
    "additionalProperties": False,
}

RUN: Final = _closed(
    {
        "run": {"type": "integer", "minimum": 1},
        "address": {"type": "string"},
        "requests": {"type": "integer", "minimum": 1},
        "concurrency": _COUNT,
        "ok": _COUNT,
        "failed": _COUNT,
        "failures": _FAILURES,
        "statuses": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "wall_ms": _FIGURE,
        **dict.fromkeys(_TIMES, _FIGURE),
        "percentiles": {"enum": ["exact", "histogram"]},
        "over_ms": {"type": "integer", "minimum": 1},
        "over": _COUNT,
        "service": {"anyOf": [{"type": "null"}, _closed(dict.fromkeys(_TIMES, _FIGURE))]},
        "lateness": {"anyOf": [{"type": "null"}, _closed(dict.fromkeys(("p50_ms", "p99_ms", "max_ms"), _NUMBER))]},
        "release_ms": _FIGURE,
        "resent": {"type": ["integer", "null"], "minimum": 0},
        "throughput_rps": _FIGURE,
        "bytes_in": _COUNT,
        "server_timing": {
            "type": "object",
            "maxProperties": 8,
            "additionalProperties": _closed({"p50_ms": _NUMBER, "p99_ms": _NUMBER, "max_ms": _NUMBER, "count": _COUNT}),
        },
        "with_server_timing": _COUNT,
        "trusted": {"type": "boolean"},
        "interrupted": {"type": "boolean"},
        "seconds": {"type": "array", "items": SECOND},
        "client": _closed(
            {
                "cpu_percent": _NUMBER,
                "loop_lag_p99_ms": _NUMBER,
                "loop_lag_max_ms": _NUMBER,
                "workers": {"type": "integer", "minimum": 1},
                "all_cpu_percent": _NUMBER,
                "lost_workers": _COUNT,
            }
        ),
        "targets": {"type": "array", "items": TARGET_FIGURES},
        "cluster": {
            "anyOf": [
                {"type": "null"},
                _closed(
                    {
                        "scheduler": {"type": "string"},
                        "workers": {"type": "integer", "minimum": 1},
                        "clock_uncertainty_ms": _NUMBER,
                        "release_spread_ms": _FIGURE,
                    }
                ),
            ]
        },
        "resources": {"anyOf": [{"type": "null"}, _closed({"server": PEAKS, "client": PEAKS})]},
        "findings": {"type": "array", "items": FINDING},
        "objectives": {
            "type": "array",
            "items": _closed({"objective": {"type": "string"}, "value": _FIGURE, "met": {"type": ["boolean", "null"]}}),
        },
    }
)

_TARGET: Final[dict[str, Any]] = {
    "url": {"type": "string", "pattern": "^https?://"},
    "method": {"type": "string"},
    "headers": {"type": "array", "items": {"type": "array", "items": {"type": "string"}, "minItems": 2}},
    "body_bytes": _COUNT,
}

PLAN: Final = _closed(
    {
        **_TARGET,
        "targets": {"type": "array", "items": _closed({**_TARGET, "weight": {"type": "integer", "minimum": 1}})},
        "requests": {"type": ["integer", "null"], "minimum": 1},
        "concurrency": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["burst", "closed", "open"]},
        "stages": {"type": "array", "items": {"type": "array", "items": _NUMBER, "minItems": 3, "maxItems": 3}},
        "arrivals": {"enum": ["constant", "poisson", None]},
        "seed": {"type": "integer"},
        "think_s": _NUMBER,
        "keepalive": {"type": "boolean"},
        "preconnect": {"type": "boolean"},
        "timeout_s": _NUMBER,
        "connect_timeout_s": _FIGURE,
        "runs": {"type": "integer", "minimum": 1},
        "warmup": _COUNT,
        "pause_s": _NUMBER,
        "over_ms": {"type": "integer", "minimum": 1},
        "engine": {"enum": ["wire", "aiohttp", "httpx"]},
        "http2": {"type": "boolean"},
        "server_timing": {"type": "boolean"},
        "objectives": {"type": "array", "items": {"type": "string"}},
        "workers": {"type": "integer", "minimum": 1},
        "scheduler": {"type": ["string", "null"]},
    }
)

DOCUMENT: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_closed(
        {
            "schema": {"const": "loadgen/1"},
            "plan": PLAN,
            "environment": {
                "type": "object",
                "required": ["loadrig", "python", "os", "kernel", "machine", "cpus"],
            },
            "all_runs": {"type": "array", "items": {"type": "string"}},
            "runs": {"type": "array", "items": RUN},
        }
    ),
}
