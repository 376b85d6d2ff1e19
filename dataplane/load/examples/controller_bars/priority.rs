//! Real-time priority, for controllers and for the load above them.

use std::process::Command;

/// What `what` gives of a controller's command. Both are before all ordinary processes, `what` before the controller; where
/// that is not allowed, which is said, they are not.
pub fn first<T>(command: &str, what: impl FnOnce(&str) -> T) -> T {
    let own = std::process::id().to_string();
    if !chrt(&["--fifo", "--pid", "2", &own]) {
        println!("# chrt is refused: controller and load have no real-time priority");
        return what(command);
    }
    let given = what(&format!("chrt --fifo 1 {command}"));
    if !chrt(&["--other", "--pid", "0", &own]) {
        println!("# chrt is refused: what follows is loaded at real-time priority too");
    }
    given
}

fn chrt(arguments: &[&str]) -> bool {
    Command::new("chrt").args(arguments).output().is_ok_and(|output| output.status.success())
}
