//! The loads, one file each.

mod files;

use crate::load::Load;

pub(crate) use files::{BLOCK_BYTES, file_name};

tompion_model::entries! {
    /// Every load, in the order in which they are shown and joined.
    pub(crate) static ALL: [Load] =
        idle,
        busy,
        cpu,
        io,
        hd,
        disk_read,
        file_server,
        nfs,
        memory,
        memory_bus,
        network,
        download,
        udp,
        stress_ng,
        iperf3,
}
