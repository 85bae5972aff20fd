//! Who goes first.

use crate::sys::real_time;

/// Below the relay, above everything of the usual policy.
const PRIORITY: i32 = 15;

/// Has the calling thread go before other work, as far as this process may: a far end that shares its CPUs with a
/// loaded sender is to answer like a machine of its own. Whether it does.
pub fn prefer() -> bool {
    real_time(PRIORITY).is_ok()
}
