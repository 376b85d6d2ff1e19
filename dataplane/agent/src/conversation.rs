//! What is spoken.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What an agent and its askers speak: a line of JSON for each request and reply.
pub trait Conversation {
    /// What is asked.
    type Request: Serialize + DeserializeOwned;
    /// What is answered.
    type Reply: Serialize + DeserializeOwned;
    /// The version of both. An agent answers its own and refuses others by name.
    const VERSION: u32;
    /// What kind of agent it is, such as `overlay`.
    const KIND: &'static str;
    /// The command that starts one.
    const START: &'static str;

    /// The reply that something was not done, and why.
    fn refusal(text: String) -> Self::Reply;

    /// Why something was not done, of a reply that says so.
    fn refused(reply: &Self::Reply) -> Option<&str>;

    /// What asks for the metrics, for who asks by HTTP.
    fn scrape() -> Self::Request;

    /// The metrics in Prometheus' text form, of a reply that has them.
    fn page(reply: &Self::Reply) -> Option<&str>;
}

/// A request with the version it is made in.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope<R> {
    /// The asker's version.
    pub plait: u32,
    /// What is asked.
    pub request: R,
}

/// A request as a line.
pub fn line<C: Conversation>(request: C::Request) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Envelope { plait: C::VERSION, request })?;
    line.push(b'\n');
    Ok(line)
}

/// The request of a line; what to say to one that is none.
pub fn request<C: Conversation>(line: &[u8]) -> Result<C::Request, C::Reply> {
    #[derive(Deserialize)]
    struct Version {
        plait: u32,
    }
    // Of another version even the request may read otherwise.
    let none = |error| C::refusal(format!("no request: {error}"));
    let Version { plait } = serde_json::from_slice(line).map_err(none)?;
    if plait != C::VERSION {
        return Err(C::refusal(format!(
            "this agent speaks version {}, not {plait}: use the plait that started it, or start the agent again with \
             yours",
            C::VERSION
        )));
    }
    serde_json::from_slice(line).map(|Envelope { request, .. }: Envelope<C::Request>| request).map_err(none)
}
