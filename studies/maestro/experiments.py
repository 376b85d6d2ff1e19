"""The thesis's experiments (section 4.3), each a function from a lab to what its page says, of an application and a map."""

import statistics
from cells import DESIGNS, PRESETS, count, probe_ms, rate

# Of the thesis's capacity of 1.7 M/s: 4 M, 1.4 M and 0.85 M requests a second.
OVERLOAD, BUSY, HALF = 4 / 1.7, 1.4 / 1.7, 0.85 / 1.7
LOADS = {"2.35": OVERLOAD, "0.82": BUSY, "0.50": HALF}
PROBE = ("--probe", "5")
APPS = ("learning-switch", "routing")
# What is offered before a capacity is known: more than the application answers.
FIRST = {"learning-switch": 8e6, "routing": 4e6}
# A read of 64 KiB brings six hundred requests, and no batch is smaller: with reads of 2 KiB the threshold decides. These,
# and 3 ms for a batch, are what the thesis has.
SMALL_READS = ("--read", "2KiB", "--batch-bound", "3ms")


def shaped(shape, value):
    return (*rate(value), "--shape", shape, *PROBE)


def skewed(value):
    return shaped("skewed", value)


def nearly_uniform(value):
    return shaped("nearly-uniform", value)


# The rate scenarios of Figure 4.7, each a load of a capacity.
SCENARIOS = {
    "1: nearly uniform, 2.35": lambda most: nearly_uniform(most * OVERLOAD),
    "2: skewed, 2.35": lambda most: skewed(most * OVERLOAD),
    "3: skewed, 0.82": lambda most: skewed(most * BUSY),
    "4: skewed, 0.50": lambda most: skewed(most * HALF),
}


def capacity(lab, app, switches, options=()):
    """What four workers of the default design answer of a skewed load that is far more than they can. The load is asked
    for twice: the first says how much far more is."""
    first = lab.run(app, options, skewed(FIRST[app]), switches=switches)["answered"]
    return lab.run(app, options, skewed(OVERLOAD * first), switches=switches)["answered"]


def fairness(lab, app, designs, switches):
    """Of each scenario what was answered, and deviations from max-min shares, from that of the fairest switch on."""
    most = capacity(lab, app, switches)
    rows = []
    for name in designs:
        tells = [lab.run(app, DESIGNS[name], load(most), switches=switches) for load in SCENARIOS.values()]
        deviations = [[share["deviation"] for share in told["shares"]] for told in tells]
        rows.append([name, *[(told["answered"], sorted(of, key=abs)) for told, of in zip(tells, deviations)]])
    return rows


def thresholds(lab, app, sizes, presets, switches):
    """Throughput and the probing switch's delay by a fixed batch size, with the adaptive one, and of presets, under three loads;
    how many reads a batch took tells whether the threshold decided."""
    most = capacity(lab, app, switches, SMALL_READS)
    options = {str(size): (*SMALL_READS, "--batch", str(size)) for size in sizes}
    options["adaptive"] = SMALL_READS
    options.update((name, PRESETS[name]) for name in presets)
    rows = []
    for name, own in options.items():
        tells = [lab.run(app, own, skewed(most * load), switches=switches) for load in LOADS.values()]
        requests, batches = count(tells[0], "requests"), max(1, count(tells[0], "batches"))
        rows.append([name, requests / batches, *[(told["answered"], probe_ms(told)) for told in tells]])
    return rows


def dynamics(lab, app, name, options, switches, step):
    """As the load changes: 2.35, 0.82, 0.50, 0.82 and 2.35 of the capacity. For each step the load, what was answered, the range
    in which nine tenths of the thresholds of the busiest worker are, and their median; and the line of those."""
    most = capacity(lab, app, switches, SMALL_READS)
    factors = (1, BUSY / OVERLOAD, HALF / OVERLOAD, BUSY / OVERLOAD, 1)
    changes = [word for place, factor in enumerate(factors) for word in ("--at", f"{place * step}s={factor:.4f}")][2:]
    load = (*skewed(most * OVERLOAD), *changes)
    told = lab.run(app, options, load, switches=switches, seconds=step * len(factors), sample=0.1)
    samples = [sample for sample in told["samples"] if sample["workers"]]
    if not samples:
        return [[factor * OVERLOAD, None, None, None, None] for factor in factors], []
    busiest = max(range(len(samples[-1]["workers"])), key=lambda place: samples[-1]["workers"][place]["requests"])
    # Requests begin when stations are known: the run ends with the last step, whatever came before it.
    begin = samples[-1]["at"] - step * len(factors)
    line = [(sample["at"] - begin, sample["workers"][busiest]["threshold"]) for sample in samples]
    done = [(sample["at"] - begin, count(sample, "requests")) for sample in samples]
    rows = []
    for place, factor in enumerate(factors):
        within = [index for index, (at, _) in enumerate(line) if place * step <= at < (place + 1) * step]
        if len(within) < 2:
            # Nobody could be asked meanwhile.
            rows.append([factor * OVERLOAD, None, None, None, None])
            continue
        held = sorted(line[index][1] for index in within)
        (since, before), (until, after) = done[within[0]], done[within[-1]]
        answered = (after - before) / (until - since)
        low, high = held[len(held) // 20], held[-1 - len(held) // 20]
        rows.append([factor * OVERLOAD, answered, low, high, statistics.median(held)])
    return rows, line


def presets(lab, app, switches):
    """Table 4.1: throughput and the probing switch's delay beside NOX's and Beacon's ways of working."""
    most = capacity(lab, app, switches)
    rows = []
    for name in ("round robin", *PRESETS):
        tells = [lab.run(app, DESIGNS[name], skewed(most * load), switches=switches) for load in LOADS.values()]
        rows.append([name, *[(told["answered"], probe_ms(told)) for told in tells]])
    return rows


def scaling(lab, app, designs, workers, switches):
    """Throughput of each design by workers, under uniform and skewed overload."""
    most = capacity(lab, app, switches) * OVERLOAD
    rows = []
    for shape, load in (("nearly uniform", nearly_uniform), ("skewed", skewed)):
        for name in designs:
            tells = [lab.run(app, DESIGNS[name], load(most), number, switches) for number in workers]
            rows.append([shape, name, *[told["answered"] for told in tells]])
    return rows


def four(lab, app, designs, workers):
    """Four switches, as much as they can take."""
    rows = []
    for name in designs:
        tells = [lab.run(app, DESIGNS[name], ("--flood",), number, 4) for number in workers]
        rows.append([name, *[told["answered"] for told in tells]])
    return rows


def few(lab, app, designs, switches):
    """One switch in twenty has something to say, and all of the load."""
    most = capacity(lab, app, switches) * OVERLOAD
    rows = []
    for name in designs:
        told = lab.run(app, DESIGNS[name], shaped("few", most), switches=switches)
        active = [abs(share["deviation"]) for share in told["shares"] if share["offered"] > 0]
        rows.append([name, told["answered"], max(active, default=0.0), probe_ms(told)])
    return rows


# Who asks where something waits: one worker in each of its rounds, in one of eight, four times in each, all of them, and nobody,
# without the map.
POLLING = ("one", "one:8", "one:1/4", "all", "none")


def idleness(lab, app, shapes, presets, switches):
    """The idleness map by who fills it, and none: throughput and the probing switch's delay; and of presets, with the map."""
    most = capacity(lab, app, switches) * OVERLOAD
    rows = []
    for shape in shapes:
        load, own = shaped(shape, most), DESIGNS["round robin"]
        options = [*((*own, "--poll", polls) for polls in POLLING), *(PRESETS[name] for name in presets)]
        tells = [lab.run(app, option, load, switches=switches) for option in options]
        rows.append([shape, *[(told["answered"], probe_ms(told)) for told in tells]])
    return rows


def ablations(lab, app, designs, switches):
    """Each part switched off, under skewed overload."""
    most = capacity(lab, app, switches) * OVERLOAD
    rows = []
    for name in designs:
        row = [name]
        for off in ((), ("--no-pools",), ("--no-pin",), ("--no-output-batching",)):
            row.append(lab.run(app, (*DESIGNS[name], *off), skewed(most), switches=switches)["answered"])
        rows.append(row)
    return rows


def revisits(lab, app, switches):
    """Another try of who is held by another worker, and none, under skewed overload and at 0.82 of the capacity: of each what was
    answered, deviations from max-min shares from that of the fairest switch on, and what workers met."""
    most = capacity(lab, app, switches)
    rows = []
    for load in (OVERLOAD, BUSY):
        for words, off in (("tried again", ()), ("passed by", ("--no-revisit",))):
            told = lab.run(app, (*DESIGNS["round robin"], *off), skewed(most * load), switches=switches)
            deviations = sorted((share["deviation"] for share in told["shares"]), key=abs)
            rows.append([f"{load:.2f}: {words}", told["answered"], deviations, count(told, "skips"), count(told, "revisits")])
    return rows


def sizes(lab, app, maps):
    """Processor time for a request by connections, at an equal offered load: half of the capacity of the largest map."""
    load = capacity(lab, app, max(maps)) * HALF
    rows = []
    for switches in maps:
        told = lab.run(app, (), shaped("uniform", load), switches=switches, seconds=2 * lab.seconds, span=lab.seconds)
        rows.append([switches, told["processor"] / told["answered"] * 1e9])
    return rows


# What workers count of their rounds and of each other, in the order of `counted`.
MET = ("rounds", "skips", "skips_of_readers", "revisits", "missed", "output_skips", "lock_waits")


def counted(lab, app, designs, switches):
    """What workers met under skewed overload."""
    most = capacity(lab, app, switches) * OVERLOAD
    rows = []
    for name in designs:
        told = lab.run(app, DESIGNS[name], skewed(most), switches=switches)
        rows.append([name, *[count(told, what) for what in MET]])
    return rows
