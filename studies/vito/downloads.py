"""E1 to E3: downloads beside the thesis's."""

import drawing
import parts
import thesis
from figures import count, table, with_interval

MTU = 1514
FIRST = {"netem-tbf": "netem, then tbf", "tbf-netem": "tbf, then netem"}
# What is beside the thesis's two orders.
OTHERS = {"tbf-netem-pairs": "packets of two frames", "tbf-netem-100": "`limit 100`",
          "tbf-netem-10000": "`limit 10000`"}
HEAD = ["", "runs", "time, s", "goodput, Mbit/s", "window, segments", "RTT, ms", "sent again"]


def e1(page):
    rows = []
    for chain, words in FIRST.items():
        largest, low, high = thesis.RANGES[chain]
        lost = "some" if chain == "netem-tbf" else "none"
        more = (f", to {largest}", f", {low} to {high}", lost)
        rows.append(published(words, *thesis.ORDER[chain], *more))
        if found := page.figures(f"e1-{chain}"):
            rows.append(measured(f"{words}, in the guest", found))
        if chain == "netem-tbf" and (engine := page.figures("e1-engine")):
            rows.append(measured("Plait's engine", engine))
            page.bar("e1-engine-rtt", engine.value("rtt"), "ms", ">=", 200)
            page.bar("e1-engine-rtt-most", engine.value("rtt_max"), "ms", "<=", 300)
    for chain, words in OTHERS.items():
        if found := page.figures(f"e1-{chain}"):
            rows.append(measured(f"the same, {words}", found))
    page.block("e1", table(HEAD, rows))
    one, other = (page.figures(f"e1-{chain}") for chain in FIRST)
    if one and other:
        more = other.value("rtt_max") / one.value("rtt_max")
        page.bar("e1-longest-rtt-of-tbf-first", more, "x", ">=", 1.2)
    queues(page)
    windows(page)


def queues(page):
    """What waits where, in the disciplines of E1."""
    rows = []
    for chain in parts.CHAINS:
        if not (found := page.figures(f"e1-{chain}")):
            continue
        netem = "outer" if chain == "netem-tbf" else "inner"
        packets, waiting = (found.value(f"{netem}_{what}") for what in ("packets", "bytes"))
        # The inner one drops in both orders, and the outer one counts it once more.
        rows.append([
            FIRST.get(chain) or f"the same, {OTHERS[chain]}", f"{packets:.0f}",
            f"{waiting / 1000:.0f}", f"{waiting / packets / MTU:.2f}", f"{waiting * 8 / 50e3:.0f}",
            f"{found.value('inner_drops'):.0f}"])
    if rows:
        page.block("queues", table(["order", "most packets seen in netem", "kB", "frames a packet",
                                    "ms at 50 Mbit/s", "dropped"], rows))


def windows(page):
    """Window and round trips over time: the picture of the thesis."""
    wanted = {"e1-netem-tbf": "netem, tbf", "e1-tbf-netem": "tbf, netem",
              "e1-tbf-netem-pairs": "in pairs", "e1-engine": "engine"}
    courses = {words: found.course() for name, words in wanted.items() if (found := page.figures(name))}
    if courses:
        charts = [
            drawing.Chart(title, "s", {
                words: ([(row[0], row[column]) for row in rows], []) for words, rows in courses.items()})
            for title, column in (("Congestion window, segments", 1), ("Round-trip time, ms", 2))]
        page.picture("vito-windows", "Window and round-trip time of a download, by the order", charts)


def e2(page):
    rows = []
    guest = page.figures("e2-guest")
    for chain, words in FIRST.items():
        rows.append(published(words, *thesis.SPLIT[chain]))
        if guest:
            rows.append(measured(f"{words}, in the guest", guest, chain=chain))
        if engine := page.figures(f"e2-engine-{chain}"):
            rows.append(measured(f"{words}, Plait's engine", engine))
            page.bar(f"e2-{chain}-rtt-most", engine.value("rtt_max"), "ms", "<=", 300)
    page.block("e2", table(HEAD, rows))
    if guest:
        waiting = guest.value("waiting", chain="tbf-netem")
        page.block("e2-waiting", f"In the server's own tbf there wait {waiting:.0f} packets at most.")


def e3(page):
    ours = [page.figures(f"e3-{way}") for way in ("direct", "avm")]
    if not all(ours):
        return
    rows = []
    for delay, theirs in thesis.AUXILIARY.items():
        estimates = [found.estimate("time", delay=delay) for found in ours]
        more = costs(*(value for value, *_ in estimates))
        rows.append([delay, *(f"{seconds:.2f}" for seconds in theirs), f"{costs(*theirs):+.2f} %", count(estimates[0][2]),
                     *(with_interval(estimate, 3) for estimate in estimates), f"{more:+.2f} %"])
        page.bar(f"e3-{delay}-auxiliary-costs", more, "%", "<=", 25 if ours[0].once() else 1)
    page.block("e3", table(["delay", "thesis: direct, s", "with node, s", "more", "runs here", "direct, s",
                            "with node, s", "more"], rows))


def costs(direct, auxiliary):
    """Per cent."""
    return 100 * (auxiliary / direct - 1)


def published(words, time, goodput, window, rtt, windows="", rtts="", lost=""):
    more = (f"{window}{windows}", f"{rtt}{rtts}", lost)
    return [f"**thesis: {words}**", "", f"{time}", f"{goodput}", *more]


def measured(words, found, **levels):
    def get(metric, digits, scale=1.0):
        return with_interval(found.estimate(metric, scale, **levels), digits)
    largest, low, high = (found.value(metric, **levels) for metric in ("cwnd_max", "rtt_low", "rtt_max"))
    return [words, count(found.estimate("time", **levels)[2]), get("time", 2), get("goodput", 1, 1e-6),
            f"{get('cwnd', 0)}, to {largest:.0f}", f"{get('rtt', 0)}, {low:.0f} to {high:.0f}",
            get("retransmits", 0)]
