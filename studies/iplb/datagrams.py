"""E13 with datagrams in place of a connection: one file on real stacks and in virtual time."""

import os

import recovery
import stacks
from blocks import table

NAME = "recovery-datagrams"
LEFT_OUT = ("--world", "simulated", "--leave-out")
# How late a frame may leave a link in a run that counts, ms. Choice: a tenth of a sample, of which a twentieth is all that a bar would
# notice; a small machine puts the links' thread aside for some milliseconds now and then.
LATE = 10


def measure(plait, folder, small):
    """For each failure, what is seen of it on real stacks and in virtual time."""
    text = stacks.read_text(os.path.join(recovery.HERE, f"{NAME}.yaml"))
    if recovery.BARE not in text:
        raise SystemExit(f"{NAME}.yaml has no bare links of c")
    if small:
        for old, new in (("duration: 60s", "duration: 26s"), ("stop: 59s", "stop: 25s"), ("at: 20s", "at: 8s"), ("at: 40s", "at: 18s")):
            text = text.replace(old, new)

    def both(name, of):
        real = stacks.run_valid(plait, f"{NAME}-{name}", of, folder, late_ms=LATE)
        virtual = stacks.run(plait, f"{NAME}-{name}-simulated", of, folder, LEFT_OUT)
        return [recovery.read(output) for output in (real, virtual)]

    return {"its neighbours see it": both("seen", text), "nobody sees it": both("silent", text.replace(recovery.BARE, recovery.SHAPED))}


def beside(failures):
    columns = [(f"{name}, {world}", run) for name, worlds in failures.items()
               for world, run in zip(("real stacks", "virtual time"), worlds)]
    def row(title, of, form):
        return [title, *(form.format(of(run)) for _, run in columns)]

    rows = [row("before", recovery.Recovery.before, "{:.0f} Mbit/s"),
            row("least in 0.1 s", lambda run: 100 * run.least() / run.before(), "{:.0f} %"),
            row("full again after", recovery.Recovery.until_full, "{:.1f} s"),
            row("missing until then", recovery.Recovery.missing, "{:.0f} kB")]
    return table(["a switch fails", *(title for title, _ in columns)], rows)


# What a path that stays brings, %: half of all, but for what a counter that is read late makes of it.
KEPT = 45


def bars(failures):
    """Of each failure what arrives at least in a tenth of a second, in the worse world."""
    def kept(name, worlds):
        least = min(100 * run.least() / run.before() for run in worlds)
        return f"bar {name} {least:.0f} % >= {KEPT} {'ok' if least >= KEPT else 'short'}"

    return [kept(name, worlds) for name, worlds in zip(("iplb.datagrams_kept", "iplb.datagrams_kept_silent"), failures.values())]
