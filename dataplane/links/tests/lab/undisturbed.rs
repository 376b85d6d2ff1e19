//! Measurements on a machine that others use.

/// Measures, and measures again when the machine's hypervisor ran others for 4 % of the time that it took: such a
/// measurement is of the machine. Whether it is made again does not depend on what came out.
pub fn undisturbed<T>(mut measure: impl FnMut() -> T) -> T {
    const TRIES: usize = 5;
    for _ in 1..TRIES {
        let (stolen, all) = ticks();
        let measured = measure();
        let (stolen_then, all_then) = ticks();
        if (stolen_then - stolen) * 25 < all_then - all {
            return measured;
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    measure()
}

/// Ticks of all processors in which a hypervisor ran others, and all ticks.
fn ticks() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> =
        first.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    (ticks.get(7).copied().unwrap_or(0), ticks.iter().sum())
}
