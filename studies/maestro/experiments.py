"""The thesis's experiments (section 4.3), each a function from a lab to what its page says."""

import statistics
from cells import DESIGNS, PRESETS, count, probe_ms, rate

# Of the thesis's capacity of 1.7 M/s: 4 M, 1.4 M and 0.85 M requests a second.
OVERLOAD, BUSY, HALF = 4 / 1.7, 1.4 / 1.7, 0.85 / 1.7
LOADS = {"2.35": OVERLOAD, "0.82": BUSY, "0.50": HALF}
PROBE = ("--probe", "5")
APPS = ("learning-switch", "routing")


def skewed(value):
    return (*rate(value), "--shape", "skewed", *PROBE)


def uniform(value):
    return (*rate(value), "--shape", "uniform", *PROBE)


def capacity(lab, app, switches=79):
    """What four workers of the default design answer of a skewed load that is far more than they can. The load is asked
    for twice: the first says how much far more is."""
    first = lab.run(app, load=skewed(4e6), switches=switches)["answered"]
    return lab.run(app, load=skewed(OVERLOAD * first), switches=switches)["answered"]


def fairness(lab, app, designs):
    """Deviations from max-min shares: the worst, and of nine switches in ten."""
    most = capacity(lab, app) * OVERLOAD
    rows = []
    for name in designs:
        row = [name]
        for shape in (uniform, skewed):
            told = lab.run(app, DESIGNS[name], shape(most))
            deviations = sorted(abs(share["deviation"]) for share in told["shares"])
            row += [told["answered"], deviations[int(0.9 * len(deviations))], told["worst_deviation"]]
            row.append([share["deviation"] for share in told["shares"]])
        rows.append(row)
    return rows


def thresholds(lab, app, sizes):
    """Throughput and the probing switch's delay by a fixed batch size, and with the adaptive one, under three loads."""
    most = capacity(lab, app)
    rows = []
    for size in (*sizes, None):
        options = ("--batch", str(size)) if size else ()
        tells = [lab.run(app, options, skewed(most * load)) for load in LOADS.values()]
        rows.append([size, *[(told["answered"], probe_ms(told)) for told in tells]])
    return rows


def dynamics(lab, app, step):
    """The adaptive threshold as the load changes: 2.35, 0.82, 0.50, 0.82 and 2.35 of the capacity. For each step the
    range in which nine tenths of the thresholds of the busiest worker are."""
    most = capacity(lab, app)
    factors = (1, BUSY / OVERLOAD, HALF / OVERLOAD, BUSY / OVERLOAD, 1)
    changes = [word for place, factor in enumerate(factors) for word in ("--at", f"{place * step}s={factor:.4f}")][2:]
    told = lab.run(app, (), (*skewed(most * OVERLOAD), *changes), seconds=step * len(factors), sample=0.1)
    samples = [sample for sample in told["samples"] if sample["workers"]]
    if not samples:
        return [], []
    busiest = max(range(len(samples[-1]["workers"])), key=lambda place: samples[-1]["workers"][place]["requests"])
    # Requests begin when stations are known: the run ends with the last step, whatever came before it.
    begin = samples[-1]["at"] - step * len(factors)
    line = [(sample["at"] - begin, sample["workers"][busiest]["threshold"]) for sample in samples]
    rows = []
    for place, factor in enumerate(factors):
        held = sorted(value for at, value in line if place * step <= at < (place + 1) * step)
        if held:
            rows.append([factor * OVERLOAD, held[len(held) // 20], statistics.median(held), held[-1 - len(held) // 20]])
    return rows, line


def presets(lab, app):
    """Table 4.1: throughput and the probing switch's delay beside NOX's and Beacon's ways of working."""
    most = capacity(lab, app)
    rows = []
    for name in ("round robin", *PRESETS):
        tells = [lab.run(app, DESIGNS[name], skewed(most * load)) for load in LOADS.values()]
        rows.append([name, *[(told["answered"], probe_ms(told)) for told in tells]])
    return rows


def scaling(lab, app, designs, workers, maps):
    """Throughput of each design by workers, under uniform and skewed overload."""
    rows = []
    for switches in maps:
        most = capacity(lab, app, switches) * OVERLOAD
        for shape in (uniform, skewed):
            for name in designs:
                tells = [lab.run(app, DESIGNS[name], shape(most), number, switches) for number in workers]
                rows.append([switches, shape.__name__, name, *[told["answered"] for told in tells]])
    return rows


def four(lab, app, designs, workers):
    """Four switches, as much as they can take."""
    rows = []
    for name in designs:
        tells = [lab.run(app, DESIGNS[name], ("--flood",), number, 4) for number in workers]
        rows.append([name, *[told["answered"] for told in tells]])
    return rows


def idleness(lab, app):
    """The idleness map where one switch in twenty of 1347 has something to say, and where all have."""
    most = capacity(lab, app, 1347) * OVERLOAD
    rows = []
    for shape in ("few", "uniform", "skewed"):
        load = (*rate(most), "--shape", shape, *PROBE)
        with_it = lab.run(app, (), load, switches=1347)
        without = lab.run(app, ("--no-idleness-map",), load, switches=1347)
        rows.append([shape, with_it["answered"], without["answered"], probe_ms(with_it), probe_ms(without)])
    return rows


def ablations(lab, app, designs):
    """Each part switched off, under skewed overload."""
    most = capacity(lab, app) * OVERLOAD
    rows = []
    for name in designs:
        row = [name]
        for off in ((), ("--no-pools",), ("--no-pin",), ("--no-output-batching",)):
            row.append(lab.run(app, (*DESIGNS[name], *off), skewed(most))["answered"])
        rows.append(row)
    return rows


def sizes(lab, app):
    """Processor time for a request with 79 and with 1347 connections, at an equal offered load: half of the capacity of
    the larger map."""
    load = capacity(lab, app, 1347) * HALF
    rows = []
    for switches in (79, 1347):
        told = lab.run(app, (), uniform(load), switches=switches)
        told_twice = lab.run(app, (), uniform(load), switches=switches, seconds=2 * lab.seconds)
        # What came before the load, the handshakes most of all, is in both.
        requests = told_twice["answered"] * told_twice["seconds"] - told["answered"] * told["seconds"]
        rows.append([switches, (told_twice["processor"] - told["processor"]) / requests * 1e9])
    return rows


def counted(lab, app):
    """What workers met under skewed overload: skips, revisits, waits for locks."""
    most = capacity(lab, app) * OVERLOAD
    rows = []
    for name in ("round robin", "shared queue", "static partition", "dynamic partition"):
        told = lab.run(app, DESIGNS[name], skewed(most))
        whats = ("rounds", "skips", "revisits", "output_skips", "lock_waits")
        rows.append([name, *[count(told, what) for what in whats]])
    return rows
