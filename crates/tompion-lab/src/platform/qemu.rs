//! Virtual machines in QEMU, by the disposable guests of `tompion-guest`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tompion_guest::{Guest, GuestError, KIT_VARIABLE, Kit};

use super::{Output, Platform, Presence, Task, TaskError, find, require_static, version};
use crate::plan::QemuSettings;

const PROGRAM: &str = "qemu-system-x86_64";
/// Where `make guest` puts the kit, for a lab run from there.
const KIT: &str = ".cache/guest";
/// KVM that opens and then hangs is told within this time.
const KVM_BOOT: Duration = Duration::from_secs(20);

pub(super) struct Qemu {
    settings: QemuSettings,
}

impl Qemu {
    pub fn new(settings: &QemuSettings) -> Self {
        Self {
            settings: settings.clone(),
        }
    }

    fn guest(&self, kit: &Kit) -> Guest {
        let s = &self.settings;
        let mut qemu: Vec<String> = Vec::new();
        for (option, value) in [("-machine", &s.machine), ("-cpu", &s.cpu)] {
            qemu.extend(value.iter().flat_map(|v| [option.to_owned(), v.clone()]));
        }
        let clocksource = s.clocksource.as_ref().map(|c| format!("clocksource={c}"));
        Guest::new(kit)
            .accel(s.accelerator())
            .cpus(s.cpus)
            .memory_mb(s.memory_mib)
            .qemu_args(qemu)
            .kernel_args(clocksource)
    }

    fn absent(&self, program: &Path) -> Result<Vec<String>, String> {
        let qemu = find(Path::new(PROGRAM))
            .ok_or_else(|| format!("there is no program {PROGRAM} (Debian: qemu-system-x86)"))?;
        let told = version(&qemu)?;
        let kit = kit().map_err(|e| one_line(&e))?;
        require_static(program)?;
        if !self.settings.accelerator().is_emulation() {
            // Where KVM cannot be nested it may open and then hang.
            let probe = self
                .guest(&kit)
                .timeout(KVM_BOOT)
                .payload(program, ["--version"]);
            probe.run().map_err(|e| one_line(&e))?;
        }
        Ok(vec![told, format!("guest kernel {}", kit.kernel_name())])
    }
}

fn kit() -> Result<Kit, GuestError> {
    match std::env::var_os(KIT_VARIABLE) {
        Some(directory) => Kit::open(PathBuf::from(directory)),
        None => Kit::open(KIT),
    }
}

/// Without the end of the console, which takes lines of its own.
fn one_line(error: &GuestError) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let first = first
        .strip_suffix("; the end of its console:")
        .unwrap_or(first);
    first.strip_prefix("guest: ").unwrap_or(first).to_owned()
}

impl Platform for Qemu {
    fn presence(&self, program: &Path) -> Presence {
        match self.absent(program) {
            Ok(versions) => Presence::Present(versions),
            Err(why) => Presence::Absent(why),
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(180)
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let failed = |e: &GuestError| match e {
            GuestError::Stopped => TaskError::Stopped,
            other => TaskError::Failed(one_line(other)),
        };
        let outcome = self
            .guest(&kit().map_err(|e| failed(&e))?)
            .payload(task.program, task.arguments)
            .timeout(task.limit)
            .result_mb(64)
            .stop(Arc::clone(task.stop))
            .run()
            .map_err(|e| failed(&e))?;
        Ok(Output {
            success: outcome.status.success(),
            status: outcome.status.to_string(),
            stdout: outcome.stdout,
            stderr: outcome.stderr,
        })
    }
}
