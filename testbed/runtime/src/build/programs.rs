//! Commands that belong to a node's start.

use super::Builder;
use crate::kernel::capability;
use crate::kernel::process::start;
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What programs of a node find in their environment: little, and nothing of what the caller keeps in theirs.
pub fn environment(node: &str, testbed: &str) -> Vec<(String, String)> {
    let own = |name: &str| std::env::var(name).ok().map(|value| (name.to_owned(), value));
    let mut environment = vec![
        ("PATH".to_owned(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("PLAIT_NODE".to_owned(), node.to_owned()),
        ("PLAIT_TESTBED".to_owned(), testbed.to_owned()),
        ("PLAIT_NODE_FOLDER".to_owned(), crate::sandbox::NODE_FOLDER.to_owned()),
    ];
    environment.extend(["HOME", "LANG", "TERM", "USER", "LOGNAME"].into_iter().filter_map(own));
    environment
}

impl Builder {
    /// Runs shell commands in order; each must succeed. What they start in the background stays.
    pub(super) fn commands(&mut self, node: &str, run: &[String]) -> io::Result<()> {
        for text in run {
            let place = self.place(node, capability::NODE)?;
            let output = std::fs::File::create(self.folder(node).join("log/commands.log"))?;
            let mut command = Command::new("/bin/sh");
            command.args(["-c", text]).env_clear().envs(environment(node, &self.name)).stdin(Stdio::null());
            command.stdout(output.try_clone()?).stderr(output);
            let pid = self.children.start(|| Ok(start(&mut command, place, false)?.id() as i32))?;
            let exited = self.children.wait(pid, Duration::MAX);
            if exited != Some(crate::control::Exited::Code(0)) {
                let log =
                    std::fs::read_to_string(self.folder(node).join("log/commands.log")).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(3).collect();
                return Err(io::Error::other(format!(
                    "`{text}` ended with {exited:?}: {}",
                    last.join(" / ")
                )));
            }
        }
        Ok(())
    }

    /// Whether the host's user is root.
    pub fn is_root(&self) -> bool {
        self.root
    }
}
