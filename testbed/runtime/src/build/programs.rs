//! Commands that belong to a node's start.

use super::Builder;
use crate::kernel::capability;
use crate::kernel::process::start;
use crate::limits::Groups;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What programs of a node find in their environment: little, and nothing of what the caller keeps in theirs.
pub fn environment(node: &str, testbed: &str) -> Vec<(String, String)> {
    let own = |name: &str| std::env::var(name).ok().map(|value| (name.to_owned(), value));
    let usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let mut environment = vec![
        // Members of overlays find `plait` there, wherever the host has it.
        ("PATH".to_owned(), format!("{usual}:{}", crate::overlay::PROGRAMS)),
        ("PLAIT_NODE".to_owned(), node.to_owned()),
        ("PLAIT_TESTBED".to_owned(), testbed.to_owned()),
        ("PLAIT_NODE_FOLDER".to_owned(), crate::sandbox::NODE_FOLDER.to_owned()),
    ];
    environment.extend(["HOME", "LANG", "TERM", "USER", "LOGNAME"].into_iter().filter_map(own));
    environment
}

impl Builder {
    /// Starts a shell command of a node. Returns its process, which [`Children`](crate::children::Children) waits for,
    /// and the file with what it says.
    pub fn start_command(&mut self, node: &str, text: &str) -> io::Result<(i32, PathBuf)> {
        let place = self.place(node, capability::NODE)?;
        let log = self.folder(node).join("log/commands.log");
        let output = std::fs::File::create(&log)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]).env_clear().envs(environment(node, &self.name)).stdin(Stdio::null());
        command.stdout(output.try_clone()?).stderr(output);
        let pid = self.children.start(|| Ok(start(&mut command, place, false)?.id() as i32))?;
        Ok((pid, log))
    }

    /// Where programs are kept that are limited or give way.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Whether the host's user is root.
    pub fn is_root(&self) -> bool {
        self.root
    }
}
