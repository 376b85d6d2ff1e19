//! Which names may be used for networks, nodes and interfaces.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::document::Span;
use std::net::Ipv4Addr;

/// Whether every program means itself by a name (RFC 6761, section 6.3).
fn is_local(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower == "localhost" || lower.ends_with(".localhost")
}

/// Whether programs take a name for something else before they look for a host.
pub(crate) fn is_no_host(name: &str) -> bool {
    is_local(name) || name.parse::<Ipv4Addr>().is_ok()
}

impl Resolver<'_> {
    /// A name becomes a hostname, a folder and part of link names (RFC 1123's letters, digits and hyphens, with `_`
    /// and `.` as people use them).
    pub(super) fn check_name(&mut self, what: &str, name: &str, span: Span) {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let start = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if name.len() > 63 {
            self.fault(Diagnostic::new(
                span,
                format!("a {what} name has at most 63 characters, this has {}", name.len()),
            ));
        } else if !start || !name.chars().all(fine) || name == "." || name == ".." {
            self.fault(
                Diagnostic::new(span, format!("`{name}` cannot be a {what} name"))
                    .help("use letters, digits, `-`, `_` and `.`, and begin with a letter or digit"),
            );
        }
    }

    /// A node's name must find the node: programs take some names for something else before they look for a host.
    pub(super) fn check_host(&mut self, name: &str, span: Span) {
        if is_local(name) {
            self.fault(
                Diagnostic::new(span, format!("by `{name}` every program means the node that it runs in"))
                    .help("give the node another name"),
            );
        } else if name.parse::<Ipv4Addr>().is_ok() {
            self.fault(
                Diagnostic::new(span, format!("programs take `{name}` for an address, not for a name"))
                    .help(format!("write `n{name}`, or another name")),
            );
        }
    }

    /// The kernel's rule for device names: at most 15 bytes, no slash, colon or white space.
    pub(super) fn check_interface(&mut self, name: &str, span: Span) {
        let fine = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':');
        if name.is_empty() || name.len() > 15 || !name.chars().all(fine) || name == "." || name == ".." {
            self.fault(
                Diagnostic::new(span, format!("`{name}` cannot be an interface name"))
                    .help("use up to 15 letters, digits and signs other than `/` and `:`"),
            );
        } else if name == "lo" {
            self.fault(
                Diagnostic::new(span, "`lo` is every node's loopback").help("name the interface `eth0`"),
            );
        } else if name == "all" || name == "default" {
            // Folders of these names in /proc/sys/net stand for every interface, and for those to come.
            self.fault(
                Diagnostic::new(span, format!("the kernel means every interface by `{name}`"))
                    .help("name the interface `eth0`"),
            );
        }
    }
}
