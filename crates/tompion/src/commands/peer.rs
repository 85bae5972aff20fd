//! `tompion peer`: the far end of loads.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};

use tompion_load::{Key, PeerSettings};

use tompion_store::Directory;

use super::given_file::directory;
use crate::cli::PeerOptions;
use crate::exit;

/// Carries out the command.
pub fn peer(options: &PeerOptions) -> exit::Result {
    let dir = options.dir.as_deref();
    let dir = dir.map(|dir| directory("--dir", dir)).transpose()?;
    let files = dir.as_ref().map(Directory::lasting_path);
    let key = options.key.as_deref().map(Key::read).transpose()?;
    let is_reachable = !options.listen.ip().is_loopback();
    if is_reachable && key.is_none() {
        let listen = options.listen;
        if !options.open {
            bail!(
                "--listen {listen}: without a key, whoever can reach it could exchange bulk data \
                 with this machine; give --key FILE, or --open if nobody else can"
            );
        }
        exit::complain(&format!(
            "warning: without a key, whoever can reach {listen} can exchange bulk data with it"
        ));
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let ready = || exit::complain(&format!("listening on {}; Ctrl-C ends it", options.listen));
    let settings = PeerSettings {
        listen: options.listen,
        key: key.as_ref(),
        files: files.as_deref(),
    };
    tompion_load::serve_peer(&settings, &stop, ready)
        .with_context(|| format!("listening on {}", options.listen))?;
    Ok(0)
}
