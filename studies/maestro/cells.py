"""One run of a controller under one load: what was asked, what came of it, kept in a folder so that a study goes on."""

import hashlib
import json
import os
import socket
import subprocess
import time

# As many stations in all on either map, so that tables have the same size: 79 switches of 1000, 1347 of 58.
STATIONS = {8: 100, 79: 1000, 1347: 58}
# Seconds until a load begins, at most.
WARM_UP = 60
# Seconds from one look at a controller's processor time to the next, and a load's end, which does not count in it: whoever
# ends it may have taken its answers by then.
LOOK, END = 0.05, 0.5
PRESETS = {"NOX": ("--preset", "nox"), "Beacon": ("--preset", "beacon")}
DESIGNS = {
    "round robin": ("--design", "round-robin"),
    "shared queue": ("--design", "shared-queue"),
    "static partition": ("--design", "static-partition"),
    "dynamic partition": ("--design", "dynamic-partition"),
    **PRESETS,
}


class Failed(Exception):
    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Lab:
    """Runs cells, each once: what a folder holds is not run again."""

    def __init__(self, plait, folder, seconds):
        self.plait, self.folder, self.seconds = plait, folder, seconds
        os.makedirs(folder, exist_ok=True)

    def run(self, app, controller=(), load=(), workers=4, switches=79, seconds=None, sample=None, span=None):
        """What the load measured, with what the controller counted as `workers`. With `sample`, seconds, the counters
        are also asked for that often while the load runs, and are `samples`. With `span`, seconds, `processor` is what of
        a processor the controller took in so many before the load's end: neither handshakes nor what is learned count."""
        seconds = seconds or self.seconds
        asked = ["controller", "run", "--app", app, "--workers", str(workers), *controller]
        stations = STATIONS.get(switches, 1000)
        # Until buffers are full, greedy switches get more; a load that changes has no such beginning alone.
        settle = 0 if sample else 1
        offered = ["--switches", str(switches), "--stations", str(stations), "--settle", str(settle)]
        # Routing learns eighty thousand stations at its own pace; what is not learned by then would be a load of its own.
        offered += ["--warm-up", f"{WARM_UP}s"]
        offered += ["--duration", f"{seconds + settle}s", *load]
        key = hashlib.sha256(json.dumps([asked, offered, sample, *([span] if span else [])]).encode()).hexdigest()[:16]
        path = os.path.join(self.folder, f"{key}.json")
        if os.path.exists(path):
            with open(path) as file:
                return json.load(file)
        told = self.measure(asked, offered, seconds, sample, span)
        told["asked"] = " ".join(asked + offered)
        with open(path + ".new", "w") as file:
            json.dump(told, file)
        os.replace(path + ".new", path)
        rate, worst = told["answered"] / 1e6, 100 * told["worst_deviation"]
        print(f"  {rate:6.2f} M/s  worst {worst:6.1f} %   {' '.join(asked[3:])} · {' '.join(offered)}", flush=True)
        return told

    def measure(self, asked, offered, seconds, sample, span):
        port, name = free_port(), f"study-{os.getpid()}"
        address = f"127.0.0.1:{port}"
        with open(os.path.join(self.folder, "controller.log"), "w") as log:
            controller = subprocess.Popen([self.plait, *asked, "--listen", address, "--name", name],
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.wait(address, controller)
            # Into a file: what it says of a thousand switches is more than a pipe holds while nobody reads.
            out, fault = (os.path.join(self.folder, file) for file in ("load.told", "load.log"))
            with open(out, "w") as to, open(fault, "w") as log:
                load = subprocess.Popen([self.plait, "controller", "load", address, *offered, "--json"],
                                        stdin=subprocess.DEVNULL, stdout=to, stderr=log)
            samples, looks = [], []
            while sample and load.poll() is None:
                time.sleep(sample)
                samples.append({"at": time.time(), "workers": self.counters(name)})
            while span and load.poll() is None:
                looks.append((time.monotonic(), processor_time(controller.pid)))
                time.sleep(LOOK)
            if load.wait(timeout=seconds + WARM_UP + 60):
                with open(fault) as log:
                    raise Failed(f"{' '.join(offered)}: {log.read()}")
            with open(out) as file:
                told = json.load(file)
            told["workers"] = self.counters(name)
            told["samples"] = samples
            if span:
                told["processor"] = taken(looks, span)
            return told
        finally:
            controller.terminate()
            controller.wait(timeout=20)

    def wait(self, address, controller):
        host, port = address.split(":")
        for _ in range(200):
            if controller.poll() is not None:
                raise Failed("the controller ended before it was loaded")
            try:
                socket.create_connection((host, int(port)), 0.2).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Failed("the controller does not listen")

    def counters(self, name):
        done = subprocess.run([self.plait, "controller", "stats", "--name", name, "--json"],
                              capture_output=True, text=True, check=False, timeout=20)
        return json.loads(done.stdout)["workers"] if done.returncode == 0 else []


def processor_time(pid):
    """Seconds of processor that a process has used."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def taken(looks, span):
    """Of looks at a process's processor time, what it took of a processor in so many seconds before the end."""
    end = looks[-1][0] - END
    before, after = ([look for look in looks if look[0] <= at][-1] for at in (end - span, end))
    return (after[1] - before[1]) / (after[0] - before[0])


def rate(value):
    return ("--rate", f"{value:.0f}")


def probe_ms(told):
    """The probing switch's median delay; none if nothing that it asked was answered."""
    median = told["probe"]["latency"]["p50"]
    return None if median is None else median / 1000


def count(told, what):
    return sum(worker[what] for worker in told["workers"])
