"""Charts as PNG and SVG files, by vl-convert: no browser is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rig.report.bundle import VEGA_LITE
from rig.report.figures import Figure

_WIDTH: Final = 760
_CONFIG: Final = {
    "background": "white",
    "legend": {"orient": "top", "columns": 3, "labelLimit": 360},
}


def write_png(figure: Figure, folder: Path) -> None:
    """The chart as `<name>.png`, for screens with two pixels a point."""
    import vl_convert

    (folder / f"{figure.name}.png").write_bytes(vl_convert.vegalite_to_png(_alone(figure), VEGA_LITE, scale=2))


def write_svg(figure: Figure, folder: Path) -> None:
    """The chart as `<name>.svg`."""
    import vl_convert

    (folder / f"{figure.name}.svg").write_text(vl_convert.vegalite_to_svg(_alone(figure), VEGA_LITE), encoding="utf-8")


def _alone(figure: Figure) -> dict[str, Any]:
    """With what the page has around it: title, width, legend."""
    title = {"text": figure.title, "anchor": "start"}
    return {**figure.spec, "width": _WIDTH, "title": title, "config": _CONFIG}
