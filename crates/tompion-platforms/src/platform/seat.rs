//! The place of an instance on this machine: its CPUs and its control group.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tompion_model::Unavailable;
use tompion_time::os;

use rustix::thread::{CpuSet, Pid, sched_setaffinity};

use super::TaskError;
use crate::groups::Scheduling;
use crate::groups::{Group, Hierarchy, Version};

/// How often threads that are to come are looked for.
const LOOK: Duration = Duration::from_millis(10);
/// Name of the thread of all virtual CPUs, where QEMU has one for all (with icount).
const ALL_CPUS: &str = "ALL CPUs/";
/// Joins the group whose entrance is the first argument, and becomes the rest.
const JOIN: &str = "echo 0 > \"$1\" && shift && exec \"$@\"";

/// How a platform takes seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seating {
    /// Its instances are not processes of this machine, or cannot be placed.
    Nowhere,
    /// The platform's own keys say where its instances run.
    Own,
    /// Its instances are processes; those that share no CPU need no control group.
    Process,
    /// Its instances always have a control group.
    Group,
}

/// The place of one instance.
#[derive(Clone, Debug)]
pub struct Seat {
    /// CPUs where it may run; any where empty.
    pub cpus: Vec<u32>,
    /// Whether each of its own CPUs has one of them to itself.
    pub one_each: bool,
    /// What it has.
    pub scheduling: Scheduling,
    /// The group of all guests, in which it gets one of its own.
    pub parent: Option<(Hierarchy, Group)>,
    /// Name of that.
    pub name: String,
}

impl Seat {
    /// Path of its group below the root of every hierarchy, for a runtime that makes it,
    /// and whether the controller is that of version 2.
    pub(super) fn path(&self) -> Option<(PathBuf, bool)> {
        let (hierarchy, parent) = self.parent.as_ref()?;
        let path = parent.name_below(hierarchy).join(&self.name);
        Some((path, hierarchy.version() == Version::V2))
    }

    /// A command that begins in this seat. The calling thread is bound to its CPUs, so
    /// that what it starts is too.
    pub(super) fn command(&self, program: &std::path::Path) -> Result<Command, TaskError> {
        bind(None, &self.cpus)?;
        let Some((_, parent)) = &self.parent else {
            return Ok(Command::new(program));
        };
        let group = parent.child(&self.name, &self.scheduling, false);
        let mut command = Command::new("sh");
        command.args(joining(&group?).skip(1));
        command.arg(program);
        Ok(command)
    }

    /// Groups for a program with a thread for each virtual CPU: these threads in one
    /// that has what the seat has, on its CPUs; all others in a second one, off these
    /// CPUs where there are more. So does libvirt (`vcpuN`, `emulator`).
    pub(super) fn for_threads(&self) -> Result<Threads<'_>, TaskError> {
        let (_, parent) = self.parent.as_ref().expect("platforms with Seating::Group");
        let groups = || -> Result<(Group, Group), Unavailable> {
            let rest =
                parent.child(&format!("{}-rest", self.name), &Scheduling::default(), true)?;
            Ok((parent.child(&self.name, &self.scheduling, true)?, rest))
        };
        let (own, rest) = groups()?;
        let others: Vec<u32> = tompion_host::usable_cpus()
            .into_iter()
            .filter(|cpu| !self.cpus.contains(cpu))
            .collect();
        if !self.cpus.is_empty() {
            // A guest's devices must not take the CPU that guests are compared on.
            bind(None, &others)?;
        }
        Ok(Threads {
            seat: self,
            own,
            rest,
        })
    }
}

/// The groups of a program with a thread for each virtual CPU.
pub(super) struct Threads<'a> {
    seat: &'a Seat,
    own: Group,
    rest: Group,
}

impl Threads<'_> {
    /// What to put before the program's command line.
    pub fn launcher(&self) -> impl Iterator<Item = String> {
        joining(&self.rest)
    }

    /// Waits for `count` threads called `CPU 0/...` and so on, as QEMU calls those of
    /// its CPUs, and puts them where they belong; gives up once `over` is set.
    ///
    /// # Errors
    /// In one line.
    pub fn place(&self, count: usize, over: &AtomicBool) -> Result<(), Unavailable> {
        let mut placed = 0;
        while placed < count {
            if over.load(Ordering::Relaxed) {
                return Err("its virtual CPUs were not found among QEMU's threads".into());
            }
            for thread in self.rest.threads() {
                let name = fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
                if name.starts_with(ALL_CPUS) {
                    self.place_one(thread, 0)?;
                    placed = count;
                } else if let Some(number) = virtual_cpu(&name) {
                    self.place_one(thread, number)?;
                    placed += 1;
                }
            }
            os::sleep(LOOK);
        }
        Ok(())
    }

    fn place_one(&self, thread: i32, number: usize) -> Result<(), Unavailable> {
        let cpus = &self.seat.cpus;
        let own = [cpus.get(number % cpus.len().max(1)).copied().unwrap_or(0)];
        let cpus = if self.seat.one_each && !cpus.is_empty() {
            &own[..]
        } else {
            cpus
        };
        bind(Pid::from_raw(thread), cpus)?;
        self.own.take_thread(thread)
    }
}

/// Number of the virtual CPU whose thread has this name.
fn virtual_cpu(name: &str) -> Option<usize> {
    let (number, _) = name.strip_prefix("CPU ")?.split_once('/')?;
    number.parse().ok()
}

fn joining(group: &Group) -> impl Iterator<Item = String> + use<> {
    let entrance = group.entrance().display().to_string();
    ["sh", "-c", JOIN, "sh"]
        .map(str::to_owned)
        .into_iter()
        .chain([entrance])
}

/// Binds a thread, the calling one where none is named, to CPUs, if any are named.
fn bind(thread: Option<Pid>, cpus: &[u32]) -> Result<(), Unavailable> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu as usize));
    let list = tompion_host::cpu_list(cpus);
    sched_setaffinity(thread, &set)
        .map_err(|e| Unavailable::refused(format!("cannot run on CPU {list}"))(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_virtual_cpus_are_known_by_their_names() {
        assert_eq!(virtual_cpu("CPU 0/TCG\n"), Some(0));
        assert_eq!(virtual_cpu("CPU 12/KVM\n"), Some(12));
        assert_eq!(virtual_cpu("qemu-system-x86\n"), None);
        assert_eq!(virtual_cpu("CPU x/KVM\n"), None);
    }
}
