//! Many simulations at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Works on many cells with some threads and gives their results in the order of the cells, whichever was done first.
/// Each cell is one thread's: for many small networks that is faster than many threads on each.
///
/// # Panics
/// When the work on a cell does.
pub fn sweep<C: Sync, R: Send>(cells: &[C], threads: usize, work: impl Fn(&C) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = cells.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, cells.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let taken = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(taken) else { return };
                    let result = work(cell);
                    *results[taken].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let inner = |cell: Mutex<Option<R>>| cell.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().map(|cell| inner(cell).expect("every cell was worked on")).collect()
}
