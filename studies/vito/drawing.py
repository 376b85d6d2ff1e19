"""Line charts side by side, with the names of their lines above."""

import math

import svg

WIDTH, HEIGHT = 400, 250
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 54, 36


class Chart:
    """Lines by their names, each with half-widths of intervals where there are some; y begins at `low`."""

    def __init__(self, title, x, lines, low=0):
        self.title, self.x, self.lines, self.low = title, x, lines, low

    def draw(self, canvas, left, top):
        points = [point for line, _ in self.lines.values() for point in line]
        far, most = max(x for x, _ in points), max(y for _, y in points)
        high = most + 0.04 * (most - self.low)
        across = svg.Axis(0, far, left + LEFT, left + WIDTH - RIGHT)
        up = svg.Axis(self.low, high, top + HEIGHT - BOTTOM, top + TOP)
        canvas.text(left + LEFT, top + 16, self.title, bold=True)
        canvas.text(left + WIDTH - RIGHT, top + HEIGHT - 6, self.x, "end", size=11)
        for tick in up.ticks(self.low, high):
            y = up.place(tick)
            canvas.line([(across.start, y), (across.end, y)], 0.5, svg.GREY)
            canvas.text(across.start - 5, y + 4, f"{tick:g}", "end", size=11)
        for tick in across.ticks(0, far):
            canvas.text(across.place(tick), up.start + 15, f"{tick:g}", "middle", size=11)
        name_at = left + LEFT + 10
        for ink, (name, (line, halves)) in zip(svg.INKS, self.lines.items()):
            canvas.line([(name_at, top + TOP - 16), (name_at + 14, top + TOP - 16)], 1.6, ink)
            canvas.text(name_at + 18, top + TOP - 12, name, size=11)
            name_at += 26 + 6 * len(name)
            canvas.line([(across.place(x), up.place(y)) for x, y in line], 1.4, ink)
            for (x, y), half in zip(line, halves):
                canvas.line([(across.place(x), up.place(y + way * (half or 0))) for way in (-1, 1)], 2.5, ink)


def save(path, title, charts):
    columns = 2
    canvas = svg.Canvas(columns * WIDTH, math.ceil(len(charts) / columns) * HEIGHT, title)
    for number, chart in enumerate(charts):
        chart.draw(canvas, WIDTH * (number % columns), HEIGHT * (number // columns))
    canvas.save(path)
