"""What Algorithm 1 leaves open, by E8's fat-tree again: how often flows are moved, which of them may be, and what counts of them."""

import dataclasses
import statistics

import forwarding
from blocks import table

# How hosts choose, and what the simulator is told for it.
HASH = {"methods": "hash"}
WAYS = {
    "hash": HASH,
    "every 0.1 s": {"period": 0.1}, "every 0.3 s": {"period": 0.3}, "every second": {}, "every 3 s": {"period": 3},
    "every 10 s": {"period": 10},
    "every second, all flows may move": {"candidates": "all"},
    "every second, counters of all time": {"window": "ever"},
    "every second, both: as printed": {"candidates": "all", "window": "ever"},
}
# Every host sends out of its pod, where it has four ways. Long enough that ten seconds are a part of what does not count.
PLAN = forwarding.Plan(("stride(4)",), tuple(forwarding.RATES), 10, 40, 20)
SMALL = dataclasses.replace(PLAN, repeats=1, seconds=8, begin=4)
SMALL_WAYS = ("hash", "every second", "every second, both: as printed")


def measure(threads, folder, small):
    """Of each way the runs in which rates stay, and those in which they are drawn anew when they begin to count; and what was run."""
    plan = SMALL if small else PLAN
    drawn = dataclasses.replace(plan, rates=tuple(law for law in plan.rates if law != "same"))
    of, took = {}, 0
    for name in SMALL_WAYS if small else WAYS:
        said = {"methods": "flow-based", **WAYS[name]}
        stay, first = forwarding.simulate(4, plan, threads, folder, said)
        anew, second = forwarding.simulate(4, drawn, threads, folder, {**said, "redraw": "yes"})
        of[name], took = (stay, anew), took + first + second
    count = sum(len(runs.lines) for both in of.values() for runs in both)
    return of, forwarding.told("k = 4", count, plan, took, threads)


def beside(of):
    any_stay, any_anew = next(iter(of.values()))
    heads = [forwarding.RATES[law] for law in any_stay.rates] + [f"{forwarding.RATES[law]}, drawn anew" for law in any_anew.rates]
    rows = []
    for name, both in of.items():
        method = "hash" if WAYS[name] is HASH else "flow-based"
        shares = [forwarding.shown(runs.shares(pattern, law, method)) for runs in both for pattern in runs.patterns for law in runs.rates]
        lines = [line for runs in both for line in runs.lines]
        moved = statistics.fmean(line["moved"] for line in lines) / 16
        rows.append([name, *shares, f"{moved:.1f}"])
    return table(["% received of sent", *heads, "moved, flows a host"], rows)
