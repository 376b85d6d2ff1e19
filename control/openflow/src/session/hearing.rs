//! What a connection tells of a switch, as news in words that both versions have.

use super::{News, Session, Stage};
use crate::connection::{Event, Reason};
use crate::early::EarlyPackets;
use crate::{FlowRemoved, PortInfo, SwitchEvent};
use plait_model_wire::openflow::{Message, v10, v13};

/// Ports of a switch that are kept. Choice: none has as many, and a hostile one cannot fill memory with them.
const MOST_PORTS: usize = 4096;

impl Session {
    pub(super) fn hear(&mut self, event: Event) {
        match event {
            Event::Ready(switch) if switch.auxiliary != 0 => {
                self.stage = Stage::Auxiliary;
                self.packets = EarlyPackets::default();
            }
            Event::Ready(switch) => {
                self.version = switch.version;
                self.datapath = switch.datapath;
                self.info.version = switch.version.number();
                self.greet(switch.features);
            }
            Event::Barrier { xid, .. } if self.barriers.iter().any(|(barrier, _)| *barrier == xid) => {
                // One before it that was refused is never answered by itself.
                while let Some((barrier, number)) = self.barriers.pop_front() {
                    self.news.push_back(News::Passed(number));
                    if barrier == xid {
                        break;
                    }
                }
            }
            Event::Barrier { xid, .. } if self.is_settled_by(xid) => self.settle(),
            Event::Barrier { bundle, .. } => {
                self.news.push_back(News::Event(SwitchEvent::Barrier((bundle.count, bundle.refused))));
            }
            Event::Role { xid, role } => self.granted(xid, role),
            Event::Refused { xid, error } => {
                self.not_granted(xid, &error);
                // A switch that knows no barriers answers none, and nobody is to wait for it. One that still waits to be
                // written cannot have been refused.
                if !self.connection.awaits(xid) {
                    let refused = self.barriers.iter().position(|(barrier, _)| *barrier == xid);
                    let number = refused.and_then(|place| self.barriers.remove(place));
                    self.news.extend(number.map(|(_, number)| News::Unanswered(number)));
                    if self.is_settled_by(xid) {
                        self.settle();
                    }
                }
                self.news.push_back(News::Event(SwitchEvent::Refused(error.to_string())));
            }
            Event::Unreadable(why) => {
                self.news.push_back(News::Event(SwitchEvent::Refused(why.to_string())));
            }
            Event::Closed(reason) => self.news.push_back(News::Ended(reason)),
            Event::Message(message) => self.told(message),
        }
    }

    /// Whether a barrier is the one behind deletions, which nobody waits for then any more.
    fn is_settled_by(&mut self, xid: u32) -> bool {
        self.unsettled.take_if(|(barrier, _)| *barrier == xid).is_some()
    }

    fn told(&mut self, message: Message) {
        match message {
            Message::V10(v10::Message { body: v10::Body::PortStatus(status), .. }) => {
                self.changed(status.reason == v10::port::PortReason::DELETE, (&status.port).into());
            }
            Message::V13(v13::Message { body: v13::Body::PortStatus(status), .. }) => {
                self.changed(status.reason == v13::port::PortReason::DELETE, (&status.port).into());
            }
            Message::V10(v10::Message { body: v10::Body::FlowRemoved(flow), .. }) => {
                self.news.push_back(News::Event(SwitchEvent::FlowRemoved(FlowRemoved {
                    cookie: flow.cookie,
                    priority: flow.priority,
                    reason: flow.reason.0,
                    packets: flow.packets,
                    bytes: flow.bytes,
                })));
            }
            Message::V13(v13::Message { body: v13::Body::FlowRemoved(flow), .. }) => {
                self.news.push_back(News::Event(SwitchEvent::FlowRemoved(FlowRemoved {
                    cookie: flow.cookie,
                    priority: flow.priority,
                    reason: flow.reason.0,
                    packets: flow.packets,
                    bytes: flow.bytes,
                })));
            }
            Message::V10(v10::Message { body: v10::Body::StatisticsReply(ref reply), .. }) => {
                match &reply.body {
                    v10::statistics::Answered::Description(said) => {
                        self.described([&said.manufacturer, &said.hardware, &said.software]);
                    }
                    _ => self.news.push_back(News::Answer(message)),
                }
            }
            Message::V13(v13::Message { body: v13::Body::MultipartReply(ref reply), .. }) => {
                match &reply.body {
                    v13::multipart::Answered::Description(said) => {
                        self.described([&said.manufacturer, &said.hardware, &said.software]);
                    }
                    v13::multipart::Answered::PortDescriptions(ports) if self.stage == Stage::Ports => {
                        ports.iter().for_each(|port| self.port(port.into()));
                        if !reply.flags.contains(v13::multipart::MultipartFlags::MORE) {
                            self.known();
                        }
                    }
                    _ => self.news.push_back(News::Answer(message)),
                }
            }
            other => self.news.push_back(News::Answer(other)),
        }
    }

    fn described(&mut self, [maker, hardware, software]: [&impl ToString; 3]) {
        self.info.maker = maker.to_string();
        self.info.hardware = hardware.to_string();
        self.info.software = software.to_string();
        if self.stage == Stage::Known {
            self.news.push_back(News::Changed(self.info.clone(), None));
        }
    }

    fn changed(&mut self, gone: bool, port: PortInfo) {
        let number = port.number;
        if gone {
            self.info.ports.remove(number);
        } else {
            self.port(port);
        }
        if self.stage == Stage::Known {
            self.news.push_back(News::Changed(self.info.clone(), Some(number)));
        }
    }

    pub(super) fn port(&mut self, port: PortInfo) {
        match self.info.ports.len() < MOST_PORTS || self.info.ports.get(port.number).is_some() {
            true => self.info.ports.insert(port),
            false => self.connection.end(Reason::Ports),
        }
    }
}
