//! VirtualBox's guest service, which brings the clock to the host's every ten seconds unless it
//! was started otherwise (VirtualBox manual, "Tuning the Guest Additions Time Synchronization").

use tompion_model::TimeKeeper;

use super::{Here, Keeper};

const PROGRAM: &str = "VBoxService";
const SWITCHED_OFF: &str = "--disable-timesync";

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[PROGRAM],
    found,
};

fn found(here: &Here<'_>) -> Option<TimeKeeper> {
    let running = here.processes.has(PROGRAM);
    if !running && !here.has(&["/usr/sbin/VBoxService", "/opt/VBoxGuestAdditions"]) {
        return None;
    }
    let mut arguments = here.processes.arguments(PROGRAM).flatten();
    let keeps = running && !arguments.any(|a| a == SWITCHED_OFF);
    let note = match keeps {
        true => "follows the host's clock, and tells nobody how well",
        false => "was started with --disable-timesync",
    };
    Some(TimeKeeper {
        name: "VirtualBox".to_owned(),
        running,
        keeps,
        note: running.then(|| note.to_owned()),
        ..TimeKeeper::default()
    })
}
