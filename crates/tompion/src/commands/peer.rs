//! `tompion peer`: the far end of a network load.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;

use crate::cli::PeerOptions;
use crate::exit;

/// Carries out the command.
pub fn peer(options: &PeerOptions) -> exit::Result {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    exit::complain(&format!("listening on {}; Ctrl-C ends it", options.listen));
    tompion_load::serve_peer(options.listen, None, &stop)
        .with_context(|| format!("listening on {}", options.listen))?;
    Ok(0)
}
