"""A figure that a notebook shows as a picture, whether pyplot was imported or not."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

__all__ = ["NotebookFigure"]

DPI = 150


class NotebookFigure(Figure):
    """A figure with the picture that IPython asks for."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=DPI)
        return buffer.getvalue()
