"""Line charts as SVG, side by side or below one another, by hand."""

import html
import math

# Okabe and Ito's palette, as in Plait's reports.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5568e", "#c78500", "#3d9fd6")
WIDTH, HEIGHT = 400, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 46, 40


class Series:
    def __init__(self, name, points, errors=None):
        """`points`: x and y. `errors`: half-widths of intervals about y, where there are some."""
        self.name, self.points, self.errors = name, points, errors or []


class Chart:
    def __init__(self, title, x, y, series, low=0.0, marks=()):
        """`low`: where the y axis begins. `marks`: values of y that a dashed line shows."""
        self.title, self.x, self.y, self.series, self.low, self.marks = title, x, y, series, low, marks

    def svg(self):
        xs, ys = zip(*[point for series in self.series for point in series.points])
        x_ticks, y_ticks = ticks(0.0, max(xs)), ticks(self.low, max(*ys, *self.marks, self.low))

        def place(x, y):
            across, up = (x - x_ticks[0]) / (x_ticks[-1] - x_ticks[0]), (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
            return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

        parts = [text(LEFT, 16, self.title, 'font-weight="bold"'), text(LEFT, TOP - 7, self.y, 'fill="#57606a"')]
        parts.append(text(WIDTH - RIGHT, HEIGHT - 6, self.x, 'fill="#57606a" text-anchor="end"'))
        for tick in y_ticks:
            _, y = place(0, tick)
            parts.append(line(LEFT, y, WIDTH - RIGHT, y, "#d8dee4"))
            parts.append(text(LEFT - 6, y + 4, f"{tick:g}", 'text-anchor="end"'))
        for tick in x_ticks:
            x, y = place(tick, y_ticks[0])
            parts.append(text(x, y + 16, f"{tick:g}", 'text-anchor="middle"'))
        for mark in self.marks:
            _, y = place(0, mark)
            parts.append(line(LEFT, y, WIDTH - RIGHT, y, "#57606a", 'stroke-dasharray="4 3"'))
        at = LEFT + 6 * len(self.y) + 14
        for series, colour in zip(self.series, COLOURS):
            points = [place(*point) for point in series.points]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{path}"/>')
            for (x, y), error in zip(series.points, series.errors):
                (across, high), (_, low) = place(x, y + (error or 0)), place(x, y - (error or 0))
                parts.append(f'<circle cx="{across:.1f}" cy="{(high + low) / 2:.1f}" r="2.4" fill="{colour}"/>')
                parts.append(line(across, high, across, low, colour))
            if len(self.series) > 1:
                parts.append(text(at, TOP - 7, series.name, f'fill="{colour}"'))
                at += 6.2 * len(series.name) + 12
        return "\n".join(parts)


def picture(charts, columns=2):
    """The charts as one picture, row by row."""
    rows = math.ceil(len(charts) / columns)
    width, height = WIDTH * min(columns, len(charts)), HEIGHT * rows
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="system-ui, sans-serif" font-size="11" fill="#1b1f24">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for number, chart in enumerate(charts):
        x, y = WIDTH * (number % columns), HEIGHT * (number // columns)
        parts.append(f'<g transform="translate({x} {y})">\n{chart.svg()}\n</g>')
    return "\n".join([*parts, "</svg>\n"])


def ticks(low, high):
    """Round values from `low` to at least `high`."""
    reach = (high - low) or 1.0
    scale = 10.0 ** math.floor(math.log10(reach / 4))
    step = next(scale * factor for factor in (1, 2, 2.5, 5, 10) if reach / (scale * factor) <= 5)
    count = math.ceil(round(reach / step, 9))
    return [low + step * number for number in range(count + 1)]


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(words)}</text>'


def line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'
