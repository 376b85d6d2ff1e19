"""Runs of network files on real stacks, and what their results folders hold."""

import csv
import glob
import json
import os
import re
import subprocess


def run(plait, name, text, folder, more=(), jobs=1):
    """Runs a network file, with more words if there are any, unless its results are there already; the folder of its results."""
    output = os.path.join(folder, name)
    path = output + ".yaml"
    if os.path.isdir(output) and read_text(path) == text and is_whole(output):
        return output
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    words = ["run", path, "--name", "iplb-" + name, *more]
    if os.path.isdir(output):
        words += ["--resume", output]
    else:
        words += ["--output", output]
    if "\nexperiment:" in text:
        words += ["--jobs", str(jobs)]
    print(f"# plait {' '.join(words)}", flush=True)
    done = subprocess.run([plait, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not os.path.isdir(output):
        raise SystemExit(f"{name} failed:\n{done.stdout}{done.stderr}")
    return output


def run_valid(plait, name, text, folder, begin=0, end=float("inf"), late_ms=0):
    """Runs a network file until its links were as asked in the seconds that count, but for frames that left so many milliseconds
    late; six times at most. The folder of the results."""
    def counts(reason):
        late = re.search(r"left more than .* late, one ([0-9.]+) ms$", reason["why"])
        return begin <= reason["seconds"] <= end and not (late and float(late[1]) <= late_ms)

    for attempt in range(1, 7):
        output = run(plait, f"{name}-{attempt}", text, folder)
        said = results(output)
        if not said["passed"]:
            raise SystemExit(f"{output} failed: {said['failures']}")
        if not any(counts(reason) for reason in said["verdict"].get("reasons", ())):
            return output
    raise SystemExit(f"links did not keep what {name} asks of them in six runs: try a machine that has less to do")


def printed(plait, *words):
    return subprocess.run([plait, *words], capture_output=True, text=True, check=True).stdout


def read_text(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def is_whole(output):
    """One run is whole when it has its name, an experiment when it has its summary."""
    return any(os.path.exists(os.path.join(output, name)) for name in ("results.json", "summary.json"))


def results(output):
    with open(os.path.join(output, "results.json"), encoding="utf-8") as file:
        return json.load(file)


def samples(output, name, missing=None):
    """Rows of samples; `missing` of those that were not asked for, if that is given."""
    path = os.path.join(output, "samples", f"{name}.csv")
    if missing is not None and not os.path.exists(path):
        yield from missing
        return
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def uploads(output):
    """What the commands that are called `upload` and a number printed, as JSON, one after the other."""
    for place in sorted(glob.glob(os.path.join(output, "commands", "*-upload*", "stdout"))):
        with open(place, encoding="utf-8") as file:
            yield json.load(file)


def attempt(output, row):
    """The folder of an experiment's attempt."""
    return os.path.join(output, "runs", f"c{row['cell']}-r{row['repeat']}-a{row['attempt']}")


def runs(output):
    """The attempts of an experiment that count: its levels and metrics."""
    with open(os.path.join(output, "runs.csv"), encoding="utf-8", newline="") as file:
        yield from (row for row in csv.DictReader(file) if row["verdict"] == "valid")
