"""The protocol-buffer form of Prometheus's metrics: the only one in which it takes native histograms.

Written by hand, for it is a dozen fields: io.prometheus.client.MetricFamily of prometheus/client_model's metrics.proto,
each message behind its length. Field numbers below are that file's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.samples import NativeHistogram, Sample

CONTENT_TYPE: Final = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"

_TYPES: Final = {"counter": 0, "gauge": 1, "histogram": 4}
_VALUE_FIELD: Final = {"counter": 3, "gauge": 2}
"""Where in a Metric its value stands."""


def encode(families: Iterable[Metric]) -> bytes:
    """The families, one message after another."""
    return b"".join(_behind_length(_family(family)) for family in families)


def _family(family: Metric) -> bytes:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    head = _text(1, name) + _text(2, family.documentation) + _number(3, _TYPES[family.type])
    if family.type == "histogram":
        return head + _message(4, _message(7, _histogram(family.samples)))
    return head + b"".join(
        _message(4, _labels(sample) + _message(_VALUE_FIELD[family.type], _double(1, sample.value)))
        for sample in family.samples
    )


def _labels(sample: Sample) -> bytes:
    return b"".join(_message(1, _text(1, name) + _text(2, value)) for name, value in sample.labels.items())


def _histogram(samples: Sequence[Sample]) -> bytes:
    """The one histogram that has no labels, its classic buckets and its native ones."""
    parts = []
    for sample in samples:
        if sample.native_histogram is not None:
            parts.append(_native(sample.native_histogram))
        elif sample.name.endswith("_count"):
            parts.append(_number(1, int(sample.value)))
        elif sample.name.endswith("_sum"):
            parts.append(_double(2, sample.value))
        elif (bound := float(sample.labels["le"])) != float("inf"):
            parts.append(_message(3, _number(1, int(sample.value)) + _double(2, bound)))
    return b"".join(parts)


def _native(native: NativeHistogram) -> bytes:
    spans = b"".join(
        _message(12, _number(1, _zigzag(offset)) + _number(2, length)) for offset, length in native.pos_spans or ()
    )
    deltas = b"".join(_varint(_zigzag(delta)) for delta in native.pos_deltas or ())
    zero = _double(6, native.zero_threshold) + _number(7, int(native.zero_count))
    return _number(5, _zigzag(native.schema)) + zero + spans + _message(13, deltas)


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*groups, value))


def _zigzag(value: int) -> int:
    """A signed number as protocol buffers' sint32 and sint64 have it."""
    return 2 * value if value >= 0 else -2 * value - 1


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _behind_length(content)


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _behind_length(content: bytes) -> bytes:
    return _varint(len(content)) + content
