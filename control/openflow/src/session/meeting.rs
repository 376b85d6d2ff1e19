//! What it takes to know a switch: its unmatched packets are sent here, and it says what it is and what ports it has.

use super::{News, NotTold, Session, Stage};
use crate::{Action, Command, Fields, Flow, Role, Version};
use plait_model_wire::openflow::{Message, v10, v13};

/// Bytes of a packet that a switch sends if it keeps the packet. Choice: both specifications' default, enough for the
/// headers of TCP in IPv6; a switch that keeps none sends all of it.
const BEGINNING: u16 = 128;
const WHOLE: u16 = 0xffff;

impl Session {
    /// What every switch is told and asked when it is met.
    pub(super) fn greet(&mut self, features: Message) {
        self.stage = Stage::Ports;
        match features {
            Message::V10(v10::Message { body: v10::Body::Features(features), .. }) => {
                self.info.buffers = features.buffers;
                self.info.tables = features.tables;
                features.ports.iter().for_each(|port| self.port(port.into()));
            }
            Message::V13(v13::Message { body: v13::Body::Features(features), .. }) => {
                self.info.buffers = features.buffers;
                self.info.tables = features.tables;
            }
            _ => {}
        }
        // Before all else, of which a slave says nothing.
        let asked = if self.candidacy.role == Role::Equal { Ok(()) } else { self.ask_role(true) };
        if asked.and_then(|()| self.prepare()).and_then(|()| self.inquire()).is_err() {
            return self.connection.close();
        }
        if self.version == Version::V10 {
            self.known();
        }
    }

    /// Has it send what it has no flow for, if that is this controller's to say.
    pub(super) fn prepare(&mut self) -> Result<(), NotTold> {
        if self.role == Role::Slave {
            return Ok(());
        }
        let length = if self.info.buffers == 0 { WHOLE } else { BEGINNING };
        self.say(|version, xid, bytes| {
            Ok(match version {
                Version::V10 => {
                    let config =
                        v10::Config { fragments: v10::switch::Fragments(0), miss_send_length: length };
                    v10::Message { xid, body: v10::Body::SetConfig(config) }.emit_into(bytes)
                }
                Version::V13 => {
                    let config =
                        v13::Config { fragments: v13::switch::Fragments(0), miss_send_length: length };
                    v13::Message { xid, body: v13::Body::SetConfig(config) }.emit_into(bytes)
                }
            }?)
        })?;
        if self.version == Version::V13 {
            // Without it a switch of 1.3 drops what no flow is for (section 5.4).
            let actions = [Action::Controller(length)].into_iter().collect();
            self.tell(&Command::Flow(Flow::add(0, Fields::ANY, actions)))?;
        }
        Ok(())
    }

    /// Asks what it is, and of 1.3 what ports it has.
    fn inquire(&mut self) -> Result<(), NotTold> {
        if self.version == Version::V13 {
            self.ask(v10::statistics::Asked::Description, v13::multipart::Asked::PortDescriptions)?;
        }
        self.ask(v10::statistics::Asked::Description, v13::multipart::Asked::Description).map(drop)
    }

    pub(super) fn known(&mut self) {
        self.stage = Stage::Known;
        self.news.push_back(News::Connected(self.info.clone()));
        self.news.extend(std::mem::take(&mut self.early).into_iter().map(News::Role));
    }
}
