//! VMware's tools, which set the clock when a guest resumes, and again and again where the
//! machine's settings say so (tools.syncTime): the guest's files do not.

use tompion_model::TimeKeeper;

use super::{Here, Keeper};

const PROGRAM: &str = "vmtoolsd";

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[PROGRAM],
    found,
};

fn found(here: &Here<'_>) -> Option<TimeKeeper> {
    let running = here.processes.has(PROGRAM);
    if !running && !here.has(&["/usr/bin/vmtoolsd"]) {
        return None;
    }
    let note = "sets the clock when the machine resumes; whether it does so all the time is a \
                setting of the machine, tools.syncTime";
    Some(TimeKeeper {
        name: "VMware".to_owned(),
        running,
        note: running.then(|| note.to_owned()),
        ..TimeKeeper::default()
    })
}
