"""E13 (Figures 5.13 and 5.14): one of two paths fails under a connection of eight subflows, and comes back."""

import dataclasses
import os
import statistics

import stacks
from blocks import table

HERE = os.path.dirname(os.path.abspath(__file__))
# What counts as full rate, of the mean before the failure.
FULL = 0.95
# From one reading of a counter to the next, s; and how long full rate lasts that counts as such.
SAMPLE = 0.1
HELD = 1.0
# What a connection's own beginning takes, and when the last of it that counts is over, s.
BEGIN = 5.0
END = 50.0
# The thesis's: seconds until full rate again, and what arrives meanwhile and afterwards, Mbit/s of a link of 1 Gbit/s.
THESIS_SECONDS, THESIS_LEAST, THESIS_FULL = 1.5, 600, 900
# Tenths of a second in a sample of the thesis.
THESIS_SAMPLES = 5
# Runs of each failure.
REPEATS = 5

BARE = "  - a-c\n  - c-d\n"
# A link with a condition has a device between its ends, as when a fibre breaks beyond the next device.
SHAPED = "  - {endpoints: [a, c], dynamic: true}\n  - {endpoints: [c, d], dynamic: true}\n"


@dataclasses.dataclass
class Recovery:
    """Megabits a second that arrive in each tenth of a second, in all and by the switch that stays; and when what happened."""
    points: list
    kept: list
    failed: float
    recovered: float

    def before(self):
        rates = [rate for at, rate in self.points if BEGIN <= at < self.failed - 0.2]
        return sum(rates) / len(rates)

    def least(self, samples=1):
        """The least in so many tenths of a second on end between failure and recovery."""
        rates = [rate for at, rate in self.points if self.failed <= at < self.recovered]
        return min(sum(rates[at:at + samples]) / samples for at in range(len(rates) - samples + 1))

    def until_full(self):
        """Seconds from the failure until full rate, which is held for a second: the end of the last sample that is below it."""
        full, until = FULL * self.before(), 0.0
        for at, rate in self.points:
            if not self.failed < at < self.recovered:
                continue
            if at > self.failed + until + HELD:
                break
            if rate < full:
                until = at - self.failed
        return until

    def missing(self):
        """Kilobytes that did not arrive from the failure until full rate."""
        full, until = self.before(), self.failed + self.until_full()
        return sum((full - rate) * (at - then) * 1e6 / 8e3
                   for (then, _), (at, rate) in zip(self.points, self.points[1:]) if self.failed < at <= until + SAMPLE / 2)

    def least_kept(self):
        """The least by the switch that stays in any tenth of a second of the run's middle."""
        return min(rate for at, rate in self.kept if BEGIN <= at < self.recovered)


def measure(plait, folder, small):
    """Runs of the failure that neighbours see at once, and of the one that only OSPF's silence tells of."""
    text = stacks.read_text(os.path.join(HERE, "recovery.yaml"))
    if BARE not in text:
        raise SystemExit("recovery.yaml has no bare links of c")
    if small:
        for old, new in (("duration: 60s", "duration: 26s"), ("-t 55", "-t 22"), ("at: 20s", "at: 8s"), ("at: 40s", "at: 18s")):
            text = text.replace(old, new)

    def runs(name, of):
        return [one(plait, f"recovery-{name}-{number}", of, folder) for number in range(1, (1 if small else REPEATS) + 1)]

    return runs("seen", text), runs("silent", text.replace(BARE, SHAPED))


def one(plait, name, text, folder):
    # What the connection's own beginning and end ask of links does not count.
    return read(stacks.run_valid(plait, name, text, folder, begin=BEGIN, end=END))


def read(output):
    """What the results of a run hold of it; nothing by the switch that stays where interfaces were not asked for."""
    said = stacks.results(output)
    failed, recovered = (event["actual_s"] for event in said["events"] if event["kind"] in ("fail", "recover"))
    points = rates((row["time_s"], row["bytes"]) for row in stacks.samples(output, "links")
                   if (row["link"], row["direction"]) == ("d-h2", "forward"))
    kept = rates((row["time_s"], row["tx_bytes"]) for row in stacks.samples(output, "interfaces", missing=())
                 if (row["node"], row["interface"]) == ("b", "eth1"))
    return Recovery(points, kept, failed, recovered)


def rates(rows):
    """From a counter of bytes to megabits a second, each at the end of its interval."""
    rows = [(float(at), int(count)) for at, count in rows]
    return [(at, (now - before) * 8 / 1e6 / (at - then))
            for (then, before), (at, now) in zip(rows, rows[1:]) if at > then]


def median(runs):
    """The run of them whose recovery took neither longest nor shortest."""
    return sorted(runs, key=Recovery.until_full)[len(runs) // 2]


def told(seen, silent):
    """Medians of runs, and the worst one in brackets where it differs."""
    def shown(runs, of, form, worst):
        values = [of(run) for run in runs]
        cells = [form.format(value) for value in (statistics.median(values), worst(values))]
        return cells[0] if cells[0] == cells[1] else f"{cells[0]} ({cells[1]})"

    def both(*how):
        return [shown(runs, *how) for runs in (seen, silent)]

    rows = [["before", f"about {THESIS_FULL} Mbit/s", *both(Recovery.before, "{:.0f} Mbit/s", min)],
            ["least in half a second", f"about {THESIS_LEAST} Mbit/s, {100 * THESIS_LEAST / THESIS_FULL:.0f} %",
             *both(lambda run: 100 * run.least(THESIS_SAMPLES) / run.before(), "{:.0f} %", min)],
            ["least in a tenth", "", *both(lambda run: 100 * run.least() / run.before(), "{:.0f} %", min)],
            ["full again after", f"{THESIS_SECONDS} s", *both(Recovery.until_full, "{:.1f} s", max)],
            ["least by the path that stays", "never stops", *both(Recovery.least_kept, "{:.0f} Mbit/s", min)]]
    return table(["a switch fails", "thesis, samples of 0.5 s", "its neighbours see it, 0.1 s", "nobody sees it, 0.1 s"], rows)


def bars(seen, silent):
    """Of the worst run each."""
    def recovery(name, runs):
        took = max(run.until_full() for run in runs)
        return f"bar {name} {took:.1f} s <= {THESIS_SECONDS} {'ok' if took <= THESIS_SECONDS else 'short'}"

    def kept(kind, name, runs):
        least = min(run.least_kept() for run in runs)
        return f"{kind} {name} {least:.1f} Mbit/s >= 1 {'ok' if least >= 1 else 'short'}"

    # Choice: of the failure that nobody sees a goal, since what stops there is the connection and no path: datagrams tell.
    return [recovery("iplb.recovery", seen), recovery("iplb.recovery_silent", silent), kept("bar", "iplb.kept", seen),
            kept("goal", "iplb.kept_silent", silent)]
