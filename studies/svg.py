"""Small pictures for pages: shapes on a canvas, and axes that turn values into places."""

import math
from xml.sax.saxutils import escape, quoteattr

INK, GREY = "#222", "#bbb"
# Okabe and Ito's palette, as in Plait's reports.
INKS = ("#0072b2", "#d55e00", "#009e73", "#b5568e")


class Canvas:
    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="sans-serif" font-size="12" fill="{INK}" role="img" '
            f"aria-label={quoteattr(title)}>",
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>']

    def line(self, points, width=1.0, ink=INK, dash=None):
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        drawn = f'fill="none" stroke="{ink}" stroke-width="{width}"{dashes}'
        self.parts.append(f'<polyline points="{places}" {drawn}/>')

    def mark(self, shape, x, y, filled, size=4.5):
        """A shape that is told from others without colour."""
        fill = INK if filled else "#fff"
        drawn = f'fill="{fill}" stroke="{INK}" stroke-width="1.2"'
        if shape == "circle":
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {drawn}/>')
            return
        corners = {"square": (45, 135, 225, 315), "diamond": (0, 90, 180, 270), "triangle": (270, 30, 150)}
        reach = size * 1.3
        places = " ".join(f"{x + reach * math.cos(math.radians(corner)):.1f},"
                          f"{y + reach * math.sin(math.radians(corner)):.1f}" for corner in corners[shape])
        self.parts.append(f'<polygon points="{places}" {drawn}/>')

    def text(self, x, y, words, anchor="start", bold=False, size=12):
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{weight}>'
                          f"{escape(words)}</text>")

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*self.parts, "</svg>"]) + "\n")


class Axis:
    """From values to places. With `plain` it is linear that far from nought and logarithmic beyond, to show
    small and large errors in one picture."""

    def __init__(self, low, high, start, end, plain=None):
        self.plain = plain
        self.low, self.high = self.bent(low), self.bent(high)
        self.start, self.end = start, end

    def bent(self, value):
        if self.plain is None or abs(value) <= self.plain:
            return value / (self.plain or 1.0)
        return math.copysign(1 + math.log10(abs(value) / self.plain), value)

    def place(self, value):
        share = (self.bent(value) - self.low) / ((self.high - self.low) or 1.0)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self, low, high):
        """Round values to write beside the axis, of which `low` and `high` are the ends."""
        if self.plain is None:
            step = 10 ** math.floor(math.log10((high - low) / 3))
            step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
            first, last = math.ceil(low / step), math.floor(high / step + 1e-9)
            return [round(at * step, 12) for at in range(first, last + 1)]
        powers, value = [0.0], self.plain
        while value <= max(abs(low), abs(high)):
            powers += [value, -value]
            value *= 10
        return sorted(power for power in powers if low <= power <= high)
