"""The tables of the page."""

import figures
import laws
from points import MAKERS

BEGIN, END = "<!-- measured: accuracy -->", "<!-- end -->"


def value(of, places=1, factor=1.0):
    """A mean over runs, with the half-width of its interval where there are runs enough."""
    text = f"{of['mean'] * factor:.{places}f}"
    return text if of["half"] is None else f"{text} ± {of['half'] * factor:.{places}f}"


def interval(study, point, maker, prefix=""):
    """Of a loss, over all runs together."""
    low, high = figures.pooled(study.reduced[point.name, maker], prefix)
    return f"{100 * low:.3f} to {100 * high:.3f}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def word(maker, of):
    """Plait alone gives a tolerance."""
    return ("kept" if of["kept"] else "**not kept**") if maker.startswith("plait") else ""


def asked_delay(point):
    return f"{point.delay / 1e6:g} ms" if point.delay else "nothing"


def asked_rate(point):
    return f"{point.rate / 1e6:g} Mbit/s"


def asked_loss(point):
    return f"{point.loss * 100:.3g} %" + (" in bursts" if point.chain else "")


def asked_queue(point):
    return point.name.removeprefix("queue-")


def rows(study, quantity):
    for point in study.points:
        for maker in point.makers:
            if point.quantity == quantity and (point.name, maker) in study.figures:
                yield point, maker, study.figures[point.name, maker]


def delay(study):
    return "One-way error in microseconds.\n\n" + table(
        ["asked", "made by", "median", "p5", "p95", "p99", "promise"],
        [[asked_delay(point), MAKERS[maker], *(value(of[key]) for key in ("p50", "p5", "p95", "p99")),
          word(maker, of)] for point, maker, of in rows(study, "delay")])


def jitter(study):
    return ("10 ms and a spread of 2 ms. The distance is Kolmogorov's from the law, and p how often chance "
            "alone does as much; the shape is the distance when the medians are laid over each other."
            "\n\n") + table(
        ["law", "made by", "distance", "p", "shape", "median off, µs", "deviation, ms", "promise"],
        [[point.law, MAKERS[maker], value(of["error"], 4), f"{of['doubt']['mean']:.2g}",
          value(of["shape"], 4), value(of["moved"]), value(of["deviation"], 3, 1e-3), word(maker, of)]
         for point, maker, of in rows(study, "jitter")])


def pairs(study):
    """Two-sample tests of Plait's engine against netem, by the runs of one number."""
    found = []
    for point in study.points:
        if point.quantity != "jitter" or any((point.name, maker) not in study.runs for maker in point.makers):
            continue
        samples = {maker: [sorted(filter(None, run["delays"])) for run in study.runs[point.name, maker]]
                   for maker in point.makers}
        ours, theirs = samples["plait"], samples["guest netem"]
        apart = [laws.between(left, right) for left, right in zip(ours, theirs)]
        shapes = [laws.between(centred(left), centred(right)) for left, right in zip(ours, theirs)]
        count = len(ours[0]) * len(theirs[0]) / (len(ours[0]) + len(theirs[0]))
        alike = [laws.between(centred(left), centred(right)) for of in (ours, theirs)
                 for left, right in zip(of, of[1:])]
        middles = [laws.mean(of) for of in (apart, shapes)]
        found.append([point.law, *(word for middle in middles
                                   for word in (f"{middle:.4f}", f"{laws.doubt(middle, count):.2g}")),
                      f"{max(alike):.4f}" if alike else "–"])
    return ("The engine against netem, two samples (Smirnov): the mean distance over pairs of runs and its "
            "p, as they are and with the medians laid over each other; beside it the largest distance of two "
            "runs of the same maker.\n\n") + table(
        ["law", "distance", "p", "of the shapes", "p", "same maker, at most"], found)


def centred(ordered):
    middle = laws.quantile(ordered, 0.5)
    return [value - middle for value in ordered]


def rate(study):
    return ("Offered 1.2 times the rate. `At once` is the most that came beyond the rate since any moment; "
            "the gaps are those between arrivals.\n\n") + table(
        ["asked", "made by", "error, %", "at once, frames", "gap asked, µs", "p1", "p50", "p99", "promise"],
        [[asked_rate(point), MAKERS[maker], value(of["error"], 3),
          value(of["ahead"], 1, 1 / point.frame), f"{point.on_the_wire() / 1e3:g}",
          *(value(of[f"gap p{share}"]) for share in (1, 50, 99)), word(maker, of)]
         for point, maker, of in rows(study, "rate")])


def loss(study):
    return "Per cent, the interval over all runs together.\n\n" + table(
        ["asked", "made by", "lost", "99 % interval", "bursts", "mean length (asked 5)",
         "distance from geometric", "promise"],
        [[asked_loss(point), MAKERS[maker], value(of["got"], 3, 100),
          interval(study, point, maker),
          *([value(of["bursts"], 0), value(of["burst"], 2), value(of["burst distance"], 3)] if "bursts" in of
            else ["", "", ""]), word(maker, of)] for point, maker, of in rows(study, "loss")])


def queue(study):
    return ("At 10 Mbit/s, frames of 1250 bytes, offered 1.5 times the rate. The wait is what one datagram "
            "in a hundred of the second half exceeded; `stood` is what the link held when it first dropped."
            "\n\n") + table(
        ["asked", "made by", "wait asked, ms", "wait, ms", "error, %", "stood, kB", "asked, kB", "promise"],
        [[asked_queue(point), MAKERS[maker], f"{of['asked']['mean'] / 1e3:.2f}", value(of["full"], 2, 1e-3),
          value(of["error"]), value(of["stood"], 1, 1e-3) if "stood" in of else "–",
          f"{point.queue_bytes / 1e3:.1f}", word(maker, of)] for point, maker, of in rows(study, "queue")])


def line(study):
    return ("10 Mbit/s, 10 ms and 1 % loss on one link, 2 Mbit/s through it. Delay beyond 10 ms and the "
            "frame's own 0.1 ms, in microseconds.\n\n") + table(
        ["made by", "median", "p5", "p99", "lost, %", "99 % interval", "promise"],
        [[MAKERS[maker], *(value(of[key]) for key in ("p50", "p5", "p99")), value(of["loss got"], 2, 100),
          interval(study, point, maker, "loss "), word(maker, of)]
         for point, maker, of in rows(study, "line")])


TABLES = {"Delay": (delay,), "Jitter": (jitter, pairs), "Rate": (rate,), "Loss": (loss,), "Queue": (queue,),
          "Rate, delay and loss at once": (line,)}


def text(study):
    """All that was measured, as Markdown."""
    parts = []
    for title, tables in TABLES.items():
        parts += [f"### {title}\n", *(make(study) for make in tables)]
    return "\n".join(parts)


def replace(path, content):
    """Puts what was measured between the marks of a page."""
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{content.strip()}\n{END}{after}")
