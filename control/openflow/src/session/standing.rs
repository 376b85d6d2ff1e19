//! What this controller is to the switch beside others: what it asks for, and what the switch says.

use super::{News, NotTold, Session, Stage};
use crate::role::{Asked, Question, TRIES};
use crate::{Candidacy, NotGranted, Refusal, Role};
use plait_model_wire::openflow::v13;
use plait_model_wire::openflow::v13::role::ControllerRole;

impl Session {
    /// Asks for the role that this controller wants.
    pub(super) fn ask_role(&mut self, first: bool) -> Result<(), NotTold> {
        let Candidacy { role, generation } = self.candidacy;
        // Whether it is granted or not: who wants to be slave says nothing any more.
        if role == Role::Slave {
            self.role = role;
        }
        let generation = if role == Role::Master { generation } else { 0 };
        self.put(Question::of(role, self.version), generation, 1, first)
    }

    fn put(&mut self, question: Question, generation: u64, tries: u8, first: bool) -> Result<(), NotTold> {
        let role = match question {
            Question::Election => ControllerRole::NOCHANGE,
            Question::Role(role) => role.wire(),
        };
        let xid = self.connection.request_role(role, generation)?;
        self.asked = Some(Asked { xid, question, tries, first });
        Ok(())
    }

    /// It answers a question for a role.
    pub(super) fn granted(&mut self, xid: u32, said: v13::Role) {
        let Some(asked) = self.asked.filter(|asked| asked.xid == xid) else { return };
        self.asked = None;
        let put = match asked.question {
            Question::Election => {
                // A switch that knows no election says that it is the last one of all.
                let generation = if said.generation == u64::MAX { 0 } else { said.generation };
                self.put(Question::Role(Role::Slave), generation, asked.tries, asked.first)
            }
            Question::Role(role) => {
                let before = std::mem::replace(&mut self.role, Role::of(said.role).unwrap_or(role));
                self.tell_role(Ok(self.role));
                self.speaks_again(before)
            }
        };
        if put.is_err() {
            self.connection.close();
        }
    }

    /// Who was slave and may command now is as one that has just connected: nothing that was said before was heard.
    fn speaks_again(&mut self, before: Role) -> Result<(), NotTold> {
        if before != Role::Slave || self.role == Role::Slave {
            return Ok(());
        }
        self.prepare()?;
        if self.stage == Stage::Known {
            self.news.push_back(News::Connected(self.info.clone()));
        }
        Ok(())
    }

    /// It refuses something, a role perhaps.
    pub(super) fn not_granted(&mut self, xid: u32, why: &Refusal) {
        let Some(asked) = self.asked.filter(|asked| asked.xid == xid) else {
            if why.is_slave() && self.role == Role::Master {
                self.role = Role::Slave;
                self.tell_role(Err(NotGranted::Superseded));
            }
            return;
        };
        self.asked = None;
        let wants_slave = asked.question != Question::Role(Role::Master);
        if why.is_stale() && wants_slave && asked.tries < TRIES {
            if self.put(Question::Election, 0, asked.tries + 1, asked.first).is_err() {
                self.connection.close();
            }
            return;
        }
        let not = if why.is_stale() { NotGranted::Stale } else { NotGranted::Refused(why.clone()) };
        self.tell_role(Err(not));
        // Choice: who connects as master of an election that is over keeps quiet. As an equal, which it is to the switch at
        // first, it would command beside the new master.
        if why.is_stale() && asked.first && !wants_slave {
            self.candidacy.role = Role::Slave;
            if self.ask_role(false).is_err() {
                self.connection.close();
            }
        }
    }

    fn tell_role(&mut self, said: Result<Role, NotGranted>) {
        match self.stage {
            Stage::Known => self.news.push_back(News::Role(said)),
            _ => self.early.push(said),
        }
    }
}
