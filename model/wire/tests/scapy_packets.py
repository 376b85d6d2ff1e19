"""Packets as scapy encodes them, with what they say: a line of JSON each. The seed is the only argument."""

import json
import logging
import random
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.compat import raw  # noqa: E402
from scapy.contrib.geneve import GENEVE, GeneveOptions  # noqa: E402
from scapy.contrib.mpls import MPLS  # noqa: E402
from scapy.contrib.nsh import NSH, NSHTLV  # noqa: E402
from scapy.layers.inet import ICMP, IP, UDP  # noqa: E402
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6  # noqa: E402
from scapy.layers.l2 import GRE, Ether  # noqa: E402
from scapy.layers.vxlan import VXLAN  # noqa: E402
from scapy.packet import Raw  # noqa: E402

draw = random.Random(int(sys.argv[1]))


def number(bits):
    return draw.getrandbits(bits)


def address():
    return ".".join(str(number(8)) for _ in range(4))


def address6():
    # Never the form that stands for an IPv4 address, which the two sides write in different ways.
    return "2001:" + ":".join(f"{number(16):x}" for _ in range(7))


def mac():
    return ":".join(f"{number(8):02x}" for _ in range(6))


def say(kind, packet, payload, **said):
    print(json.dumps({"kind": kind, "bytes": raw(packet).hex(), "payload": payload.hex(), **said}))


for _ in range(40):
    payload = draw.randbytes(draw.randrange(60))
    data = Raw(payload)

    said = {"destination": mac(), "source": mac(), "ether_type": number(16)}
    say("ethernet", Ether(dst=said["destination"], src=said["source"], type=said["ether_type"]) / data, payload, **said)

    said = {"source": address(), "destination": address(), "protocol": 253, "ttl": number(8), "tos": number(8),
            "dont_fragment": draw.choice([True, False]), "identification": number(16)}
    ip = IP(src=said["source"], dst=said["destination"], proto=said["protocol"], ttl=said["ttl"], tos=said["tos"],
            flags="DF" if said["dont_fragment"] else 0, id=said["identification"])
    say("ipv4", ip / data, payload, **said)

    said = {"source": address6(), "destination": address6(), "next_header": 253, "hop_limit": number(8),
            "traffic_class": number(8), "flow_label": number(20)}
    ip = IPv6(src=said["source"], dst=said["destination"], nh=said["next_header"], hlim=said["hop_limit"],
              tc=said["traffic_class"], fl=said["flow_label"])
    say("ipv6", ip / data, payload, **said)

    for family, version, one in (("udp4", IP, address), ("udp6", IPv6, address6)):
        said = {"from": one(), "to": one(), "source": number(16), "destination": 60000 + number(8)}
        whole = version(src=said["from"], dst=said["to"]) / UDP(sport=said["source"], dport=said["destination"]) / data
        say("udp", raw(whole)[len(whole) - 8 - len(payload):], payload, **said)

    parts = {"key": number(32) if number(1) else None, "sequence": number(32) if number(1) else None,
             "checksum": bool(number(1))}
    gre = GRE(proto=0x1234, key_present=int(parts["key"] is not None), key=parts["key"],
              seqnum_present=int(parts["sequence"] is not None), sequence_number=parts["sequence"],
              chksum_present=int(parts["checksum"]))
    say("gre", gre / data, payload, protocol=0x1234, **parts)

    said = {"subnet": number(24), "flow": number(8)}
    say("nvgre", GRE(proto=0x6558, key_present=1, key=said["subnet"] << 8 | said["flow"]) / data, payload, **said)

    vni = number(24)
    say("vxlan", VXLAN(flags=8, vni=vni) / data, payload, vni=vni)
    say("vxlan_gpe", VXLAN(flags=12, NextProtocol=4, vni=vni) / data, payload, vni=vni, next_protocol=4)
    say("geneve", GENEVE(vni=vni, proto=0x6558) / data, payload, vni=vni, protocol=0x6558)

    # Scapy's own count of their words loses a bit, and it leaves the flag of those that must be understood to the user.
    written = [{"class": number(16), "kind": number(8), "value": draw.randbytes(4 * draw.randrange(6)).hex()}
               for _ in range(draw.randrange(1, 11))]
    options = [GeneveOptions(classid=one["class"], type=one["kind"], data=bytes.fromhex(one["value"])) for one in written]
    geneve = GENEVE(vni=vni, proto=0x6558, options=options, optionlen=sum(len(raw(one)) for one in options) // 4,
                    critical=int(any(one["kind"] & 0x80 for one in written)))
    say("geneve_options", geneve / data, payload, vni=vni, protocol=0x6558, items=written)

    said = {"service_path": number(24), "service_index": number(8), "ttl": number(6), "next_protocol": 3,
            "fixed": draw.randbytes(16).hex()}
    nsh = NSH(mdtype=1, nextproto=3, ttl=said["ttl"], spi=said["service_path"], si=said["service_index"],
              context_header=bytes.fromhex(said["fixed"]))
    say("nsh", nsh / data, payload, **said)

    # Scapy counts an item's words where RFC 8300 counts its bytes, without those that fill the last word.
    said = {"service_path": number(24), "service_index": number(8), "ttl": number(6), "next_protocol": 3}
    written = [{"class": number(16), "kind": number(8), "value": draw.randbytes(draw.randrange(20)).hex()}
               for _ in range(draw.randrange(8))]
    items = []
    for one in written:
        value = bytes.fromhex(one["value"])
        padded = Raw(value.ljust(-(-len(value) // 4) * 4, b"\0"))
        items.append(NSHTLV(class_=one["class"], type=one["kind"], length=len(value), metadata=[padded]))
    nsh = NSH(mdtype=2, nextproto=3, ttl=said["ttl"], spi=said["service_path"], si=said["service_index"], vlch=items,
              length=2 + sum(len(raw(one)) for one in items) // 4)
    say("nsh_items", nsh / data, payload, items=written, **said)

    said = {"label": number(20), "traffic_class": number(3), "is_bottom": bool(number(1)), "ttl": number(8)}
    mpls = MPLS(label=said["label"], cos=said["traffic_class"], s=int(said["is_bottom"]), ttl=said["ttl"])
    say("mpls", mpls / data, payload, **said)

    mtu = number(16)
    say("too_big_4", ICMP(type=3, code=4, nexthopmtu=mtu) / data, payload, mtu=mtu)
    said = {"source": address6(), "destination": address6(), "mtu": number(32)}
    whole = IPv6(src=said["source"], dst=said["destination"]) / ICMPv6PacketTooBig(mtu=said["mtu"]) / data
    say("too_big_6", raw(whole)[40:], payload, **said)
