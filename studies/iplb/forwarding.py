"""E8 (Figure 5.7): the thesis's fat-tree under load in Plait's simulator.

Hosts of a fat-tree of k ports send 20 flows each, and a tree, ECMP's hashes or relays lead them. Trees of 4 ports are
the thesis's; larger ones show what grows.
"""

import dataclasses
import json
import os
import statistics
import subprocess
import time

import machine
from blocks import table

METHODS = ("tree", "ecmp", "hash", "flow-based")
RATES = {"same": "Same", "random": "Random", "power_law": "Power-law"}
# Strides of a pod's hosts lead each from its pod to the next.
STRIDES = ("stride(1)", "stride(2)", "stride(4)")


@dataclasses.dataclass
class Plan:
    """What is run of a tree: hosts send for some seconds, and what they send from `begin` on counts."""
    patterns: tuple
    rates: tuple
    repeats: int
    seconds: int
    begin: int


PLANS = {
    4: Plan(("random", "permutation", *STRIDES), tuple(RATES), 30, 16, 8),
    8: Plan(("permutation", "stride(4)", "stride(16)"), tuple(RATES), 5, 9, 6),
    16: Plan(("permutation", "stride(64)"), ("same",), 5, 8, 6),
}
SMALL = {4: Plan(("permutation", *STRIDES), ("same",), 2, 8, 4)}


class Runs:
    """What arrived of what was sent, by pattern, law of rates and method: a share a run."""

    def __init__(self, k, lines):
        self.k, self.lines = k, lines
        self.patterns = list(dict.fromkeys(line["pattern"] for line in lines))
        self.rates = list(dict.fromkeys(line["rates"] for line in lines))

    def shares(self, pattern, rates, method):
        asked = {"pattern": pattern, "rates": rates, "method": method}
        return [line["received"] / line["sent"] for line in self.lines if asked.items() <= line.items()]

    def mean(self, *cell):
        return statistics.fmean(self.shares(*cell))

    def least(self, method, rates=None):
        """The least mean of all patterns, and which one it is."""
        cells = [(pattern, law) for pattern in self.patterns for law in self.rates if rates in (None, law)]
        # Where hosts collide at a receiver, no way of sending helps.
        means = [(self.mean(*cell, method), cell) for cell in cells if cell[0] != "random"]
        return min(means)


def simulate(k, plan, threads, folder, more=()):
    """One tree's runs, with more said to the simulator if there is any; a folder keeps their lines. What they say, and the seconds
    they took."""
    program = machine.built("examples/fabric_study")
    if not os.access(program, os.X_OK):
        raise SystemExit("the example `fabric_study` is not built: make study-iplb builds it")
    asked = {"k": k, "patterns": ",".join(plan.patterns), "rates": ",".join(plan.rates), "repeats": plan.repeats,
             "seconds": plan.seconds, "from": plan.begin, "threads": threads, **dict(more)}
    words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
    print(f"# fabric_study {' '.join(words)}", flush=True)
    started = time.monotonic()
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, text=True, check=True)
    took = time.monotonic() - started
    name = "-".join([f"k{k}", str(plan.repeats), *(f"{key}-{value}" for key, value in dict(more).items())])
    with open(os.path.join(folder, f"{name}.jsonl"), "w", encoding="utf-8") as file:
        file.write(done.stdout)
    return Runs(k, [json.loads(line) for line in done.stdout.splitlines()]), took


def told(name, runs, plan, took, threads):
    """A line that says what was run of it."""
    return (f"{name:12} {runs} runs of {plan.seconds} s, {plan.repeats} of each kind, counted from {plan.begin} s on: {took:.0f} s on "
            f"{threads} thread{'s' * (threads > 1)}")


def percent(value):
    return f"{100 * value:.1f}"


def shown(shares):
    """The mean and the worst run, where they differ."""
    mean, worst = percent(statistics.fmean(shares)), percent(min(shares))
    return mean if mean == worst else f"{mean} ({worst})"


def received(runs):
    rows = [[f"{pattern}, {RATES[law]}", *[shown(runs.shares(pattern, law, method)) for method in METHODS]]
            for pattern in runs.patterns for law in runs.rates]
    lines = [table(["% received of sent", *METHODS], rows), "",
             f"Of all {len(runs.lines)} runs' datagrams {sum(line['reordered'] for line in runs.lines)} came after one that was "
             f"sent later; {moved(runs):.1f} flows a host were moved in a flow-based run."]
    return "\n".join(lines)


def moved(runs):
    hosts = runs.k ** 3 // 4
    return statistics.fmean(line["moved"] for line in runs.lines if line["method"] == "flow-based") / hosts


def beside(runs):
    """The thesis's text about Figure 5.7, sentence by sentence. The figure itself is a picture whose values are not known."""
    def worst(method, rates=None):
        share, (pattern, law) = runs.least(method, rates)
        return f"{percent(share)} % at the least ({pattern}, {RATES[law]})"

    def stride(step, *methods):
        means = [[percent(runs.mean(f"stride({step})", law, method)) for law in runs.rates] for method in methods]
        return "; ".join(f"{method} {' / '.join(dict.fromkeys(of))} %" for method, of in zip(methods, means))

    rows = [
        ["flow-based, Same, every pattern", "100 %", worst("flow-based", "same")],
        ["flow-based, every pattern and law", "over 85 %", worst("flow-based")],
        ["Stride(4), tree", "25 %", stride(4, "tree")],
        ["Stride(4), hash and flow-based", "over 80 %", stride(4, "hash", "flow-based")],
        ["Stride(1), every method", "no link is overloaded", stride(1, *METHODS)],
        ["Stride(2), tree", "said to stay within pods", stride(2, "tree")],
    ]
    return table(["Figure 5.7", "thesis", "here"], rows)


def bar(name, value, bound):
    return f"bar {name} {percent(value)} % >= {bound} {'ok' if 100 * value >= bound else 'short'}"


def bars(runs):
    return [bar("iplb.flow_based_same", runs.least("flow-based", "same")[0], 99.5),
            bar("iplb.flow_based", runs.least("flow-based")[0], 85)]
