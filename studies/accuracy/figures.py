"""From what became of datagrams to figures: those of one run, then those of all runs of a point.

Nothing is subtracted, not even what a bare veth pair adds. Times are in microseconds.
"""

import laws

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def of_run(point, sent, delays):
    came = [(number, delay) for number, delay in enumerate(delays) if delay is not None]
    if len(came) < 20:
        raise ValueError(f"{point.name}: only {len(came)} of {len(sent)} datagrams came")
    figures = {"sent": len(sent), "came": len(came)}
    return figures | KINDS[point.quantity](point, sent, delays, came)


def delay(point, _sent, _delays, came):
    """The error of the delay. A frame takes its time at the rate, too."""
    asked = point.delay + point.on_the_wire()
    errors = sorted((delay - asked) / 1e3 for _, delay in came)
    named = {f"p{share * 100:g}": laws.quantile(errors, share) for share in QUANTILES}
    return {"error": named["p50"], "mean": laws.mean(errors), "latest": errors[-1], **named}


def jitter(point, _sent, _delays, came):
    seen = sorted(delay / 1e3 for _, delay in came)
    law = laws.LAWS[point.law](point.delay / 1e3, point.spread / 1e3)
    # The same law where its median is the sample's: its shape alone.
    median = laws.quantile_of(law, 0.5, 0.0, 10 * point.delay / 1e3)
    moved = laws.quantile(seen, 0.5) - median
    quantiles = {f"p{share * 100:g}": laws.quantile(seen, share) - laws.quantile_of(law, share, 0.0, 1e6)
                 for share in QUANTILES}
    distance = laws.from_law(seen, law)
    return {"error": distance, "doubt": laws.doubt(distance, len(seen)),
            "shape": laws.from_law(seen, lambda value: law(value - moved)),
            "deviation": laws.deviation(seen), "moved": moved, **quantiles}


def rate(point, sent, _delays, came):
    """Bits between the first and the last arrival, once the queue is full; and the most that came at once."""
    arrivals = sorted(sent[number] + delay for number, delay in came)
    # A token bucket is full at first, so what it lets through at once is counted from the first arrival on.
    bits = point.frame * 8
    ahead = lowest = most = 0.0
    for at, arrival in enumerate(arrivals):
        ahead = at * bits - point.rate * (arrival - arrivals[0]) / 1e9
        lowest = min(lowest, ahead)
        most = max(most, ahead - lowest)
    settled = arrivals[len(arrivals) // 10:]
    got = (len(settled) - 1) * bits * 1e9 / (settled[-1] - settled[0])
    gaps = sorted((later - earlier) / 1e3 for earlier, later in zip(settled, settled[1:]))
    offered = (len(sent) - 1) * bits * 1e9 / (sent[-1] - sent[0])
    return {"error": (got / point.rate - 1) * 100, "got": got, "offered": offered,
            "ahead": most / 8, **{f"gap p{share}": laws.quantile(gaps, share / 100) for share in (1, 50, 99)}}


def loss(point, sent, delays, came):
    lost = len(sent) - len(came)
    bursts, run = [], 0
    for delay_ in [*delays, 0]:
        if delay_ is None:
            run += 1
        elif run:
            bursts.append(run)
            run = 0
    # Of losses that hang together, as many as say as much as independent ones.
    memory = 1 - sum(point.chain) if point.chain else 0.0
    weight = (1 - memory) / (1 + memory)
    low, high = laws.wilson(lost * weight, len(sent) * weight)
    got = lost / len(sent)
    figures = {"lost": lost, "weight": weight, "got": got, "low": low, "high": high,
               "error": (got / point.loss - 1) * 100}
    if point.chain and bursts:
        left = point.chain[1]
        longest = max(bursts)
        # A burst ends at each packet with the probability `left`: its length is geometric.
        worst = max(abs(sum(burst <= length for burst in bursts) / len(bursts) - (1 - (1 - left) ** length))
                    for length in range(1, longest + 1))
        figures |= {"bursts": len(bursts), "burst": laws.mean(bursts), "burst distance": worst}
    return figures


def queue(point, sent, delays, came):
    """How long a packet waits that a full queue lets in, and what stood there when the first was dropped."""
    asked = point.queue_bytes * 8e6 / point.rate
    settled = sorted(delay / 1e3 for _, delay in came[len(came) // 2:])
    full = laws.quantile(settled, 0.99)
    figures = {"asked": asked, "full": full, "error": (full / asked - 1) * 100, "longest": settled[-1]}
    first = next((number for number, delay in enumerate(delays) if delay is None), None)
    if first is not None:
        gone = sum(1 for number in range(first) if sent[number] + delays[number] <= sent[first])
        figures["stood"] = (first - gone) * point.frame
    return figures


def line(point, sent, delays, came):
    lost = loss(point, sent, delays, came)
    return delay(point, sent, delays, came) | {f"loss {key}": lost[key] for key in ("got", "lost", "weight")}


KINDS = {"delay": delay, "jitter": jitter, "rate": rate, "loss": loss, "queue": queue, "line": line}


def of_point(point, runs):
    """Means over runs with the half-widths of their intervals: the unit of statistics is the run."""
    together = {}
    for key in runs[0]:
        values = [run[key] for run in runs if key in run]
        middle, half = laws.interval(values)
        together[key] = {"mean": middle, "half": half, "least": min(values), "most": max(values)}
    together["kept"] = kept(point, runs, {key: of["mean"] for key, of in together.items()})
    return together


def pooled(runs, prefix=""):
    """The 99 % interval of the loss, all runs together."""
    weight = runs[0][prefix + "weight"]
    return laws.wilson(*(weight * sum(run[key] for run in runs) for key in (prefix + "lost", "sent")))


def kept(point, runs, of):
    """Whether a link keeps its word by what `plait link check` tolerates (docs: accuracy classes)."""
    late = max(50.0, point.delay / 1e5)
    if point.quantity == "jitter":
        # What it is off as a whole is held against the tolerance of the delay, the rest by its shape.
        return abs(of["moved"]) <= late and of["shape"] <= (3.8 / of["came"]) ** 0.5
    if point.quantity == "rate":
        return abs(of["error"]) <= 1
    if point.quantity == "queue":
        return abs(of["full"] - of["asked"]) <= of["asked"] / 20 + 2 * point.on_the_wire() / 1e3
    if point.quantity == "delay":
        return abs(of["mean"]) <= late
    low, high = pooled(runs, "loss " if point.quantity == "line" else "")
    return low <= point.loss <= high and (point.quantity == "loss" or abs(of["mean"]) <= late)
