//! `tompion peer`: the far end of loads.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};

use crate::cli::PeerOptions;
use crate::exit;

/// Carries out the command.
pub fn peer(options: &PeerOptions) -> exit::Result {
    if let Some(dir) = options.dir.as_deref().filter(|dir| !dir.is_dir()) {
        bail!("--dir {}: not an existing directory", dir.display());
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let ready = || exit::complain(&format!("listening on {}; Ctrl-C ends it", options.listen));
    tompion_load::serve_peer(options.listen, options.dir.as_deref(), &stop, ready)
        .with_context(|| format!("listening on {}", options.listen))?;
    Ok(0)
}
