//! The shortest time slice: a thread that needs the CPU for microseconds says so, and the scheduler runs it
//! before those that take milliseconds (EEVDF, since Linux 6.12). It gets no more time by that than others do.

use crate::sys;

/// The least that the kernel grants, in nanoseconds.
const SHORTEST_NS: u64 = 100_000;

/// Asks for it, for the calling thread, until it is dropped there. Kernels that do not know it, real-time
/// policies and sandboxes that forbid it leave all as it was.
pub(super) struct ShortSlice {
    before_ns: Option<u64>,
}

impl ShortSlice {
    pub fn ask() -> Self {
        let before_ns = sys::slice_ns().filter(|before_ns| *before_ns > SHORTEST_NS);
        if before_ns.is_some() {
            let _ = sys::set_slice_ns(SHORTEST_NS);
        }
        Self { before_ns }
    }
}

impl Drop for ShortSlice {
    fn drop(&mut self) {
        if let Some(before_ns) = self.before_ns {
            let _ = sys::set_slice_ns(before_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_for_and_given_back() {
        let Some(before_ns) = sys::slice_ns().filter(|ns| *ns > SHORTEST_NS) else {
            return println!("skipped: a kernel without slices of threads");
        };
        let asked = ShortSlice::ask();
        assert_eq!(sys::slice_ns(), Some(SHORTEST_NS));
        // Whoever has it already keeps it.
        drop(ShortSlice::ask());
        assert_eq!(sys::slice_ns(), Some(SHORTEST_NS));
        drop(asked);
        assert_eq!(sys::slice_ns(), Some(before_ns));
    }
}
