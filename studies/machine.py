"""What every study says first: the machine, its load before the study, and the versions of what it compares."""

import os
import subprocess


def output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).strip()
    except FileNotFoundError:
        return "not installed"


def processor():
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return os.uname().machine


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def built(name):
    """Where Cargo puts what it builds."""
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release", name)


def find_plait():
    """The program under test: $PLAIT, or the release binary of this repository."""
    for path in (os.environ.get("PLAIT"), os.path.join(ROOT, "bin/plait"), built("plait")):
        if path and os.access(path, os.X_OK):
            return path
    raise SystemExit("no plait binary: run `make build`, or set PLAIT")


def load():
    with open("/proc/loadavg") as file:
        return file.read().split()[:3]


def describe(plait, **others):
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1]) >> 20
    facts = {
        "machine": f"{os.cpu_count()} × {processor()}, {memory} GiB",
        "kernel": os.uname().release,
        "load before": " ".join(load()),
        "plait": output(plait, "--version"),
        **others,
    }
    for name, value in facts.items():
        print(f"{name:12} {value}")
    print(flush=True)
    return facts
