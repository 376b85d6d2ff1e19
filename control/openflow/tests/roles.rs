//! What a controller is to a switch beside other controllers, as a session's bytes show it.

use plait_control_openflow::{Candidacy, Command, News, NotGranted, NotTold, Role, Session};
use plait_model_wire::openflow::v13::multipart::{Answered, Asked, MultipartFlags, MultipartReply};
use plait_model_wire::openflow::v13::role::ControllerRole;
use plait_model_wire::openflow::v13::{Body, Reason};
use plait_model_wire::openflow::{Hello, Message, chop, v10, v13};
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

/// A session and its switch, which elects as section 6.3.6 of 1.3.5 says.
struct Talk {
    session: Session,
    /// The election that the switch knows, and what the controller is to it.
    generation: Option<u64>,
    role: ControllerRole,
    /// What the switch was asked to be to it, and how often it was told to do something.
    asked: Vec<(ControllerRole, u64)>,
    told: usize,
    news: Vec<News>,
}

impl Talk {
    fn new(version: u8, generation: Option<u64>, candidacy: Candidacy) -> Self {
        let session = Session::new(Default::default(), "test".to_owned(), NOW, candidacy);
        let (role, asked, news) = (ControllerRole::EQUAL, Vec::new(), Vec::new());
        let mut talk = Self { session, generation, role, asked, told: 0, news };
        talk.says(match version {
            v10::VERSION => v10::Message { xid: 1, body: v10::Body::Hello(Hello::default()) }.emit(),
            _ => v13::Message { xid: 1, body: Body::Hello(Hello::speaking(&[version])) }.emit(),
        });
        talk.goes_on();
        talk
    }

    /// The switch says something.
    fn says(&mut self, bytes: Result<Vec<u8>, plait_model_wire::openflow::TooLong>) {
        self.session.connection.handle_bytes(NOW, &bytes.unwrap(), |_| {});
        self.news.extend(std::iter::from_fn(|| self.session.poll_news()));
    }

    /// Both talk until nothing is to be said.
    fn goes_on(&mut self) {
        while let Some(bytes) = self.session.connection.poll_transmit().map(<[u8]>::to_vec) {
            self.session.connection.transmitted(bytes.len());
            let mut rest = &bytes[..];
            while let Some((frame, after)) = chop(rest).unwrap() {
                let answer = match Message::of(&frame).unwrap() {
                    Message::V10(v10::Message { xid, body }) => {
                        self.answer10(body).map(|body| v10::Message { xid, body }.emit())
                    }
                    Message::V13(v13::Message { xid, body }) => {
                        self.answer13(body).map(|body| v13::Message { xid, body }.emit())
                    }
                };
                answer.into_iter().for_each(|answer| self.says(answer));
                rest = after;
            }
        }
    }

    fn answer13(&mut self, body: Body) -> Option<Body> {
        let refusal = |reason| Some(Body::Error(v13::Error { reason, data: Vec::new() }));
        match body {
            Body::FeaturesRequest => Some(Body::Features(v13::Features {
                datapath: 1,
                buffers: 0,
                tables: 1,
                auxiliary: 0,
                capabilities: v13::switch::Capabilities(0),
                reserved: 0,
            })),
            Body::MultipartRequest(request) if request.body == Asked::PortDescriptions => {
                let body = Answered::PortDescriptions(Vec::new());
                Some(Body::MultipartReply(MultipartReply { flags: MultipartFlags(0), body }))
            }
            Body::RoleRequest(asked) => {
                self.asked.push((asked.role, asked.generation));
                if [ControllerRole::MASTER, ControllerRole::SLAVE].contains(&asked.role) {
                    if self.generation.is_some_and(|known| (asked.generation.wrapping_sub(known) as i64) < 0)
                    {
                        return refusal(Reason::ROLE_REQUEST_STALE);
                    }
                    self.generation = Some(asked.generation);
                }
                if asked.role != ControllerRole::NOCHANGE {
                    self.role = asked.role;
                }
                let generation = self.generation.unwrap_or(u64::MAX);
                Some(Body::RoleReply(v13::Role { role: self.role, generation }))
            }
            Body::SetConfig(_) | Body::FlowMod(_) if self.role == ControllerRole::SLAVE => {
                refusal(Reason::REQUEST_IS_SLAVE)
            }
            Body::SetConfig(_) | Body::FlowMod(_) => {
                self.told += 1;
                None
            }
            _ => None,
        }
    }

    /// As Open vSwitch: what the role is alone is answered.
    fn answer10(&mut self, body: v10::Body) -> Option<v10::Body> {
        match body {
            v10::Body::FeaturesRequest => Some(v10::Body::Features(v10::Features {
                datapath: 1,
                buffers: 0,
                tables: 1,
                capabilities: v10::switch::Capabilities(0),
                actions: v10::switch::ActionTypes(1),
                ports: Vec::new(),
            })),
            v10::Body::Vendor { vendor, mut data } => {
                self.asked.push((ControllerRole(data[7].into()), 0));
                data[3] += 1;
                Some(v10::Body::Vendor { vendor, data })
            }
            v10::Body::SetConfig(_) => {
                self.told += 1;
                None
            }
            _ => None,
        }
    }

    /// Asks to be something else, and gives what is told of it.
    fn stands(&mut self, role: Role, generation: u64) -> Vec<News> {
        self.news.clear();
        self.session.stand(Candidacy { role, generation }).unwrap();
        self.goes_on();
        std::mem::take(&mut self.news)
    }

    fn is_told(&mut self) -> Result<(), NotTold> {
        self.session.tell(&Command::Raw(vec![4, 20, 0, 8, 0, 0, 0, 9]))
    }
}

fn connections(news: &[News]) -> usize {
    news.iter().filter(|news| matches!(news, News::Connected(_))).count()
}

fn roles(news: &[News]) -> Vec<Result<Role, NotGranted>> {
    let role = |news: &News| if let News::Role(role) = news { Some(role.clone()) } else { None };
    news.iter().filter_map(role).collect()
}

#[test]
fn an_equal_asks_nothing_and_a_master_asks_before_it_commands() {
    let mut equal = Talk::new(4, None, Candidacy::default());
    assert_eq!((equal.asked.len(), equal.told, connections(&equal.news)), (0, 2, 1));
    assert_eq!(equal.is_told(), Ok(()));

    let mut master = Talk::new(4, Some(6), Candidacy { role: Role::Master, generation: 7 });
    assert_eq!(master.asked, [(ControllerRole::MASTER, 7)]);
    assert_eq!((master.told, connections(&master.news), roles(&master.news)), (2, 1, vec![Ok(Role::Master)]));
    assert_eq!(master.is_told(), Ok(()));
}

#[test]
fn a_slave_takes_the_election_that_the_switch_knows_and_commands_nothing_until_it_is_master() {
    for (known, taken) in [(None, 0), (Some(5), 5)] {
        let mut slave = Talk::new(4, known, Candidacy { role: Role::Slave, generation: 9 });
        assert_eq!(slave.asked, [(ControllerRole::NOCHANGE, 0), (ControllerRole::SLAVE, taken)]);
        assert_eq!((slave.told, connections(&slave.news)), (0, 1), "it is known and told nothing");
        assert_eq!((slave.is_told(), slave.session.role()), (Err(NotTold::Slave), Role::Slave));
        // Who is master commands a switch that is as one that has just connected.
        let news = slave.stands(Role::Master, 6);
        assert_eq!((roles(&news), connections(&news), slave.told), (vec![Ok(Role::Master)], 1, 2));
        assert_eq!(slave.is_told(), Ok(()));
        // And is equal again when it asks for that.
        assert_eq!(roles(&slave.stands(Role::Equal, 0)), [Ok(Role::Equal)]);
        assert_eq!(slave.generation, Some(6));
    }
}

#[test]
fn a_stale_election_is_refused_and_changes_nothing_but_for_who_connects_with_it() {
    // A slave stays one.
    let mut slave = Talk::new(4, Some(5), Candidacy { role: Role::Slave, generation: 0 });
    assert_eq!(roles(&slave.stands(Role::Master, 4)), [Err(NotGranted::Stale)]);
    assert_eq!((slave.session.role(), slave.is_told()), (Role::Slave, Err(NotTold::Slave)));
    let why = NotGranted::Stale.to_string();
    assert!(why.contains("stale") && why.contains("plait controller role master"), "{why}");
    // A master too, of the election that it had.
    let mut master = Talk::new(4, None, Candidacy { role: Role::Master, generation: 7 });
    assert_eq!(roles(&master.stands(Role::Master, 6)), [Err(NotGranted::Stale)]);
    assert_eq!((master.session.role(), master.role), (Role::Master, ControllerRole::MASTER));
    // Who was master until it lost its connection is not equal, which it would be by itself.
    let mut late = Talk::new(4, Some(8), Candidacy { role: Role::Master, generation: 7 });
    assert_eq!(roles(&late.news), [Err(NotGranted::Stale), Ok(Role::Slave)]);
    assert_eq!((late.role, late.is_told()), (ControllerRole::SLAVE, Err(NotTold::Slave)));
}

#[test]
fn a_master_that_another_has_superseded_learns_it_by_the_first_refusal() {
    let mut master = Talk::new(4, None, Candidacy { role: Role::Master, generation: 7 });
    master.news.clear();
    let error = v13::Error { reason: Reason::REQUEST_IS_SLAVE, data: Vec::new() };
    for _ in 0..2 {
        master.says(v13::Message { xid: 99, body: Body::Error(error.clone()) }.emit());
    }
    assert_eq!(roles(&master.news), [Err(NotGranted::Superseded)]);
    assert_eq!(master.is_told(), Err(NotTold::Slave));
    assert_eq!(roles(&master.stands(Role::Master, 9)), [Ok(Role::Master)]);
}

#[test]
fn a_switch_of_1_0_is_asked_by_niciras_extension_and_one_without_it_is_spared_all_the_same() {
    let mut slave = Talk::new(1, None, Candidacy { role: Role::Slave, generation: 0 });
    assert_eq!((&slave.asked[..], slave.told), (&[(ControllerRole(2), 0)][..], 0));
    assert_eq!((roles(&slave.news), slave.is_told()), (vec![Ok(Role::Slave)], Err(NotTold::Slave)));
    let news = slave.stands(Role::Master, 1);
    assert_eq!((roles(&news), connections(&news), slave.told), (vec![Ok(Role::Master)], 1, 1));
    // Its master learns of another one by what it is not permitted; to others that says nothing of roles.
    let error = v10::Error { reason: v10::Reason::REQUEST_EPERM, data: Vec::new() };
    let forbidden = v10::Message { xid: 99, body: v10::Body::Error(error) };
    slave.news.clear();
    slave.says(forbidden.emit());
    assert_eq!(roles(&slave.news), [Err(NotGranted::Superseded)]);
    let mut equal = Talk::new(1, None, Candidacy::default());
    equal.says(forbidden.emit());
    assert_eq!((roles(&equal.news), equal.is_told()), (vec![], Ok(())));

    // One that knows of no roles refuses, and its slave is quiet.
    let mut old = Talk::new(1, None, Candidacy::default());
    old.news.clear();
    old.session.stand(Candidacy { role: Role::Slave, generation: 0 }).unwrap();
    let asked = old.session.connection.poll_transmit().unwrap().to_vec();
    let (frame, _) = chop(&asked).unwrap().unwrap();
    let error = v10::Error { reason: v10::Reason::REQUEST_BAD_VENDOR, data: Vec::new() };
    old.says(v10::Message { xid: frame.xid(), body: v10::Body::Error(error) }.emit());
    let [Err(NotGranted::Refused(why))] = &roles(&old.news)[..] else { panic!("{:?}", old.news) };
    assert!(why.to_string().contains("OFPBRC_BAD_VENDOR"), "{why}");
    assert_eq!(old.is_told(), Err(NotTold::Slave));
}

#[test]
fn an_election_that_changes_between_two_questions_is_asked_for_again_and_not_without_end() {
    let mut slave = Talk::new(4, Some(1), Candidacy::default());
    slave.session.stand(Candidacy { role: Role::Slave, generation: 0 }).unwrap();
    slave.news.clear();
    for number in 0..20u64 {
        let Some(bytes) = slave.session.connection.poll_transmit().map(<[u8]>::to_vec) else { break };
        slave.session.connection.transmitted(bytes.len());
        let (frame, _) = chop(&bytes).unwrap().unwrap();
        // A master is elected each time.
        let stale = v13::Error { reason: Reason::ROLE_REQUEST_STALE, data: Vec::new() };
        let body = if number.is_multiple_of(2) {
            Body::RoleReply(v13::Role { role: ControllerRole::EQUAL, generation: number })
        } else {
            Body::Error(stale)
        };
        slave.says(v13::Message { xid: frame.xid(), body }.emit());
        slave.asked.push((ControllerRole::NOCHANGE, number));
    }
    assert_eq!((slave.asked.len(), roles(&slave.news)), (6, vec![Err(NotGranted::Stale)]));
    assert_eq!(slave.is_told(), Err(NotTold::Slave));
}
