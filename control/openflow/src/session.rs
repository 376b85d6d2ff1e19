//! A switch's connection and what it takes to know the switch: its ports are asked for, its unmatched packets sent here,
//! and what it tells becomes news in words that both versions have.

mod hearing;
mod meeting;
mod standing;

use crate::connection::{Config, Reason};
use crate::early::EarlyPackets;
use crate::role::Asked;
use crate::{
    Candidacy, Command, Connection, Debt, NotGranted, NotSaid, NotSent, PacketIn, Port, Ports, Role,
    SwitchEvent, SwitchInfo, Version,
};
use plait_model_wire::Malformed;
use plait_model_wire::openflow::{Message, TooLong, v10, v13};
use std::collections::VecDeque;
use std::time::Duration;

/// What a session tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The switch is known, and can be told something.
    Connected(SwitchInfo),
    /// One of its ports is another than it was, or what it says of itself.
    Changed(SwitchInfo, Option<Port>),
    /// Something else happened.
    Event(SwitchEvent),
    /// It has done all that it was told before this [barrier of somebody's](Session::pass).
    Passed(u64),
    /// Nobody will answer this one.
    Unanswered(u64),
    /// It answers a question, or a part of it.
    Answer(Message),
    /// It has said what this controller is to it, or why not what it wants to be.
    Role(Result<Role, NotGranted>),
    /// The connection is to be closed when its output is written, or cannot be.
    Ended(Reason),
}

/// One switch. As with [`Connection`], which it holds: hand in [bytes](Self::handle_bytes) and time, then poll.
#[derive(Debug)]
pub struct Session {
    /// The connection, to which time is given and from which output is taken.
    pub connection: Connection,
    address: String,
    version: Version,
    datapath: u64,
    stage: Stage,
    info: SwitchInfo,
    news: VecDeque<News>,
    candidacy: Candidacy,
    role: Role,
    asked: Option<Asked>,
    /// What was said of roles before the switch is known.
    early: Vec<Result<Role, NotGranted>>,
    /// Packets that came before the switch was known.
    packets: EarlyPackets,
    /// Barriers that are not answered and somebody's, each with its transaction.
    barriers: VecDeque<(u32, u64)>,
    /// Deletions behind which no barrier was sent.
    deleted: Debt,
    /// Those behind which one was, with its transaction.
    unsettled: Option<(u32, Debt)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Who it is is not known yet.
    Nobody,
    /// Its ports are being told.
    Ports,
    Known,
    /// An auxiliary connection, which is kept alive and left alone.
    Auxiliary,
}

impl Session {
    /// A connection that has just come about, from `address`, of a controller that wants to be this to it.
    pub fn new(config: Config, address: String, now: Duration, candidacy: Candidacy) -> Self {
        let info =
            SwitchInfo { connected: true, address: address.clone(), tables: 1, ..SwitchInfo::default() };
        Self {
            connection: Connection::new(config, now),
            address,
            version: Version::V10,
            datapath: 0,
            stage: Stage::Nobody,
            info,
            news: VecDeque::new(),
            candidacy,
            role: Role::Equal,
            asked: None,
            early: Vec::new(),
            packets: EarlyPackets::default(),
            barriers: VecDeque::new(),
            deleted: Debt::default(),
            unsettled: None,
        }
    }

    /// Takes what came from the switch, and gives each packet-in of one that is known to `each`, without a copy if it came whole.
    /// Those of a switch that is not known yet are [kept](Self::take_packets); those of one to which this controller is slave are a
    /// master's, whatever the switch thinks of roles.
    pub fn handle_bytes(
        &mut self,
        now: Duration,
        bytes: &[u8],
        mut each: impl FnMut(Result<PacketIn<'_>, Malformed>),
    ) {
        match self.stage {
            Stage::Known if self.role != Role::Slave => {
                let switch = self.datapath;
                self.connection.handle_bytes(now, bytes, |hot| each(PacketIn::of(switch, &hot)));
            }
            Stage::Nobody | Stage::Ports => {
                let is_room = self.packets.has_room();
                self.connection.handle_bytes(now, bytes, |hot| self.packets.take(&hot, is_room));
            }
            Stage::Known | Stage::Auxiliary => self.connection.handle_bytes(now, bytes, |_| {}),
        }
    }

    /// Gives `each` packet-in that came before the switch was known, in the order in which they came, once somebody has met the
    /// switch: none is given twice. Says how many there was no room for, or could not be read.
    pub fn take_packets(&mut self, each: impl FnMut(PacketIn<'_>)) -> u64 {
        let mut packets = std::mem::take(&mut self.packets);
        match self.stage {
            Stage::Known if self.role != Role::Slave => packets.hand_on(self.datapath, each),
            _ => 0,
        }
    }

    /// The datapath, once the switch is known.
    pub fn datapath(&self) -> Option<u64> {
        (self.stage == Stage::Known).then_some(self.datapath)
    }

    /// The version that is spoken.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Where it connects from.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// How many ports of it are known.
    pub fn ports(&self) -> usize {
        self.info.ports.len()
    }

    /// Ends it, since its datapath is another's, for this reason.
    pub fn refuse_datapath(&mut self, why: Reason) {
        self.connection.end(why);
    }

    /// Ends it, since all switches together have more ports than may be known, and forgets its own.
    pub fn refuse_ports(&mut self) {
        self.connection.end(Reason::Ports);
        self.info.ports = Ports::default();
    }

    /// What this controller is to it, as far as is known.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Asks to be something else. What comes of it is [`News::Role`]; where the switch is not known yet, it is asked once it
    /// is.
    ///
    /// # Errors
    /// [`NotTold`].
    pub fn stand(&mut self, candidacy: Candidacy) -> Result<(), NotTold> {
        self.candidacy = candidacy;
        match self.stage {
            Stage::Nobody | Stage::Auxiliary => Ok(()),
            Stage::Ports | Stage::Known => self.ask_role(false),
        }
    }

    /// Has the switch do something. Deletions are owed to it until it has [done](Self::settle) them, whether they were sent or
    /// not.
    ///
    /// # Errors
    /// It cannot be said, or cannot be sent, or is not this controller's to say; then it is as if it had never been.
    pub fn tell(&mut self, command: &Command) -> Result<(), NotTold> {
        if self.role == Role::Slave {
            return Err(NotTold::Slave);
        }
        let told = self.say_command(command);
        if command.is_deletion() && !matches!(told, Err(NotTold::Unsaid(_))) {
            self.deleted.add(command.clone());
        }
        told
    }

    fn say_command(&mut self, command: &Command) -> Result<(), NotTold> {
        match command {
            Command::Flow(flow) => self.say(|version, xid, bytes| flow.emit_into(version, xid, bytes)),
            Command::PacketOut(packet) => {
                self.say(|version, xid, bytes| packet.emit_into(version, xid, bytes))
            }
            Command::Barrier => Ok(self.connection.barrier().map(drop)?),
            Command::Raw(bytes) => Ok(self.connection.send_bytes(bytes)?),
        }
    }

    /// Asks when all before is done, for whoever knows the number: what comes of it is [`News::Passed`], and no event.
    ///
    /// # Errors
    /// It cannot be sent, or is not this controller's to say.
    pub fn pass(&mut self, number: u64) -> Result<(), NotTold> {
        if self.role == Role::Slave {
            return Err(NotTold::Slave);
        }
        self.barriers.push_back((self.connection.barrier()?, number));
        Ok(())
    }

    /// Asks the switch to say when it has done the deletions that it was told, if there were any. Choice: one such barrier at a
    /// time, so that however many flows go, the switch is asked no more often than it answers.
    pub fn settle(&mut self) {
        if self.deleted.is_empty() || self.unsettled.is_some() || self.role == Role::Slave {
            return;
        }
        if let Ok(xid) = self.connection.barrier() {
            self.unsettled = Some((xid, std::mem::take(&mut self.deleted)));
        }
    }

    /// Takes out the deletions of which it has not said that they are done, of a connection that ends.
    pub fn take_owed(&mut self) -> Debt {
        let mut owed = std::mem::take(&mut self.deleted);
        if let Some((_, unsettled)) = self.unsettled.take() {
            owed.join(unsettled);
        }
        owed
    }

    /// Takes out the barriers that are somebody's and that nobody will answer any more, of a connection that has ended.
    pub fn unanswered(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.barriers.drain(..).map(|(_, number)| number)
    }

    /// Has the switch do what messages of this version say, of which there are whole ones only, one behind the other. Each
    /// gets a transaction of its own. Gives how many there were.
    ///
    /// # Errors
    /// The switch speaks another version, or they cannot be sent; then it is as if they had never been.
    pub fn tell_written(&mut self, version: Version, messages: &[u8]) -> Result<u32, NotTold> {
        if version != self.version {
            return Err(NotSaid::Version.into());
        }
        if self.role == Role::Slave {
            return Err(NotTold::Slave);
        }
        Ok(self.connection.send_all(messages)?)
    }

    /// Asks for all its flows. Answers are [`News::Answer`] with the transaction that is returned, as many as it takes.
    ///
    /// # Errors
    /// [`NotTold`].
    pub fn ask_flows(&mut self) -> Result<u32, NotTold> {
        use v10::statistics as s10;
        use v13::multipart as s13;
        let of10 = s10::FlowFilter {
            flow_match: v10::Match::ANY,
            table: v10::TableId::ALL,
            out_port: v10::PortNumber::NONE,
        };
        let of13 = s13::FlowFilter {
            table: v13::TableId::ALL,
            out_port: v13::PortNumber::ANY,
            out_group: v13::GroupId::ANY,
            cookie: 0,
            cookie_mask: 0,
            flow_match: v13::Match::ANY,
        };
        self.ask(s10::Asked::Flows(of10), s13::Asked::Flows(of13))
    }

    /// What happened next.
    pub fn poll_news(&mut self) -> Option<News> {
        while self.news.is_empty() {
            let event = self.connection.poll_event()?;
            self.hear(event);
        }
        self.news.pop_front()
    }

    fn ask(&mut self, v10: v10::statistics::Asked, v13: v13::multipart::Asked) -> Result<u32, NotTold> {
        let mut sent = 0;
        self.say(|version, xid, bytes| {
            sent = xid;
            Ok(match version {
                Version::V10 => {
                    let flags = v10::statistics::StatisticsFlags(0);
                    let request = v10::statistics::StatisticsRequest { flags, body: v10 };
                    v10::Message { xid, body: v10::Body::StatisticsRequest(request) }.emit_into(bytes)
                }
                Version::V13 => {
                    let flags = v13::multipart::MultipartFlags(0);
                    let request = v13::multipart::MultipartRequest { flags, body: v13 };
                    v13::Message { xid, body: v13::Body::MultipartRequest(request) }.emit_into(bytes)
                }
            }?)
        })?;
        Ok(sent)
    }

    fn say(
        &mut self,
        emit: impl FnOnce(Version, u32, &mut Vec<u8>) -> Result<(), NotSaid>,
    ) -> Result<(), NotTold> {
        let (version, mut unsaid) = (self.version, None);
        let sent = self.connection.send_with(|xid, bytes| {
            emit(version, xid, bytes).map_err(|why| {
                unsaid = Some(why);
                TooLong
            })
        });
        match (unsaid, sent) {
            (Some(why), _) => Err(why.into()),
            (None, sent) => Ok(sent.map(drop)?),
        }
    }
}

/// Why a switch was not told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTold {
    /// There are no words for it.
    #[error(transparent)]
    Unsaid(#[from] NotSaid),
    /// The connection does not take it.
    #[error(transparent)]
    Unsent(#[from] NotSent),
    /// Another controller commands it.
    #[error("another controller is the switch's master")]
    Slave,
}
