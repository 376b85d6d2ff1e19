"""E8's fat-tree again, on real stacks: 16 hosts and 20 switches on one machine."""

import re
import statistics

import stacks
from blocks import table
from order import Order
from two_paths import METHODS

PATTERNS = ("random", "permutation", "stride(1)", "stride(2)", "stride(4)")
# What links carry, Mbit/s. Choice: half of what they do in the simulated study, since all packets of all 48 links go by one machine's
# two processors. Queues are as long in time, so that shares are of the same things.
RATE = 4
# As in the simulated study: a link holds what a host sends with a GRE header before each packet.
OFFERED = 16 * RATE * 1066 / 1090

REAL = "real"
WORLDS = (REAL, "simulated")

# As in the simulated study: queues on a path can differ in five full ones, and some; and ports are drawn, so that repeats meet other
# hashes.
LOAD = """experiment:
  factors:
    pattern: [{patterns}]
    select: [hash, flow-based]
  repeats: {repeats}
defaults: {{link: {{rate: {link}Mbit, delay: 10us, queue: 100ms}}}}
paths: {{k: 4, method: fat-tree, select: $select, spread: 550ms}}
duration: {seconds}s
warmup: {warmup}s
traffic: [{{name: load, pattern: $pattern, flows: 320, rate: {rate:.0f}kbit, size: 1024B, source_ports: drawn}}]
collect: {{tcp: off, links: 1s, interfaces: off}}
metrics:
"""


def measure(plait, folder, small):
    """Shares of what was sent that arrived, by pattern, method and world: a share a run. And in which order it arrived on real stacks."""
    patterns, repeats, seconds = (PATTERNS[-1:], 1, 6) if small else (PATTERNS, 3, 16)
    network = stacks.printed(plait, "generate", "fat-tree", "--k", "4")
    load = LOAD.format(patterns=", ".join(patterns), repeats=repeats, seconds=seconds, warmup=seconds // 2, rate=1000 * OFFERED, link=RATE)
    access = re.findall(r"\bedge\w+-host\w+", network)
    names = {link: link.replace("-", "_") for link in access}
    text = network + load + "".join(f"  {name}: {{link: {link}, column: bytes, take: rate}}\n" for link, name in names.items())
    plain = re.sub(r"(?m)^(paths|    select): .*\n", "", text)
    shares, order = {}, Order(METHODS)
    for world in WORLDS:
        for name, of in (("fat-tree", text), ("fat-tree-plain", plain)):
            output = stacks.run(plait, name if world == REAL else f"{name}-{world}", of, folder, ("--world", world))
            for row in stacks.runs(output):
                received = sum(float(row[name]) for name in names.values()) * 8 / 1e6
                method = row.get("select", METHODS[0])
                shares.setdefault((row["pattern"], method, world), []).append(received / OFFERED)
                if world == REAL:
                    order.add(method, stacks.attempt(output, row))
    return shares, order


def beside(shares):
    """Means and the worst runs, of both worlds."""
    def shown(*key):
        values = shares[key]
        return f"{100 * statistics.fmean(values):.1f} ({100 * min(values):.1f})"

    patterns = list(dict.fromkeys(pattern for pattern, _, _ in shares))
    rows = [[pattern, *[shown(pattern, method, world) for method in METHODS for world in WORLDS]] for pattern in patterns]
    return table(["% received of sent", *[head for method in METHODS for head in (method, "in virtual time")]], rows)
