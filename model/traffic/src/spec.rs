//! Traffic as a person writes it.

use crate::{BadPattern, Flow, Pattern, Rates, SOURCE_PORTS, SourcePorts};
use plait_model_quantity::{Bandwidth, ByteCount};
use plait_model_topology::random::SplitMix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Traffic of many flows, as a person writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficSpec {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// How many flows; one round of the pattern if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<usize>,
    /// What all flows carry together.
    pub rate: Bandwidth,
    /// How it is shared among them.
    #[serde(default)]
    pub rates: Rates,
    /// Bytes of UDP payload of each datagram. Choice: 1024 if not said, as the thesis's simulations have it.
    #[serde(default = "usual_size")]
    pub size: ByteCount,
    /// The port that receivers listen on.
    #[serde(default = "usual_port")]
    pub port: u16,
    /// The ports that senders use.
    #[serde(default)]
    pub source_ports: SourcePorts,
}

fn usual_size() -> ByteCount {
    ByteCount::new(1024)
}

/// Choice: the port of UDP's discard service is privileged; this one nobody registers.
fn usual_port() -> u16 {
    60_009
}

/// Why there is no such traffic.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// A pattern that cannot be.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// More flows than ports.
    #[error("{flows} flows leave one host, which has ports for {}: ask for fewer flows", SOURCE_PORTS.len())]
    Ports {
        /// How many.
        flows: usize,
    },
    /// A datagram too long.
    #[error("a UDP datagram carries at most 65507 bytes, not {0}")]
    Size(ByteCount),
    /// More flows than a machine can name.
    #[error("{0} flows are more than {MOST_FLOWS}: ask for fewer")]
    TooMany(usize),
}

/// The most flows of one traffic. Choice: a million, beyond which lists of them no longer fit what reads them.
const MOST_FLOWS: usize = 1_000_000;

impl TrafficSpec {
    /// One round of a pattern, the total shared evenly.
    pub fn new(pattern: Pattern, rate: Bandwidth) -> Self {
        Self {
            pattern,
            flows: None,
            rate,
            rates: Rates::Same,
            size: usual_size(),
            port: usual_port(),
            source_ports: SourcePorts::InOrder,
        }
    }

    /// The flows among so many hosts: the same for the same seed on every machine.
    ///
    /// # Errors
    /// What cannot be, and what to write instead.
    pub fn flows(&self, hosts: usize, seed: u64) -> Result<Vec<Flow>, TrafficError> {
        if self.size > ByteCount::new(65_507) {
            return Err(TrafficError::Size(self.size));
        }
        // A sequence for each, so that another way to share rates leaves the pairs as they are, and other ports leave both.
        let mut draws = SplitMix64::new(seed);
        let [mut for_pairs, mut for_rates, mut for_ports] = [(); 3].map(|()| SplitMix64::new(draws.draw()));
        let round = match self.pattern {
            Pattern::AllToAll => hosts.saturating_mul(hosts.saturating_sub(1)),
            _ => hosts,
        };
        let asked = self.flows.unwrap_or(0).max(round);
        if asked > MOST_FLOWS {
            return Err(TrafficError::TooMany(asked));
        }
        let mut pairs = self.pattern.round(hosts, &mut for_pairs)?;
        let once = pairs.clone();
        while self.flows.is_some_and(|count| pairs.len() < count) {
            match self.pattern {
                Pattern::Random => pairs.extend(self.pattern.round(hosts, &mut for_pairs)?),
                _ => pairs.extend_from_slice(&once),
            }
        }
        pairs.truncate(self.flows.unwrap_or(pairs.len()));
        let rates = self.rates.share(self.rate, pairs.len(), &mut for_rates);
        let first = self.source_ports.first(hosts, &mut for_ports);
        let mut used = vec![0; hosts];
        let mut flows = Vec::with_capacity(pairs.len());
        for ((from, to), rate) in pairs.into_iter().zip(rates) {
            let count: &mut usize = &mut used[from];
            if *count >= SOURCE_PORTS.len() {
                return Err(TrafficError::Ports { flows: *count + 1 });
            }
            let source_port = SOURCE_PORTS.start + ((first[from] + *count) % SOURCE_PORTS.len()) as u16;
            *count += 1;
            flows.push(Flow { from, to, rate, size: self.size, source_port, destination_port: self.port });
        }
        Ok(flows)
    }
}
