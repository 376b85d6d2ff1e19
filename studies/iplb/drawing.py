"""The pictures of the study: bars of what arrives, what arrives over time, and how long paths take."""

import math
import statistics

import svg
from times import COSTS

WIDTH, HEIGHT = 720, 210
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 34, 28
BAR = 22


def shares(path, runs, methods, rates):
    """A chart a law of rates, a group a pattern, a bar a method with its best and worst run."""
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
            values = [100 * share for share in runs.shares(pattern, law, method)]
            x = middle + (number - (len(methods) - 1) / 2) * (BAR + 3)
            canvas.line([(x, up.place(0)), (x, up.place(statistics.fmean(values)))], BAR, ink)
            canvas.line([(x, up.place(min(values))), (x, up.place(max(values)))], 1.4)


def recoveries(path, runs):
    """A chart a failure: what arrives, and what goes by the switch that stays."""
    canvas = svg.Canvas(WIDTH, HEIGHT * len(runs) + 24, "What arrives while one of two paths fails")
    for number, (name, ink) in enumerate(zip(("arrives", "by the path that stays"), svg.INKS)):
        at = LEFT + 120 * number
        canvas.line([(at, 14), (at + 14, 14)], 2, ink)
        canvas.text(at + 20, 18, name)
    for row, (title, run) in enumerate(runs.items()):
        recovery(canvas, HEIGHT * row + 24, title, run)
    canvas.save(path)


def recovery(canvas, top, title, run):
    seconds = run.points[-1][0]
    up = svg.Axis(0, 1.1 * max(rate for _, rate in run.points), top + HEIGHT - BOTTOM, top + TOP)
    along = svg.Axis(0, seconds, LEFT, WIDTH - RIGHT)
    canvas.text(LEFT, top + 20, f"A switch fails and {title}: Mbit/s over seconds", bold=True)
    for tick in up.ticks(0, max(rate for _, rate in run.points)):
        canvas.line([(LEFT, up.place(tick)), (WIDTH - RIGHT, up.place(tick))], 0.5, svg.GREY)
        canvas.text(LEFT - 6, up.place(tick) + 4, f"{tick:g}", "end", size=11)
    for tick in along.ticks(0, seconds):
        canvas.text(along.place(tick), top + HEIGHT - 10, f"{tick:g}", "middle", size=11)
    for at in (run.failed, run.recovered):
        canvas.line([(along.place(at), up.place(0)), (along.place(at), top + TOP)], 1, dash="4 3")
    for points, ink in zip((run.points, run.kept), svg.INKS):
        canvas.line([(along.place(at), up.place(rate)) for at, rate in points], 1.2, ink)


def times(path, all_times):
    """A chart a law of costs, a curve a size: which share of destinations took so long at most."""
    laws = {costs: [times for times in all_times if times.costs == costs] for costs in COSTS}
    canvas = svg.Canvas(WIDTH, HEIGHT * len(laws) + 24, "How long eight paths and their relays take to a destination")
    for number, (of, ink) in enumerate(zip(laws["alike"], svg.INKS)):
        at = LEFT + 120 * number
        canvas.line([(at, 14), (at + 14, 14)], 2, ink)
        canvas.text(at + 20, 18, f"{of.switches} switches")
    least = math.floor(min(math.log10(of.micros[0]) for of in all_times))
    most = math.ceil(max(math.log10(of.micros[-1]) for of in all_times))
    for row, (costs, curves) in enumerate(laws.items()):
        distribution(canvas, HEIGHT * row + 24, COSTS[costs], curves, (least, most))
    canvas.save(path)


def distribution(canvas, top, title, curves, powers):
    up = svg.Axis(0, 100, top + HEIGHT - BOTTOM, top + TOP)
    along = svg.Axis(*powers, LEFT, WIDTH - RIGHT)
    canvas.text(LEFT, top + 20, f"{title}: % of destinations over microseconds", bold=True)
    for tick in up.ticks(0, 100):
        canvas.line([(LEFT, up.place(tick)), (WIDTH - RIGHT, up.place(tick))], 0.5, svg.GREY)
        canvas.text(LEFT - 6, up.place(tick) + 4, f"{tick:g}", "end", size=11)
    for power in range(powers[0], powers[1] + 1):
        canvas.line([(along.place(power), up.place(0)), (along.place(power), top + TOP)], 0.5, svg.GREY)
        anchor = "end" if power == powers[1] else "middle"
        canvas.text(along.place(power), top + HEIGHT - 10, f"{10.0 ** power:g}", anchor, size=11)
    for of, ink in zip(curves, svg.INKS):
        places = [(math.log10(of.percentile(share / 2)), share / 2) for share in range(1, 201)]
        canvas.line([(along.place(at), up.place(share)) for at, share in places], 1.4, ink)
