//! Where the time comes from.

use crate::discipline::Reason;

/// Where the time comes from at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The CPU counter, anchored to the kernel's clock.
    Counter,
    /// The kernel's clock, because of the reason given.
    Kernel(
        /// Why the counter is not used.
        Reason,
    ),
}
