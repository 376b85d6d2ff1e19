"""E4: how much of a rate is used, by the burst that may be saved up."""

import statistics

import drawing
import thesis
from figures import table, with_interval

MTU = 1514
# Of a full frame, what the application gets: less Ethernet, IP and TCP with time stamps.
PAYLOAD = 1448 / MTU
# A burst fills a rate where so many per cent of it are used.
FULL = 98.0

HTB = {"htb": "62.5 kB may wait", "htb-room": "625 kB may wait",
       "htb-pieces": "62.5 kB may wait, packets of 20 frames at most"}


class Bucket:
    """The use of rates by a kernel's shaper under one congestion control."""

    def __init__(self, found, shaper, control):
        self.shaper, self.control = shaper, control
        self.name = f"{shaper.upper()}, {control.upper()}"
        self.rates = [int(level) for level in found.factors["rate"]]
        self.bursts = [int(level) for level in found.factors["burst"]]
        self.used = {
            (rate, burst): used(found, rate, shaper=shaper, control=control, rate=rate, burst=burst)
            for rate in self.rates for burst in self.bursts}

    def smallest(self, rate):
        """The smallest burst that fills a rate, in MTU."""
        filling = (burst for burst in self.bursts if self.used[rate, burst][0] >= FULL)
        burst = next(filling, None)
        return f"{burst // MTU}" if burst else "none"

    def late(self, rate):
        """How late each frame leaves, in microseconds, where the burst is one frame: nothing is saved up."""
        share = self.used[rate, MTU][0] / 100
        return max(0.0, MTU * 8 / rate * (1 / share - 1))

    def rows(self):
        return [[self.name, str(rate), *(with_interval(self.used[rate, burst], 1) for burst in self.bursts)]
                for rate in self.rates]

    def chart(self):
        lines = {}
        for rate in self.rates:
            estimates = [self.used[rate, burst] for burst in self.bursts]
            points = [(burst / MTU, estimate[0]) for burst, estimate in zip(self.bursts, estimates)]
            lines[f"{rate} Mbit/s"] = (points, [half for _, half, _ in estimates])
        low = 70 if least(self.used.values()) > 70 else 0
        return drawing.Chart(f"{self.name}, under load: % used", "burst, MTU", lines, low)


def used(found, mbits, **levels):
    """Per cent of the rate that whole frames take."""
    return found.estimate("goodput", 100 / PAYLOAD / (mbits * 1e6), **levels)


def buckets(found):
    return [Bucket(found, shaper, control)
            for shaper in found.factors["shaper"] for control in found.factors["control"]]


def e4(page):
    busy, idle, engine = (page.figures(f"e4-{name}") for name in ("busy", "idle", "engine"))
    if not busy or not engine:
        return
    loaded = buckets(busy)
    rates, bursts = loaded[0].rates, loaded[0].bursts
    controls, loads = engine.factors["control"], engine.factors["load"]
    plain = {
        (control, load): [
            used(engine, rate, control=control, load=load, rate=f"{rate}Mbit") for rate in rates]
        for control in controls for load in loads}
    page.block("e4", smallest(loaded, {control: plain[control, "busy"] for control in controls}))
    columns = ["rate, Mbit/s", *(f"{burst // MTU} MTU" for burst in bursts)]
    rows = [row for bucket in loaded for row in bucket.rows()]
    page.block("e4-used", table(["under load, % used", *columns], rows))
    page.block("e4-engine", table(
        ["% used, no burst", *(f"{rate} Mbit/s" for rate in rates)],
        [[f"engine, {control.upper()}, {load}", *(with_interval(estimate, 1) for estimate in estimates)]
         for (control, load), estimates in plain.items()]))
    if idle:
        still = buckets(idle)[0]
        found = table(["idle, % used", *columns], still.rows())
        page.block("e4-idle", f"{found}\n\n{differences(still, loaded[0])}")
    if why := page.figures("e4-htb"):
        page.block("e4-htb", table(
            ["HTB, BBR, 10 Mbit/s, 4 MTU", "% used"],
            [[words, with_interval(used(why, 10, shaper=shaper), 1)] for shaper, words in HTB.items()]))
    if MTU in bursts:
        page.block("e4-late", "\n".join(
            f"- {rate} Mbit/s: a frame takes {MTU * 8 / rate:.0f} µs and leaves "
            f"{loaded[0].late(rate):.0f} µs late."
            for rate in rates))
    page.picture("vito-bursts", "Use of a rate by the burst", [bucket.chart() for bucket in loaded])
    of_engine = [estimate for estimates in plain.values() for estimate in estimates]
    everything = [estimate for bucket in loaded for estimate in bucket.used.values()] + of_engine
    page.block("e4-intervals", intervals(everything))
    by_cubic = [bucket.used.values() for bucket in loaded if bucket.control == "cubic"]
    page.bar("e4-most-used", most(everything), "%", "<=", 105)
    page.bar("e4-least-used-by-cubic", least(*by_cubic), "%", ">=", 50)
    page.bar("e4-least-used-of-engine", least(of_engine), "%", ">=", 50 if busy.once() else FULL)


def smallest(loaded, plain):
    """The smallest bursts beside the thesis's; of the engine, whether a rate is full."""
    engines = [f"engine, {control.upper()}" for control in plain]
    rows = []
    for at, rate in enumerate(loaded[0].rates):
        filled = ["no burst" if estimates[at][0] >= FULL else "not full" for estimates in plain.values()]
        bursts = [bucket.smallest(rate) for bucket in loaded]
        rows.append([str(rate), str(thesis.BURST[rate]), *bursts, *filled])
    return table(["rate, Mbit/s", "thesis", *(bucket.name for bucket in loaded), *engines], rows)


def differences(still, loaded):
    apart = [abs(loaded.used[key][0] - estimate[0]) for key, estimate in still.used.items()]
    return (f"The load changes what {still.name} uses by {max(apart):.1f} percentage points at most, in the "
            f"median by {statistics.median(apart):.1f}.")


def intervals(estimates):
    halves = [half for _, half, _ in estimates if half is not None]
    if not halves:
        return "One run of each: there are no intervals."
    narrow = sum(half < 1 for half in halves)
    return (f"Of {len(halves)} cells {narrow} have a 95 % interval of less than one percentage point in each "
            f"direction; the median is {statistics.median(halves):.2f}.")


def most(estimates):
    return max(value for value, *_ in estimates)


def least(*groups):
    return min(value for group in groups for value, *_ in group)
