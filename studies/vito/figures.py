"""What the folder of a sweep says, and how figures are written."""

import csv
import json
import os


class Figures:
    def __init__(self, folder):
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
            self.summary = json.load(file)
        self.folder = folder
        self.factors = {factor["name"]: factor["levels"] for factor in self.summary["factors"]}

    def cell(self, levels):
        names = list(self.factors)
        for cell in self.summary["cells"]:
            if all(cell["levels"][names.index(name)] == str(level) for name, level in levels.items()):
                return cell
        raise KeyError(levels)

    def estimate(self, metric, scale=1.0, **levels):
        """Mean over runs, half-width of its 95 % interval (none of one run), and the number of runs.

        Where every run was tainted, their mean stands there all the same: the number is then negative.
        """
        found = self.cell(levels)["metrics"][metric]
        mean = found["mean"]
        if not mean:
            values = found["tainted"]
            return scale * sum(values) / len(values), None, -len(values)
        interval = mean.get("interval")
        half = scale * (interval[1] - interval[0]) / 2 if interval else None
        return scale * mean["value"], half, mean["n"]

    def value(self, metric, **levels):
        return self.estimate(metric, **levels)[0]

    def once(self):
        """Whether no cell was repeated."""
        return all(cell["valid"] + cell["tainted"] <= 1 for cell in self.summary["cells"])

    def course(self):
        """Second, window and round-trip time of the download of the first run that counts."""
        run = next(run["run"] for run in self.summary["runs"] if run["counts"])
        with open(os.path.join(self.folder, "runs", run, "samples", "tcp.csv"), encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["node"] == "server" and row["srtt_ms"]]
        # The other connection is iperf3's own.
        largest = max(rows, key=lambda row: int(row["bytes_sent"] or 0))["remote"]
        rows = [row for row in rows if row["remote"] == largest]
        start = float(rows[0]["time_s"])
        columns = ("time_s", "cwnd_packets", "srtt_ms")
        found = [tuple(float(row[column]) for column in columns) for row in rows]
        return [(time - start, window, rtt) for time, window, rtt in found]


def with_interval(estimate, digits):
    value, half, _ = estimate
    return f"{value:.{digits}f}" + (f" ± {half:.{digits}f}" if half is not None else "")


def count(runs):
    return str(runs) if runs > 0 else f"{-runs} tainted"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines)
