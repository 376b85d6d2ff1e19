"""E9 (Tables 5.4 to 5.6): random graphs under Multipath TCP, on real stacks and at the thesis's smallest size."""

import os
import statistics

import networks
import stacks
from blocks import table

# Table 5.6's row of 4 ports: bytes in all, by those of a single shortest path.
THESIS = {networks.ECMP: 1.12, 2: 1.18, 3: 1.22, 4: 1.23, 5: 1.22, 6: 1.23, 7: 1.19, 8: 1.17}
# Ways of the study by the length of queues, and of the small one. Choice: with short queues three of the thesis's seven numbers
# of paths, since runs on real stacks take as long as they say.
METHODS = {networks.LONG: (networks.SINGLE, networks.ECMP, *range(2, 9)), networks.SHORT: (networks.SINGLE, networks.ECMP, 2, 4, 8)}
SMALL = (networks.SINGLE, 4)
GRAPHS, SECONDS, OMITTED = 6, 20, 8


def measure(plait, folder, small, queue):
    """Bytes that arrived in all with queues of so many packets, by method and graph; and what was run."""
    methods, graphs, seconds, omitted = (SMALL, 1, 4, 1) if small else (METHODS[queue], GRAPHS, SECONDS, OMITTED)

    def received(seed, method):
        text = networks.subflows(seed, method, seconds, omitted, queue)
        # While thirty programs begin, links are late on a small machine; that is over long before anything counts. Later a frame
        # may be late by less than the 7.2 ms that it takes to be sent: the link's rate stays what it is, and queues hold 144 ms or more.
        begin = networks.UPLOADS_AT + omitted
        kind = "" if queue == networks.LONG else f"{queue}p-"
        output = stacks.run_valid(plait, f"random-graph-{kind}{method}-{seed}", text, folder, begin - 1, begin + seconds, 7.2)
        return sum(said["end"]["sum_received"]["bytes"] for said in stacks.uploads(output))

    # One after the other: on two processors two of them disturb each other.
    sums = {method: [] for method in methods}
    for seed in range(1, graphs + 1):
        for method, of in sums.items():
            of.append(received(seed, method))
    return sums, f"E9           {graphs} graphs, {seconds} s each, queues of {queue} packets"


def beside(sums):
    single = sums[networks.SINGLE]

    def gain(method):
        gains = [all_of / one for all_of, one in zip(sums[method], single)]
        spread = f" ± {interval(gains):.2f}" if len(gains) > 1 else ""
        return f"{statistics.fmean(sums[method]) / statistics.fmean(single):.2f}{spread}"

    rows = [[method if method == networks.ECMP else f"k = {method}", f"{THESIS[method]:.2f}", gain(method)]
            for method in sums if method != networks.SINGLE]
    return table(["by a single shortest path", "thesis", "here"], rows)


def interval(values):
    """Half of the 95 % interval of the mean (Student's, of 6 values)."""
    return 2.571 * statistics.stdev(values) / len(values) ** 0.5
