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


class Bucket:
    """The use of rates by a kernel's shaper under one congestion control."""

    def __init__(self, found, shaper, control):
        self.shaper, self.control = shaper, control
        self.name = f"{shaper.upper()}, {control.upper()}"
        self.rates, self.bursts = ([int(level) for level in found.factors[name]] for name in ("rate", "burst"))
        self.used = {
            (rate, burst): used(found, rate, shaper=shaper, control=control, rate=rate, burst=burst)
            for rate in self.rates for burst in self.bursts}

    def smallest(self, rate):
        """The smallest burst that fills a rate and lets no larger one do worse than fill it."""
        filling = None
        for burst in reversed(self.bursts):
            if self.used[rate, burst][0] < FULL:
                break
            filling = burst
        return f"{filling // MTU}" if filling else "none"

    def rows(self):
        return [[self.name, str(rate), *(with_interval(self.used[rate, burst], 1) for burst in self.bursts)]
                for rate in self.rates]

    def chart(self):
        series = []
        for rate in self.rates:
            estimates = [self.used[rate, burst] for burst in self.bursts]
            points = [(burst / MTU, estimate[0]) for burst, estimate in zip(self.bursts, estimates)]
            series.append(drawing.Series(f"{rate} Mbit/s", points, [estimate[1] for estimate in estimates]))
        return drawing.Chart(f"{self.name}, under load", "burst, MTU", "% used", series)


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
    rates, controls, loads = loaded[0].rates, engine.factors["control"], engine.factors["load"]
    plain = {
        (control, load, rate): used(engine, rate, control=control, load=load, rate=f"{rate}Mbit")
        for control in controls for load in loads for rate in rates}

    def without(control, rate):
        return "no burst" if plain[control, "busy", rate][0] >= FULL else "not full"

    page.block("e4", table(
        ["rate, Mbit/s", "thesis", *(bucket.name for bucket in loaded), *(f"engine, {name.upper()}" for name in controls)],
        [[str(rate), str(thesis.BURST[rate]), *(bucket.smallest(rate) for bucket in loaded),
          *(without(control, rate) for control in controls)] for rate in rates]))
    columns = ["rate, Mbit/s", *(f"{burst // MTU} MTU" for burst in loaded[0].bursts)]
    page.block("e4-used", table(["under load, % used", *columns], [row for bucket in loaded for row in bucket.rows()]))
    page.block("e4-engine", table(
        ["% used, no burst", *(f"{rate} Mbit/s" for rate in rates)],
        [[f"engine, {control.upper()}, {load}", *(with_interval(plain[control, load, rate], 1) for rate in rates)]
         for control in controls for load in loads]))
    if idle:
        still = buckets(idle)[0]
        page.block("e4-idle", table([f"idle, % used", *columns], still.rows()) + "\n\n" + differences(still, loaded[0]))
    page.picture("vito-bursts", [bucket.chart() for bucket in loaded])
    everything = [estimate for bucket in loaded for estimate in bucket.used.values()] + list(plain.values())
    page.block("e4-intervals", intervals(everything))
    cubic = [estimate[0] for bucket in loaded if bucket.control == "cubic" for estimate in bucket.used.values()]
    page.bar("e4-most-used", max(estimate[0] for estimate in everything), "%", "<=", 103)
    page.bar("e4-least-used-cubic", min(cubic), "%", ">=", 50)
    page.bar("e4-engine-used", min(estimate[0] for estimate in plain.values()), "%", ">=", 50 if busy.once() else FULL)


def differences(still, loaded):
    apart = [abs(loaded.used[key][0] - estimate[0]) for key, estimate in still.used.items()]
    return (f"The load changes what {still.name} uses by {max(apart):.1f} percentage points at most, in the median by "
            f"{statistics.median(apart):.1f}.")


def intervals(estimates):
    halves = [half for _, half, _ in estimates if half is not None]
    if not halves:
        return "One run of each: there are no intervals."
    narrow = sum(half < 1 for half in halves)
    return (f"Of {len(halves)} cells under load {narrow} have a 95 % interval of less than one percentage point in each "
            f"direction; the median is {statistics.median(halves):.2f}.")
