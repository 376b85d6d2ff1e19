"""What is asked, of whom, and with which datagrams.

A point is one request. A maker is who makes the link; it finds the request in words that it understands: the
keys of Plait's link, the arguments of `tc`, those of Mininet's TCLink.
"""

from dataclasses import dataclass, field

MAKERS = {
    "bare": "a bare veth pair",
    "plait": "Plait's engine",
    "plait kernel": "Plait, `via: kernel` (TBF)",
    "htb": "HTB",
    "tclink": "Mininet's TCLink",
    "guest bare": "a bare veth pair, guest",
    "guest netem": "netem, guest",
    "guest htb": "HTB, guest",
    "guest tclink": "Mininet's TCLink, guest",
}
IN_GUEST = "guest "
MILLISECOND = 1_000_000
# As in `tc`, where no limit was asked: more than ever wait.
ROOM = "limit 100000"


@dataclass
class Point:
    name: str
    quantity: str
    # Nanoseconds, bits per second, shares, bytes.
    delay: int = 0
    spread: int = 0
    law: str = ""
    rate: int = 0
    loss: float = 0.0
    chain: tuple = ()
    queue_bytes: int = 0
    # The request in each maker's words.
    makers: dict = field(default_factory=dict)
    count: int = 10_000
    frame: int = 100
    gap: int = MILLISECOND // 2

    def seconds(self):
        return self.count * self.gap / 1e9

    def on_the_wire(self):
        """A frame's own time at the rate."""
        return self.frame * 8e9 / self.rate if self.rate else 0.0


def htb(rate, leaf):
    return ["qdisc add dev eth0 root handle 1: htb default 1",
            f"class add dev eth0 parent 1: classid 1:1 htb rate {rate}",
            f"qdisc add dev eth0 parent 1:1 {leaf}"]


def root(discipline):
    return [f"qdisc add dev eth0 root {discipline}"]


def delays():
    for asked in (1, 10, 50, 100):
        makers = {"plait": f"delay: {asked}ms", "guest netem": root(f"netem delay {asked}ms {ROOM}")}
        if asked == 10:
            makers |= {"guest tclink": {"delay": "10ms"}}
        yield Point(f"delay-{asked}ms", "delay", delay=asked * MILLISECOND, makers=makers)
    yield Point("nothing", "delay", makers={"bare": "", "guest bare": []})


def jitters():
    for law in ("uniform", "normal", "pareto"):
        words = "" if law == "uniform" else f"distribution {law}"
        makers = {"plait": f"delay: 10ms, jitter: {{spread: 2ms, distribution: {law}, overtake: true}}",
                  "guest netem": root(f"netem delay 10ms 2ms {words} {ROOM}")}
        yield Point(f"jitter-{law}", "jitter", delay=10 * MILLISECOND, spread=2 * MILLISECOND, law=law,
                    makers=makers)


def rates():
    for asked, frame in ((1, 100), (10, 500), (100, 1250)):
        limit = asked * 1_000_000 // 8 // 20
        yield Point(f"rate-{asked}Mbit", "rate", rate=asked * 1_000_000, queue_bytes=limit, frame=frame,
                    gap=frame * 8000 // asked * 5 // 6, makers={
                        "plait": f"rate: {asked}Mbit, queue: 50ms",
                        "plait kernel": f"rate: {asked}Mbit, queue: 50ms, via: kernel",
                        "htb": htb(f"{asked}mbit", f"bfifo limit {limit}"),
                        "tclink": {"bw": asked},
                        "guest netem": root(f"netem rate {asked}mbit limit {limit // frame}"),
                        "guest tclink": {"bw": asked}})


def losses():
    for asked in (0.1, 1, 10):
        makers = {"plait": f"loss: {asked}%", "guest netem": root(f"netem loss {asked}% {ROOM}")}
        if asked == 1:
            makers |= {"guest tclink": {"loss": 1}}
        yield Point(f"loss-{asked}%", "loss", loss=asked / 100, gap=MILLISECOND // 4, makers=makers)
    yield Point("loss-bursts", "loss", loss=0.01 / 0.21, chain=(0.01, 0.2), gap=MILLISECOND // 4, makers={
        "plait": "loss: {gilbert_elliott: {p: 1%, r: 20%}}",
        "guest netem": root(f"netem loss gemodel 1% 20% {ROOM}")})


def queues():
    """Half as much again as the rate, so that the queue is soon full and stays so."""
    for name, asked in (("20ms", 25_000), ("100ms", 125_000), ("64KiB", 65_536)):
        packets = asked // 1250
        yield Point(f"queue-{name}", "queue", rate=10_000_000, queue_bytes=asked, frame=1250,
                    gap=MILLISECOND * 2 // 3, count=3_000, makers={
                        "plait": f"rate: 10Mbit, queue: {name}",
                        "plait kernel": f"rate: 10Mbit, queue: {name}, via: kernel",
                        "htb": htb("10mbit", f"bfifo limit {asked}"),
                        "guest netem": root(f"netem rate 10mbit limit {packets}"),
                        "guest tclink": {"bw": 10, "max_queue_size": packets}})


def lines():
    """Rate, delay and loss at once, at a fifth of the rate, so that nothing waits."""
    yield Point("line", "line", rate=10_000_000, delay=10 * MILLISECOND, loss=0.01, frame=125, makers={
        "plait": "rate: 10Mbit, delay: 10ms, loss: 1%",
        "guest netem": root(f"netem rate 10mbit delay 10ms loss 1% {ROOM}"),
        "guest tclink": {"bw": 10, "delay": "10ms", "loss": 1}})


def full():
    return [*delays(), *jitters(), *rates(), *losses(), *queues(), *lines()]


def small():
    """One point of each kind, fewer datagrams, and nobody who has to be installed first."""
    names = "delay-10ms", "nothing", "jitter-normal", "rate-10Mbit", "loss-10%", "queue-20ms"
    chosen = [point for point in full() if point.name in names]
    for point in chosen:
        left_out = {"tclink", "guest tclink"} | ({"htb"} if point.quantity == "queue" else set())
        point.makers = {maker: words for maker, words in point.makers.items() if maker not in left_out}
        point.count = 1_000
    return chosen
