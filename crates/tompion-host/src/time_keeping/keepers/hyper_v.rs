//! The time that Hyper-V sends to its guests: Linux sets the clock by it when the guest starts or
//! resumes, and gives it out as a PTP clock (drivers/hv/hv_util.c).

use tompion_model::TimeKeeper;

use super::{Here, Keeper};

/// The class of the device, among those of the virtual bus.
const TIME_CLASS: &str = "{9527e630-d0ae-497b-adce-e80ab0175caf}";
const DEVICES: &str = "/sys/bus/vmbus/devices";
const MOST: usize = 256;

pub(super) static ENTRY: Keeper = Keeper {
    processes: &[],
    found,
};

fn found(here: &Here<'_>) -> Option<TimeKeeper> {
    let devices = std::fs::read_dir(here.root.path(DEVICES)).ok()?;
    let mut names = devices.take(MOST).flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let class = here.text(&format!("{DEVICES}/{name}/class_id"))?;
        (class == TIME_CLASS).then_some(name)
    });
    let name = names.next()?;
    let driver = here.root.link(format!("{DEVICES}/{name}/driver"));
    let running = driver.is_some_and(|driver| driver.ends_with("/hv_utils"));
    let note = match running {
        true => "sets the clock when the machine starts or resumes",
        false => "its driver hv_utils is not in use",
    };
    Some(TimeKeeper {
        name: "Hyper-V".to_owned(),
        running,
        note: Some(note.to_owned()),
        ..TimeKeeper::default()
    })
}
