"""E7 (Figures 5.5 and 5.6): two senders, two receivers and two paths between their switches."""

import os
import re
import statistics

import stacks
from blocks import table
from order import Order

HERE = os.path.dirname(os.path.abspath(__file__))
METHODS = ("one path", "hash", "flow-based")
LAWS = {"same": "Same", "random": "Random", "power_law": "Power-law"}
# What the text says of the figures, which are plots: Mbit/s at a link rate of 1000.
THESIS = {("one path", law): "1000" for law in LAWS} | {
    ("hash", "same"): "over 1650 in every run", ("flow-based", "same"): "full",
    ("hash", "random"): "below flow-based", ("flow-based", "random"): "over hash, below full",
    ("hash", "power_law"): "below flow-based", ("flow-based", "power_law"): "over hash, below full"}


class Received:
    """Megabits a second that both receivers got, a value a run, by method and law of rates."""

    def __init__(self):
        self.of = {}

    def add(self, method, law, value):
        self.of.setdefault((method, law), []).append(value)


def measure(plait, folder, small):
    text = stacks.read_text(os.path.join(HERE, "two-paths.yaml"))
    if small:
        text = text.replace("repeats: 20", "repeats: 1").replace("duration: 11s", "duration: 6s").replace("warmup: 7s", "warmup: 3s")
    plain = re.sub(r"(?m)^(paths|    select): .*\n", "", text)
    received, order = Received(), Order(METHODS)
    for name, of in (("two-paths", text), ("two-paths-plain", plain)):
        output = stacks.run(plait, name, of, folder, jobs=2)
        for row in stacks.runs(output):
            bytes_a_second = float(row["first"]) + float(row["second"])
            method = row.get("select", METHODS[0])
            received.add(method, row["rates"], bytes_a_second * 8 / 1e6)
            order.add(method, stacks.attempt(output, row))
    return received, order


def beside(received):
    rows = []
    for law, title in LAWS.items():
        for method in METHODS:
            values = received.of[method, law]
            rows.append([f"{title}, {method}", THESIS[method, law], f"{statistics.fmean(values):.1f}",
                         f"{min(values):.1f} to {max(values):.1f}"])
    return table(["Mbit/s", "thesis, of 2000", "here, of 200", "least and most of runs"], rows)
