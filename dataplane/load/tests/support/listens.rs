//! Who listens, for those who wait for a controller.

/// Whether somebody listens at a port. Nobody is knocked at for it: ovs-testcontroller takes a connection that ends at once
/// for a fault of its listener, and closes that.
pub fn listens(port: u16) -> bool {
    let port = format!(":{port:04X}");
    let is_listener = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        matches!(fields[..], [_, local, _, "0A", ..] if local.ends_with(&port))
    };
    ["tcp", "tcp6"].iter().any(|kind| {
        let path = format!("/proc/thread-self/net/{kind}");
        std::fs::read_to_string(path).unwrap_or_default().lines().any(is_listener)
    })
}
