"""A learning switch of OpenFlow 1.0 on os-ken, which has none of its own any more: a rival of `make bench-controller`.

usage: osken-manager --ofp-listen-host 127.0.0.1 --ofp-tcp-listen-port PORT os_ken_switch.py
"""

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet
from os_ken.ofproto import ofproto_v1_0


class Switch(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_0.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {}

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        message = event.msg
        datapath, protocol = message.datapath, message.datapath.ofproto
        frame, _, _ = ethernet.ethernet.parser(message.data)
        ports = self.ports.setdefault(datapath.id, {})
        ports[frame.src] = message.in_port
        out = ports.get(frame.dst)
        parser = datapath.ofproto_parser
        if out is None:
            actions = [parser.OFPActionOutput(protocol.OFPP_FLOOD)]
            datapath.send_msg(parser.OFPPacketOut(
                datapath=datapath, buffer_id=message.buffer_id, in_port=message.in_port, actions=actions,
                data=message.data if message.buffer_id == protocol.OFP_NO_BUFFER else None))
            return
        match = parser.OFPMatch(in_port=message.in_port, dl_src=frame.src, dl_dst=frame.dst)
        datapath.send_msg(parser.OFPFlowMod(
            datapath=datapath, match=match, cookie=0, command=protocol.OFPFC_ADD, idle_timeout=5, hard_timeout=0,
            priority=protocol.OFP_DEFAULT_PRIORITY, buffer_id=message.buffer_id,
            actions=[parser.OFPActionOutput(out)]))
