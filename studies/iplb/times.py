"""E12 (Figure 5.12): how long eight paths and their relays take to each switch of random graphs."""

import json
import math
import os
import subprocess

import machine
from blocks import table

COSTS = {"alike": "all links alike", "drawn": "links of 1 to 10"}
PERCENTILES = (50, 90, 99, 100)
# Milliseconds that 90 % of destinations took at most, by ports, and seconds that all of them took.
THESIS = {8: ("10 ms", ""), 16: ("10 ms", ""), 24: ("10 ms", "7.2 s"), 36: ("20 ms", "32.4 s")}


class Times:
    """Microseconds of every destination of some graphs of one size, the least first."""

    def __init__(self, line):
        self.ports, self.switches, self.costs = line["ports"], line["switches"], line["costs"]
        self.graphs, self.micros = line["graphs"], sorted(line["micros"])

    def percentile(self, share):
        """The least time that so many of a hundred destinations do not exceed."""
        return self.micros[max(0, math.ceil(len(self.micros) * share / 100) - 1)]

    def whole(self):
        """Milliseconds that all destinations of a graph took, the mean of the graphs."""
        return sum(self.micros) / self.graphs / 1e3


def measure(folder, small):
    program = machine.built("examples/paths_times")
    if not os.access(program, os.X_OK):
        raise SystemExit("the example `paths_times` is not built: make study-iplb builds it")
    words = [program, "--graphs", "1" if small else "10"]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    with open(os.path.join(folder, "times.jsonl"), "w", encoding="utf-8") as file:
        file.write(done.stdout)
    return [Times(json.loads(line)) for line in done.stdout.splitlines()]


def beside(all_times):
    rows = []
    for times in all_times:
        of_each, of_all = THESIS[times.ports]
        rows.append([f"{times.switches} switches, {COSTS[times.costs]}", of_each,
                     *(f"{times.percentile(share):.0f}" for share in PERCENTILES), of_all, f"{times.whole():.1f}"])
    return table(["", "thesis: 90 %", *(f"{share} %, µs" if share < 100 else "most, µs" for share in PERCENTILES),
                  "thesis: all", "all, ms"], rows)
