//! A testbed that is up.

mod capture;
mod link;
mod node;

pub use capture::Capture;
pub use link::OnLink;
pub use node::{Line, OnNode, Output, Program};

use crate::error::Error;
use crate::network::Network;
use crate::starter::Starter;
use plait_model_topology::address::Assignment;
use plait_testbed_runtime::control::{self, Report};
use plait_testbed_runtime::plan::{State, Step, Wishes, plan};
use plait_testbed_runtime::sandbox::Lifeline;

/// A testbed that is up. From [`Network::up`], which gives one that goes with this handle, or
/// [`Testbed::find`].
///
/// Every question is a connection to its supervisor, so a handle may be asked from several threads at once.
#[derive(Debug)]
pub struct Testbed {
    control: Option<control::Testbed>,
    starter: Option<Starter>,
    /// What it lives by, if it goes with this handle.
    lifeline: Option<Lifeline>,
}

impl Testbed {
    /// A testbed of yours that is up already. It stays when the handle is dropped.
    ///
    /// # Errors
    /// When none of that name is up.
    pub fn find(name: &str) -> Result<Self, Error> {
        Ok(Self { control: Some(control::Testbed::find(Some(name))?), starter: None, lifeline: None })
    }

    pub(crate) fn of(name: &str, starter: Starter, lifeline: Option<Lifeline>) -> Result<Self, Error> {
        let control = Some(control::Testbed::find(Some(name))?);
        Ok(Self { control, starter: Some(starter), lifeline })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.control().name()
    }

    /// A node, to run programs in: `testbed.on("a").exec("ping -c 3 b")`.
    pub fn on<'t>(&'t self, node: &'t str) -> OnNode<'t> {
        OnNode::new(self.control(), node)
    }

    /// A link, to change, cut or measure it: `testbed.link("a-b").set(|link| link.delay("50ms"))`.
    pub fn link<'t>(&'t self, link: &'t str) -> OnLink<'t> {
        OnLink::new(self.control(), link)
    }

    /// Lets nothing through the links of a node.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn fail_node(&self, node: &str) -> Result<(), Error> {
        Ok(self.control().fail_node(node, true)?)
    }

    /// Lets packets through again, but for links that failed themselves.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn recover_node(&self, node: &str) -> Result<(), Error> {
        Ok(self.control().fail_node(node, false)?)
    }

    /// Its nodes with their addresses, its links with what they do.
    ///
    /// # Errors
    /// When it is gone.
    pub fn inspect(&self) -> Result<Report, Error> {
        Ok(self.control().inspect()?)
    }

    /// What would have to be done to make it another network. Addresses that can stay stay.
    ///
    /// # Errors
    /// What is wrong with the other network.
    pub fn plan(&self, network: &Network) -> Result<Vec<Step>, Error> {
        let observed = self.control().state()?;
        let (wishes, previous) = beside(&observed, self.inspect()?.live);
        Ok(plan(&network.check()?.permitted(&wishes, previous.as_ref())?, &observed))
    }

    /// Makes it another network. What does not differ is not touched: traffic elsewhere flows on.
    ///
    /// # Errors
    /// What is wrong with the other network, or what only a new testbed can have; nothing was changed then.
    /// Or a step that failed.
    pub fn apply(&self, network: &Network) -> Result<Vec<Step>, Error> {
        let starter = self.starter.clone().map_or_else(Starter::find, Ok)?;
        let (wishes, previous) = beside(&self.control().state()?, self.inspect()?.live);
        let desired = network.check()?.buildable(&wishes, previous.as_ref(), &starter)?;
        Ok(self.control().apply(&desired, &mut |_, _| {})?)
    }

    /// Writes the packets of an interface (`"a:eth0"`) into a pcapng file, until the capture is stopped or
    /// dropped.
    ///
    /// # Errors
    /// When there is no such interface, or the file cannot be written.
    pub fn capture(&self, interface: &str, into: impl AsRef<std::path::Path>) -> Result<Capture, Error> {
        Capture::start(self.control(), interface, into.as_ref())
    }

    /// Takes it down, and waits until nothing of it is left.
    ///
    /// # Errors
    /// When it cannot be asked. One that goes with this handle goes all the same.
    pub fn down(mut self) -> Result<(), Error> {
        let control = self.control.take().expect("there until the end");
        Ok(control.down(&mut |_, _| {})?)
    }

    /// All else that a supervisor can be asked: its log, metrics, samples, files of nodes.
    pub fn control(&self) -> &control::Testbed {
        self.control.as_ref().expect("there until the end")
    }

    pub(crate) fn into_parts(mut self) -> (control::Testbed, Option<Lifeline>) {
        (self.control.take().expect("there until the end"), self.lifeline.take())
    }
}

/// One that goes with its handle is taken down, and nothing of it is left afterwards.
impl Drop for Testbed {
    fn drop(&mut self) {
        if let (Some(control), Some(_)) = (self.control.take(), &self.lifeline) {
            // A supervisor that cannot be asked any more is gone, or goes with its lifeline.
            let _ = control.down(&mut |_, _| {});
        }
    }
}

/// What keeps the addresses that a running testbed has, and its links as changeable as they are.
pub fn beside(observed: &State, live: bool) -> (Wishes, Option<Assignment>) {
    let previous = observed.assignment.clone().and_then(|value| serde_json::from_value(value).ok());
    (Wishes { live, ..Wishes::default() }, previous)
}
