"""The two pictures: every error beside every other's, and the distributions of delays."""

import figures
import laws
import page
import svg
from points import MAKERS

MARKS = {
    "plait": ("circle", True), "plait kernel": ("square", True), "bare": ("diamond", False),
    "htb": ("square", False), "tclink": ("triangle", False), "netem": ("circle", False),
}
ROW, HEAD, LEFT, WIDTH, FOOT = 15, 34, 250, 760, 34
SAMPLES = 400


def spread(of, low, high):
    return of[low]["mean"], of["error"]["mean"], of[high]["mean"]


def runs(of):
    error = of["error"]
    return error["least"], error["mean"], error["most"]


def loss(point, reduced, of):
    low, high = figures.pooled(reduced)
    return (low / point.loss - 1) * 100, of["error"]["mean"], (high / point.loss - 1) * 100


# Title with unit, the quantity, the request in words, the three values of a row, how far the axis is linear.
PANELS = (
    ("One-way delay: error in µs, median and p5 to p99", "delay", page.asked_delay,
     lambda _point, _reduced, of: spread(of, "p5", "p99"), 10.0),
    ("Jitter: distance from the law asked, least and most of the runs", "jitter", lambda point: point.law,
     lambda _point, _reduced, of: runs(of), None),
    ("Rate: error in %, least and most of the runs", "rate", page.asked_rate,
     lambda _point, _reduced, of: runs(of), 0.1),
    ("Loss: error in % of the loss asked, 99 % interval", "loss", page.asked_loss, loss, None),
    ("Queue: error of the wait when full in %, least and most of the runs", "queue", page.asked_queue,
     lambda _point, _reduced, of: runs(of), 1.0),
)


def errors(study, path):
    panels = [(title, [(asked(point), maker, of_row(point, study.reduced[point.name, maker], of))
                       for point, maker, of in page.rows(study, quantity)], plain)
              for title, quantity, asked, of_row, plain in PANELS]
    panels = [panel for panel in panels if panel[1]]
    height = sum(HEAD + ROW * len(rows) + FOOT for _, rows, _ in panels) + 30
    canvas = svg.Canvas(WIDTH, height, "Errors of links by who makes them")
    top = legend(canvas)
    for title, rows, plain in panels:
        top = panel(canvas, top, title, rows, plain)
    canvas.save(path)


def mark(canvas, maker, x, y):
    kind, filled = MARKS[maker.removeprefix("guest ")]
    canvas.mark(kind, x, y, filled)


def legend(canvas):
    x = 10
    for words, maker in (("Plait's engine", "plait"), ("Plait via kernel", "plait kernel"),
                         ("netem", "netem"), ("HTB", "htb"), ("TCLink", "tclink"), ("bare veth", "bare")):
        mark(canvas, maker, x + 6, 14)
        canvas.text(x + 16, 18, words)
        x += 34 + 7 * len(words)
    return 30


def panel(canvas, top, title, rows, plain):
    canvas.text(10, top + 20, title, bold=True)
    top += HEAD
    bottom = top + ROW * len(rows)
    # Where all is well the axis does not blow up what is nothing.
    low = min(-(plain or 0.0), min(least for _, _, (least, _, _) in rows))
    high = 1.05 * max(plain or 0.0, max(most for _, _, (_, _, most) in rows))
    axis = svg.Axis(low, high, LEFT, WIDTH - 20, plain)
    for tick in axis.ticks(low, high):
        x = axis.place(tick)
        canvas.line([(x, top - 4), (x, bottom)], 1.0, svg.INK if tick == 0 else svg.GREY)
        canvas.text(x, bottom + 14, f"{tick:g}", "middle", size=11)
    before = None
    for at, (asked, maker, (least, middle, most)) in enumerate(rows):
        y = top + ROW * at + ROW / 2
        if asked != before:
            canvas.text(10, y + 4, asked, size=11)
            if before is not None:
                canvas.line([(10, y - ROW / 2), (WIDTH - 20, y - ROW / 2)], 0.5, svg.GREY)
        before = asked
        canvas.text(LEFT - 12, y + 4, MAKERS[maker].replace("`", ""), "end", size=10)
        canvas.line([(axis.place(least), y), (axis.place(most), y)], 1.6)
        mark(canvas, maker, axis.place(middle), y)
    return bottom + FOOT


def distributions(study, path):
    """The share of datagrams up to each delay: the law, the engine, netem."""
    points = [point for point in study.points
              if point.quantity == "jitter" and (point.name, "plait") in study.runs]
    width, height, gap = 240, 220, 20
    canvas = svg.Canvas(10 + (width + gap) * len(points), height + 60, "Delays as asked and as they came")
    styles = {"the law asked": (4.0, svg.GREY, None), "Plait's engine": (1.4, svg.INK, None),
              "netem, guest": (1.4, svg.INK, "5 3")}
    for at, (words, style) in enumerate(styles.items()):
        canvas.line([(10 + 170 * at, 16), (40 + 170 * at, 16)], *style)
        canvas.text(46 + 170 * at, 20, words)
    for column, point in enumerate(points):
        left, top, bottom = 30 + (width + gap) * column, 60, 60 + height - 40
        low, high = point.delay / 1e6 - 4 * point.spread / 1e6, point.delay / 1e6 + 5 * point.spread / 1e6
        x, y = svg.Axis(low, high, left, left + width - 30), svg.Axis(0, 1, bottom, top)
        canvas.text(left, top - 14, point.law, bold=True)
        for tick in x.ticks(low, high):
            canvas.line([(x.place(tick), top), (x.place(tick), bottom)], 0.5, svg.GREY)
            canvas.text(x.place(tick), bottom + 14, f"{tick:g}", "middle", size=11)
        for tick in (0, 0.5, 1):
            canvas.line([(left, y.place(tick)), (left + width - 30, y.place(tick))], 0.5, svg.GREY)
            if not column:
                canvas.text(left - 4, y.place(tick) + 4, f"{tick:g}", "end", size=11)
        canvas.text(left + (width - 30) / 2, bottom + 30, "delay, ms", "middle", size=11)
        law = laws.LAWS[point.law](point.delay / 1e6, point.spread / 1e6)
        grid = [low + (high - low) * step / SAMPLES for step in range(SAMPLES + 1)]
        canvas.line([(x.place(value), y.place(law(value))) for value in grid], 4.0, svg.GREY)
        for maker, dash in (("plait", None), ("guest netem", "5 3")):
            for run in study.runs.get((point.name, maker), [])[:1]:
                seen = sorted(filter(None, run["delays"]))
                steps = [(step + 0.5) / SAMPLES for step in range(SAMPLES)]
                places = [(x.place(laws.quantile(seen, share) / 1e6), y.place(share)) for share in steps]
                canvas.line(places, 1.4, dash=dash)
    canvas.save(path)
