//! What a guest consists of, before there is one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::initramfs::HostFile;
use super::listener::Listener;
use super::machine::Scratch;
use super::{Accel, Disk, GuestError, Kit, Outcome, Tap, Vmm, initramfs, run};

/// A guest to be: one CPU, 512 MiB, emulated, 120 s, unless set otherwise.
#[derive(Debug, Clone)]
pub struct Guest {
    pub(super) kit: Kit,
    pub(super) cpus: u32,
    pub(super) memory_mb: u32,
    pub(super) files: BTreeMap<PathBuf, HostFile>,
    pub(super) command: Vec<OsString>,
    pub(super) kernel_args: Vec<String>,
    pub(super) vmm: Vmm,
    pub(super) program: Option<PathBuf>,
    pub(super) qemu_args: Vec<OsString>,
    pub(super) accel: Accel,
    pub(super) machine: String,
    pub(super) cpu_model: Option<String>,
    pub(super) pin: Vec<Vec<usize>>,
    pub(super) icount: Option<u8>,
    pub(super) disk: Disk,
    pub(super) scratch: Option<Scratch>,
    pub(super) tap: Option<Arc<Tap>>,
    pub(super) timeout: Duration,
    pub(super) result_mb: u32,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) launcher: Vec<OsString>,
    pub(super) console_to: Option<Listener>,
}

impl Guest {
    /// A guest made of the kit's kernel and init, with nothing to run yet.
    pub fn new(kit: &Kit) -> Self {
        Self {
            kit: kit.clone(),
            cpus: 1,
            memory_mb: 512,
            files: BTreeMap::new(),
            command: Vec::new(),
            kernel_args: Vec::new(),
            vmm: Vmm::default(),
            program: None,
            qemu_args: Vec::new(),
            accel: Accel::default(),
            machine: "pc".to_owned(),
            cpu_model: None,
            pin: Vec::new(),
            icount: None,
            disk: Disk::default(),
            scratch: None,
            tap: None,
            timeout: Duration::from_secs(120),
            result_mb: 16,
            stop: Arc::default(),
            launcher: Vec::new(),
            console_to: None,
        }
    }

    /// Number of virtual CPUs.
    #[must_use]
    pub fn cpus(mut self, cpus: u32) -> Self {
        self.cpus = cpus;
        self
    }

    /// Memory of the guest, in MiB.
    #[must_use]
    pub fn memory_mb(mut self, memory_mb: u32) -> Self {
        self.memory_mb = memory_mb;
        self
    }

    /// Puts the host's file `from` at the absolute path `at` in the guest, with
    /// its permissions.
    #[must_use]
    pub fn file(self, at: impl Into<PathBuf>, from: impl Into<PathBuf>) -> Self {
        self.host_file(at.into(), from.into(), None, false)
    }

    /// As [`file`](Self::file), with these permissions instead of the host's, such as
    /// `0o644`.
    #[must_use]
    pub fn file_with_mode(
        self,
        at: impl Into<PathBuf>,
        from: impl Into<PathBuf>,
        mode: u32,
    ) -> Self {
        self.host_file(at.into(), from.into(), Some(mode), false)
    }

    /// As [`file`](Self::file), for a dynamic program or a shared library: its
    /// interpreter and all libraries it needs come with it, at the host's paths, and
    /// so does the host's loader cache. A file that is put at one of these paths
    /// otherwise stays.
    ///
    /// The host's loader is asked for them when the guest is started, by `ldd`, which
    /// may execute parts of the program: use it on programs that you would run.
    #[must_use]
    pub fn dynamic(self, at: impl Into<PathBuf>, from: impl Into<PathBuf>) -> Self {
        self.host_file(at.into(), from.into(), None, true)
    }

    fn host_file(mut self, at: PathBuf, from: PathBuf, mode: Option<u32>, dynamic: bool) -> Self {
        let file = HostFile {
            from,
            mode,
            dynamic,
        };
        self.files.insert(at, file);
        self
    }

    /// What to run: the absolute path of one of the files, then its arguments.
    #[must_use]
    pub fn command<I>(mut self, command: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.command = command.into_iter().map(Into::into).collect();
        self
    }

    /// [`file`](Self::file) and [`command`](Self::command) in one: runs the static
    /// program `program` of the host with these arguments, as `/bin/NAME`.
    #[must_use]
    pub fn payload<I>(self, program: impl AsRef<Path>, arguments: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        let program = program.as_ref();
        let at = Path::new("/bin").join(program.file_name().unwrap_or_else(|| OsStr::new("")));
        let mut command = vec![at.clone().into_os_string()];
        command.extend(arguments.into_iter().map(Into::into));
        self.file(at, program).command(command)
    }

    /// Adds boot parameters, such as `clocksource=hpet`, after our own.
    #[must_use]
    pub fn kernel_args<I>(mut self, arguments: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.kernel_args
            .extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds arguments of QEMU after our own; of an option given twice it takes the
    /// later one.
    #[must_use]
    pub fn qemu_args<I>(mut self, arguments: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.qemu_args.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// What executes the guest's instructions.
    #[must_use]
    pub fn accel(mut self, accel: Accel) -> Self {
        self.accel = accel;
        self
    }

    /// Wall time from the start of its program to power-off, after which it is killed.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Kills the guest soon after this is set.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// A command line that QEMU's is appended to: a program that becomes the one that
    /// its arguments name, such as `taskset` or `nice`.
    #[must_use]
    pub fn launched_by<I>(mut self, command: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.launcher = command.into_iter().map(Into::into).collect();
        self
    }

    /// Has what comes from the console heard as well, as it comes.
    #[must_use]
    pub fn console_to(mut self, listener: Listener) -> Self {
        self.console_to = Some(listener);
        self
    }

    /// The most that the command may write to both outputs together, in MiB.
    #[must_use]
    pub fn result_mb(mut self, result_mb: u32) -> Self {
        self.result_mb = result_mb;
        self
    }

    /// Boots the guest, runs the command, and waits until the guest is gone.
    ///
    /// A command that fails is an [`Outcome`] like any other: its `status` says so.
    ///
    /// # Errors
    /// Everything that leaves no result to be believed: see [`GuestError`].
    pub fn run(&self) -> Result<Outcome, GuestError> {
        self.check()?;
        let initramfs = initramfs::build(self)?;
        run::run(self, &initramfs)
    }

    /// Starts QEMU with this machine and ends it before the guest runs: whether QEMU has
    /// this machine, processor and devices, within a second.
    ///
    /// # Errors
    /// What QEMU says against it.
    pub fn try_machine(&self) -> Result<(), GuestError> {
        self.check_machine()?;
        run::try_machine(self)
    }

    fn check(&self) -> Result<(), GuestError> {
        let wrong = |problem: String| Err(GuestError::Description { problem });
        if self.cpus == 0 {
            return wrong("0 CPUs: it needs at least 1".into());
        }
        // Below, Debian's kernel and an initramfs of a few MiB do not come up.
        if self.memory_mb < 128 {
            return wrong(format!("{} MiB of memory: at least 128", self.memory_mb));
        }
        self.check_machine()?;
        if self.result_mb == 0 {
            return wrong("result_mb 0: at least 1".into());
        }
        let Some(program) = self.command.first() else {
            return wrong("no command: call payload() or command()".into());
        };
        if !self.files.contains_key(Path::new(program)) {
            return wrong(format!(
                "the command {} is not one of its files: put it there with file() or dynamic()",
                Path::new(program).display()
            ));
        }
        Ok(())
    }
}
