//! The session with a neighbour: RFC 4271 section 8, of the side that connects.

use plait_model_wire::bgp::{
    Capability, Family, Message, Notification, Open, Update, Violation, code, length,
};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

/// From one attempt to the next at first, and at most. Choice: doubled in between, so that a neighbour that starts again
/// is found soon and one that is gone is not bothered.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(16));
/// How long a neighbour may take to answer before there is a hold time. Choice: below the four minutes of RFC 4271, which
/// are for lines of its time.
const ANSWER: Duration = Duration::from_secs(20);
/// Seconds in which an agent that was killed is back, as it tells its neighbour (RFC 4724).
const RESTART: u16 = 120;

/// Where a session stands, by RFC 4271's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Waits before it connects again.
    Idle,
    /// Connects.
    Connect,
    /// Has told its OPEN.
    OpenSent,
    /// Has the neighbour's.
    OpenConfirm,
    /// Routes go both ways.
    Established,
}

/// What a session says of itself in its OPEN.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub as_number: u32,
    pub remote_as: u32,
    pub id: Ipv4Addr,
    pub hold: Duration,
    pub is_restarting: bool,
}

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Connect,
    Send(Vec<u8>),
    Close,
}

/// What a session gives its speaker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Established,
    Update(Box<Update>),
    /// The neighbour wants all routes once more.
    Refresh,
    /// It is over. The neighbour said so, or broke a rule: nothing of it holds any more.
    Ended,
    /// It broke off: the neighbour may be back.
    Lost,
}

#[derive(Debug)]
pub(super) struct Session {
    identity: Identity,
    state: State,
    unread: Vec<u8>,
    /// When it is too late: to be answered, or to hear anything.
    deadline: Option<Duration>,
    /// When to say that this node lives, and how often.
    keepalive: Option<(Duration, Duration)>,
    hold: Duration,
    retry: Duration,
    /// Why the last one ended.
    pub last: Option<String>,
    steps: VecDeque<Step>,
}

impl Session {
    pub fn new(identity: Identity, now: Duration) -> Self {
        let hold = identity.hold;
        Self {
            identity,
            state: State::Idle,
            unread: Vec::new(),
            deadline: Some(now),
            keepalive: None,
            hold,
            retry: RETRY.0,
            last: None,
            steps: VecDeque::new(),
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// The hold time that both agreed on, or the own.
    pub fn hold(&self) -> Duration {
        self.hold
    }

    pub fn connected(&mut self, now: Duration) {
        if self.state != State::Connect {
            return;
        }
        let Identity { as_number, id, hold, is_restarting, .. } = self.identity;
        let restart = Capability::GracefulRestart {
            is_restarting,
            time: RESTART,
            // What is pinned goes on without the agent.
            families: vec![(Family::EVPN, true)],
        };
        let capabilities = vec![Capability::MultiProtocol(Family::EVPN), Capability::RouteRefresh, restart];
        let hold = hold.as_secs() as u16;
        self.send(Message::Open(Open { as_number, hold, id, capabilities, has_long_as: true }));
        self.state = State::OpenSent;
        self.deadline = Some(now + ANSWER);
    }

    /// The connection failed, or ended.
    pub fn closed(&mut self, now: Duration, why: &str) -> Option<Heard> {
        let was = self.idle(now, why.to_owned());
        (was == State::Established).then_some(Heard::Lost)
    }

    pub fn bytes(&mut self, now: Duration, bytes: &[u8]) -> Vec<Heard> {
        let mut heard = Vec::new();
        if !matches!(self.state, State::OpenSent | State::OpenConfirm | State::Established) {
            return heard;
        }
        self.unread.extend_from_slice(bytes);
        let mut unread = std::mem::take(&mut self.unread);
        let mut rest = &unread[..];
        let ended = loop {
            match length(rest) {
                Ok(Some(length)) if length <= rest.len() => {
                    let (message, after) = rest.split_at(length);
                    rest = after;
                    match Message::parse(message).and_then(|message| self.message(now, message)) {
                        Ok(said) => heard.extend(said),
                        Err(violation) => break Some(violation),
                    }
                    if self.state == State::Idle {
                        return heard;
                    }
                }
                Ok(_) => break None,
                Err(violation) => break Some(violation),
            }
        };
        match ended {
            Some(violation) => heard.extend(self.refuse(now, violation)),
            None => {
                let read = unread.len() - rest.len();
                unread.drain(..read);
                self.unread = unread;
            }
        }
        heard
    }

    fn message(&mut self, now: Duration, message: Message) -> Result<Option<Heard>, Violation> {
        let unexpected = || Violation::new(code::STATE, 0, "a message that does not belong there");
        let said = match (self.state, message) {
            (_, Message::Notification(notification)) => {
                let was = self.idle(now, format!("the neighbour ended it: {notification}"));
                self.steps.push_back(Step::Close);
                return Ok((was == State::Established).then_some(Heard::Ended));
            }
            (State::OpenSent, Message::Open(open)) => {
                self.opened(now, &open)?;
                None
            }
            (State::OpenConfirm, Message::Keepalive) => {
                self.state = State::Established;
                self.retry = RETRY.0;
                self.last = None;
                Some(Heard::Established)
            }
            (State::Established, Message::Keepalive) => None,
            (State::Established, Message::Update(update)) => Some(Heard::Update(Box::new(update))),
            (State::Established, Message::RouteRefresh(family)) => {
                (family == Family::EVPN).then_some(Heard::Refresh)
            }
            _ => return Err(unexpected()),
        };
        self.deadline = (!self.hold.is_zero()).then(|| now + self.hold);
        Ok(said)
    }

    fn opened(&mut self, now: Duration, open: &Open) -> Result<(), Violation> {
        if open.as_number != self.identity.remote_as {
            return Err(Violation::new(code::OPEN, 2, "the neighbour is of another AS"));
        }
        let is_internal = open.as_number == self.identity.as_number;
        if is_internal && open.id == self.identity.id {
            return Err(Violation::new(code::OPEN, 3, "the neighbour has this node's identifier"));
        }
        if !open.has_long_as || !open.capabilities.contains(&Capability::MultiProtocol(Family::EVPN)) {
            return Err(Violation::new(code::OPEN, 7, "the neighbour does not speak EVPN"));
        }
        self.hold = self.identity.hold.min(Duration::from_secs(open.hold.into()));
        // A third of the hold time, RFC 4271 section 4.4.
        self.keepalive = (!self.hold.is_zero()).then(|| (now + self.hold / 3, self.hold / 3));
        self.send(Message::Keepalive);
        self.state = State::OpenConfirm;
        Ok(())
    }

    pub fn timeout(&mut self, now: Duration) -> Option<Heard> {
        if let Some((due, every)) = self.keepalive
            && now >= due
        {
            self.keepalive = Some((now + every, every));
            self.send(Message::Keepalive);
        }
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return None;
        }
        match self.state {
            State::Idle => {
                self.state = State::Connect;
                self.deadline = Some(now + ANSWER);
                self.steps.push_back(Step::Connect);
                None
            }
            State::Connect => {
                self.steps.push_back(Step::Close);
                self.closed(now, "the neighbour does not answer")
            }
            _ => {
                let violation = Violation::new(code::HOLD_TIMER, 0, "nothing was heard for the hold time");
                let ended = self.refuse(now, violation);
                // Nothing was wrong with what it said.
                ended.map(|_| Heard::Lost)
            }
        }
    }

    /// Ends it for good.
    pub fn cease(&mut self, now: Duration, why: &str) {
        if matches!(self.state, State::OpenSent | State::OpenConfirm | State::Established) {
            self.send(Message::Notification(Notification {
                code: code::CEASE,
                subcode: 2,
                data: Vec::new(),
            }));
        }
        self.steps.push_back(Step::Close);
        self.idle(now, why.to_owned());
        self.deadline = None;
    }

    pub fn send(&mut self, message: Message) {
        self.steps.push_back(Step::Send(message.emit()));
    }

    pub fn step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    pub fn due(&self) -> Option<Duration> {
        let keepalive = self.keepalive.map(|(due, _)| due);
        [self.deadline, keepalive].into_iter().flatten().min()
    }

    /// Tells the neighbour why, and ends the session.
    fn refuse(&mut self, now: Duration, violation: Violation) -> Option<Heard> {
        let why = violation.to_string();
        self.send(Message::Notification(violation.notification));
        self.steps.push_back(Step::Close);
        let was = self.idle(now, why);
        (was == State::Established).then_some(Heard::Ended)
    }

    fn idle(&mut self, now: Duration, why: String) -> State {
        self.unread.clear();
        self.keepalive = None;
        self.last = Some(why);
        self.hold = self.identity.hold;
        self.deadline = Some(now + self.retry);
        self.retry = (self.retry * 2).min(RETRY.1);
        std::mem::replace(&mut self.state, State::Idle)
    }
}
