//! From a network to a testbed.

use crate::checked::Checked;
use crate::error::Error;
use crate::network::Network;
use crate::starter::Starter;
use crate::testbed::Testbed;
use plait_testbed_runtime::plan::{State, Step, Wishes, plan};
use plait_testbed_runtime::supervisor::StartOptions;

/// How a testbed is brought up. From [`Network::testbed`].
#[derive(Debug)]
#[must_use = "nothing is up before `up` is called"]
pub struct Up {
    network: Result<Checked, Error>,
    name: Option<String>,
    live: bool,
    keep: bool,
    starter: Option<Starter>,
}

/// # Making it real
impl Network {
    /// Builds the network. The testbed goes when its handle is dropped, or this process ends.
    ///
    /// # Errors
    /// What is wrong with the network, what this machine lacks for it, or why it could not be built. Nothing
    /// is left of it then.
    pub fn up(&self) -> Result<Testbed, Error> {
        self.testbed().up()
    }

    /// The same with a say in how: `network.testbed().named("second").live().up()`.
    pub fn testbed(&self) -> Up {
        Up::of(self.check())
    }

    /// What [`Network::up`] would do, step by step, without doing it. Costs no more than the check.
    ///
    /// # Errors
    /// What is wrong with the network.
    pub fn plan(&self) -> Result<Vec<Step>, Error> {
        Ok(plan(&self.check()?.permitted(&Wishes::default(), None)?, &State::default()))
    }
}

impl Up {
    /// A network that was checked, or what is wrong with it, which [`Up::up`] then says.
    pub fn of(network: Result<Checked, Error>) -> Self {
        Self { network, name: None, live: false, keep: false, starter: None }
    }

    /// Calls the testbed so, instead of by the network's name. Two of one name cannot be up at once.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Lets every link's conditions change while it is up.
    pub fn live(self) -> Self {
        Self { live: true, ..self }
    }

    /// Lets it stay when its handle is dropped and when this process ends, until `plait down` or
    /// [`Testbed::down`].
    pub fn keep(self) -> Self {
        Self { keep: true, ..self }
    }

    /// Says who forks its supervisor; [`Starter::find`] when not said.
    pub fn starter(self, starter: Starter) -> Self {
        Self { starter: Some(starter), ..self }
    }

    /// Builds it.
    ///
    /// # Errors
    /// As of [`Network::up`].
    pub fn up(self) -> Result<Testbed, Error> {
        self.ready()?.start(&mut |_, _| {})
    }

    /// Checks everything that can be checked beforehand, and builds nothing.
    ///
    /// # Errors
    /// What is wrong with the network, or what this machine lacks for it.
    pub fn ready(self) -> Result<Ready, Error> {
        let network = self.network?;
        let starter = self.starter.map_or_else(Starter::find, Ok)?;
        let wishes = Wishes { live: self.live, ..Wishes::default() };
        let options = StartOptions {
            name: self.name.unwrap_or_else(|| network.network().name.clone()),
            file: network.file().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            desired: network.buildable(&wishes, None, &starter)?,
            leased: !self.keep,
            live: self.live,
            record: network.script().is_ok_and(|script| script.collect.control),
        };
        Ok(Ready { starter, options })
    }
}

/// A testbed that can be built. From [`Up::ready`].
#[derive(Debug)]
#[must_use = "nothing is up before `start` is called"]
pub struct Ready {
    starter: Starter,
    options: StartOptions,
}

impl Ready {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Builds it; `progress` hears how many steps are done, and of how many.
    ///
    /// # Errors
    /// Why it could not be built; nothing is left of it then.
    pub fn start(self, progress: &mut dyn FnMut(usize, usize)) -> Result<Testbed, Error> {
        let (name, leased) = (self.options.name.clone(), self.options.leased);
        let lifeline = self.starter.start(self.options, progress)?;
        Testbed::of(&name, self.starter, leased.then_some(lifeline))
    }
}
