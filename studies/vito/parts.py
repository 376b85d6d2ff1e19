"""Which sweeps there are, how large, and about how long they take."""

from sweeps import Sweep

CHAINS = ("netem-tbf", "tbf-netem", "tbf-netem-pairs", "tbf-netem-100", "tbf-netem-10000")
SHAPERS, CONTROLS = ("tbf", "htb"), ("cubic", "bbr")
RATES, BURSTS = (10, 50, 100, 200), (1514, 3028, 4542, 6056, 7570, 10598)
BYTES = "-n 100000000"


def written(name, levels):
    return f"{name}: [{', '.join(map(str, levels))}]"


def sweeps(small):
    """By experiment."""
    return {"E1": order(small), "E2": split(small), "E3": auxiliary(small), "E4": burst(small)}


def download(name, source, asked, repeats, small, cells=1, seconds=20):
    """A sweep of one of VITO's files, which asks for so many repeats.

    A small one has a run of each cell, of a tenth of the bytes.
    """
    if small:
        return Sweep(name, source, {f"repeats: {asked}": "repeats: 1", BYTES: "-n 10000000"}, cells, 4)
    return Sweep(name, source, {f"repeats: {asked}": f"repeats: {repeats}"}, cells * repeats, seconds)


def order(small):
    found = [download("e1-engine", "e1-netem-tbf.xml", 10, 10, small)]
    for chain in () if small else CHAINS:
        repeats = 10 if chain in CHAINS[:2] else 3
        edits = {written("chain", CHAINS): written("chain", [chain]), "repeats: 10": f"repeats: {repeats}"}
        if chain.endswith("-100"):
            # Three quarters of its line stay empty.
            edits[BYTES] = "-n 25000000"
        found.append(Sweep(f"e1-{chain}", "order.yaml", edits, repeats, 22, in_guest=True))
    return found


def split(small):
    found = [download(f"e2-engine-{chain}", f"e2-{chain}.xml", 10, 5, small) for chain in CHAINS[:2]]
    if not small:
        found.append(Sweep("e2-guest", "split.yaml", {}, 2 * 3, 30, in_guest=True))
    return found


def auxiliary(small):
    ways = ("direct", "avm")
    return [download(f"e3-{way}", f"e3-{way}.xml", 20, 10, small, cells=2, seconds=10) for way in ways]


def burst(small):
    if not small:
        idle = {written("shaper", SHAPERS): "shaper: [tbf]", written("control", CONTROLS): "control: [cubic]",
                "load: [busy]": "load: [idle]"}
        why = {written("shaper", SHAPERS): "shaper: [htb, htb-room, htb-pieces]",
               written("rate", RATES): "rate: [10]", written("burst", BURSTS): "burst: [6056]",
               written("control", CONTROLS): "control: [bbr]"}
        return [Sweep("e4-busy", "bucket.yaml", {}, 3 * 96, 2.6),
                Sweep("e4-htb", "bucket.yaml", why, 3 * 3, 2.6),
                Sweep("e4-idle", "bucket.yaml", idle, 3 * 24, 2.6),
                Sweep("e4-engine", "engine.yaml", {}, 3 * 16, 2.6)]
    # The load stays: what it does, a crowded machine does anyway.
    once = {written("control", CONTROLS): "control: [cubic]", "repeats: 3": "repeats: 1", "-t 2": "-t 1"}
    bucket = {written("rate", RATES): "rate: [10, 100]", written("burst", BURSTS): "burst: [4542, 10598]"}
    engine = {written("rate", [f"{rate}Mbit" for rate in RATES]): "rate: [10Mbit, 100Mbit]",
              "load: [idle, busy]": "load: [busy]"}
    return [Sweep("e4-busy", "bucket.yaml", {**bucket, **once}, 8, 1.6),
            Sweep("e4-engine", "engine.yaml", {**engine, **once}, 2, 1.6)]
