"""E8's fat-tree again, on real stacks: 16 hosts and 20 switches on one machine."""

import re
import statistics

import stacks
from blocks import table
from two_paths import METHODS

PATTERNS = ("random", "permutation", "stride(1)", "stride(2)", "stride(4)")
# As in the simulated study: a link's 8 Mbit/s hold what a host sends with a GRE header before each packet.
OFFERED = 16 * 8 * 1066 / 1090

LOAD = """experiment:
  factors:
    pattern: [{patterns}]
    select: [hash, flow-based]
  repeats: {repeats}
defaults: {{link: {{rate: 8Mbit, delay: 10us, queue: 100ms}}}}
paths: {{k: 4, method: fat-tree, select: $select}}
duration: {seconds}s
warmup: {warmup}s
traffic: [{{name: load, pattern: $pattern, flows: 320, rate: {rate:.0f}kbit, size: 1024B}}]
collect: {{tcp: off, links: 1s, interfaces: off}}
metrics:
"""


def measure(plait, folder, small):
    """Shares of what was sent that arrived, by pattern and method: a share a run."""
    patterns, repeats, seconds = (PATTERNS[-1:], 1, 6) if small else (PATTERNS, 3, 16)
    network = stacks.printed(plait, "generate", "fat-tree", "--k", "4")
    load = LOAD.format(patterns=", ".join(patterns), repeats=repeats, seconds=seconds, warmup=seconds // 2, rate=1000 * OFFERED)
    access = re.findall(r"\bedge\w+-host\w+", network)
    names = {link: link.replace("-", "_") for link in access}
    text = network + load + "".join(f"  {name}: {{link: {link}, column: bytes, take: rate}}\n" for link, name in names.items())
    plain = re.sub(r"(?m)^(paths|    select): .*\n", "", text)
    shares = {}
    for name, of in (("fat-tree", text), ("fat-tree-plain", plain)):
        for row in stacks.runs(stacks.run(plait, name, of, folder)):
            received = sum(float(row[name]) for name in names.values()) * 8 / 1e6
            shares.setdefault((row["pattern"], row.get("select", METHODS[0])), []).append(received / OFFERED)
    return shares


# What the simulated study calls the same.
SIMULATED = {"one path": "tree"}


def beside(shares, runs):
    """Means and the worst runs, beside those of simulated runs."""
    def shown(values):
        return f"{100 * statistics.fmean(values):.1f} ({100 * min(values):.1f})"

    def simulated(pattern, method):
        return shown(runs.shares(pattern, "same", SIMULATED.get(method, method)))

    patterns = list(dict.fromkeys(pattern for pattern, _ in shares))
    rows = [[pattern, *[cell for method in METHODS for cell in (shown(shares[pattern, method]), simulated(pattern, method))]]
            for pattern in patterns]
    return table(["% received of sent", *[head for method in METHODS for head in (method, "simulated")]], rows)
