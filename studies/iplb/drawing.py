"""Bars of what arrives: a chart a law of rates, a group a pattern, a bar a method with its best and worst run."""

import statistics

import svg

WIDTH, HEIGHT = 720, 210
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 34, 28
BAR = 22


def draw(path, runs, methods, rates):
    canvas = svg.Canvas(WIDTH, HEIGHT * len(runs.rates) + 24, "Share of datagrams that arrive, by pattern and method")
    for number, (method, ink) in enumerate(zip(methods, svg.INKS)):
        at = LEFT + 120 * number
        canvas.line([(at, 14), (at + 14, 14)], 8, ink)
        canvas.text(at + 20, 18, method)
    for row, law in enumerate(runs.rates):
        chart(canvas, HEIGHT * row + 24, runs, methods, law, rates[law])
    canvas.save(path)


def chart(canvas, top, runs, methods, law, title):
    up = svg.Axis(0, 100, top + HEIGHT - BOTTOM, top + TOP)
    canvas.text(LEFT, top + 20, f"{title}: % received of sent", bold=True)
    for tick in up.ticks(0, 100):
        canvas.line([(LEFT, up.place(tick)), (WIDTH - RIGHT, up.place(tick))], 0.5, svg.GREY)
        canvas.text(LEFT - 6, up.place(tick) + 4, f"{tick:g}", "end", size=11)
    wide = (WIDTH - LEFT - RIGHT) / len(runs.patterns)
    for group, pattern in enumerate(runs.patterns):
        middle = LEFT + wide * (group + 0.5)
        canvas.text(middle, top + HEIGHT - 10, pattern, "middle")
        for number, (method, ink) in enumerate(zip(methods, svg.INKS)):
            shares = [100 * share for share in runs.shares(pattern, law, method)]
            x = middle + (number - (len(methods) - 1) / 2) * (BAR + 3)
            canvas.line([(x, up.place(0)), (x, up.place(statistics.fmean(shares)))], BAR, ink)
            canvas.line([(x, up.place(min(shares))), (x, up.place(max(shares)))], 1.4)
