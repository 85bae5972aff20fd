//! A sandbox of bubblewrap: namespaces, and no control group.

use std::path::Path;
use std::process::Command;

use super::{Output, Platform, Presence, Task, TaskError, find, process, require_static, version};

pub(super) struct Bubblewrap;

impl Platform for Bubblewrap {
    fn presence(&self, program: &Path) -> Presence {
        let told = find(Path::new("bwrap"))
            .ok_or_else(|| "there is no program bwrap (Debian: bubblewrap)".to_owned())
            .and_then(|bwrap| version(&bwrap))
            .and_then(|told| require_static(program).map(|()| told));
        match told {
            Ok(told) => Presence::Present(vec![told]),
            Err(why) => Presence::Absent(why),
        }
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let mut command = Command::new("bwrap");
        command.args(["--unshare-all", "--die-with-parent", "--tmpfs", "/tmp"]);
        command.args(["--proc", "/proc", "--dev", "/dev", "--ro-bind"]);
        command.arg(task.program).args(["/tompion", "/tompion"]);
        command.args(task.arguments);
        process::run(command, task.limit, task.stop, task.telling, || ())
    }
}
