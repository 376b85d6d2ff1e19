//! Who asks by HTTP, as scrapers of metrics do: `curl --unix-socket SOCKET http://agent/metrics`.
//!
//! One request is answered, and the connection ends then (RFC 9112 section 9.6). Bodies are none of it.

/// How far one who asks has come with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scrape {
    /// It speaks lines of JSON.
    #[default]
    No,
    /// It is at its headers, of which none matters; whether it asks for the page.
    Headers(Asked),
    /// It has asked.
    Whole,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The page of metrics.
    Metrics,
    /// Something that is not here.
    Other,
    /// Something to be done.
    Done,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// A request of its own.
    Line,
    /// A part of a request by HTTP, or of what follows it.
    Part,
    /// The end of one.
    End(Asked),
}

impl Scrape {
    /// Takes the next line.
    pub fn hear(&mut self, line: &[u8]) -> Heard {
        match *self {
            Self::No => match request(line) {
                Some(asked) => {
                    *self = Self::Headers(asked);
                    Heard::Part
                }
                None => Heard::Line,
            },
            Self::Headers(asked) if line.trim_ascii().is_empty() => {
                *self = Self::Whole;
                Heard::End(asked)
            }
            Self::Headers(_) | Self::Whole => Heard::Part,
        }
    }
}

/// What a request line asks for, if it is one: a method, a target and the version (RFC 9112 section 3).
fn request(line: &[u8]) -> Option<Asked> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    Some(match (method, target.split('?').next()) {
        ("GET", Some("/metrics")) => Asked::Metrics,
        ("GET", _) => Asked::Other,
        _ => Asked::Done,
    })
}

/// An answer.
pub fn response(status: &str, page: &str) -> Vec<u8> {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let length = page.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}"
    )
    .into_bytes()
}
