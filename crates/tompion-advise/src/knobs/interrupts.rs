//! Moving device interrupts away from a CPU.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tompion_host::Root;

use super::Remedy;
use crate::{Change, Knob, Reach, Ready, State, Surroundings, UndoStep, cpus, interrupts};

pub(super) static ENTRY: Remedy = Remedy {
    knobs: |_| vec![Box::new(MoveInterrupts)],
    writes: &["/proc/irq/*/smp_affinity_list"],
};

/// Where the kernel says to which of the CPUs that it may go to an interrupt goes.
pub(super) fn seen_in(list: &Path) -> PathBuf {
    list.with_file_name("effective_affinity_list")
}

struct MoveInterrupts;

impl Knob for MoveInterrupts {
    fn name(&self) -> String {
        "interrupts".to_owned()
    }

    fn title(&self) -> String {
        "device interrupts moved away from the CPU that takes most of them".to_owned()
    }

    fn reach(&self) -> Reach {
        Reach::System
    }

    fn state(&self, here: &Surroundings) -> State {
        if !here.root.has("/proc/irq") {
            return State::Absent("the kernel shows no interrupts".to_owned());
        }
        let online = here.root.text("/sys/devices/system/cpu/online");
        let online = online.and_then(|list| cpus::parse(&list));
        let online = online.unwrap_or_else(|| here.cpus.iter().copied().collect());
        if online.len() < 2 {
            return State::Absent("there is no other CPU to take them".to_owned());
        }
        let Some(cpu) = interrupts::busiest(&here.root, &here.cpus) else {
            return State::Absent("the system does not tell its CPUs".to_owned());
        };
        let files = changes(&here.root, cpu, &online);
        if files.is_empty() {
            return State::Already(format!("no device sends interrupts to CPU {cpu}"));
        }
        // A thread that stays there feels what moving them does.
        let setup = here.setup_on(Some(cpu));
        let others = {
            let mut others = online;
            others.remove(&cpu);
            cpus::format(&others)
        };
        let mut apply = commands(&files);
        apply.push(format!(
            "taskset --cpu-list {cpu} COMMAND, which has that CPU for itself then"
        ));
        State::ready(Ready {
            from: format!("{} on CPU {cpu}", count(files.len())),
            to: format!("CPU {others}"),
            off: setup.clone(),
            on: setup,
            files,
            apply,
            ..Ready::default()
        })
    }

    fn price(&self) -> &'static str {
        "the other CPUs take them, and disk and network may be slower for it; those that the \
         kernel manages itself stay, and irqbalance moves the others again unless it is told not to"
    }

    fn source(&self) -> &'static str {
        "Adamczyk 2015, section Influence of other interrupts; Linux \
         Documentation/core-api/irq/irq-affinity.rst"
    }
}

fn count(interrupts: usize) -> String {
    match interrupts {
        1 => "1 interrupt".to_owned(),
        n => format!("{n} interrupts"),
    }
}

/// One command for all interrupts that go to the same CPUs.
fn commands(files: &[Change]) -> Vec<String> {
    let mut by_target: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for change in files {
        let directory = change.path.parent().and_then(Path::file_name);
        let number = directory.and_then(OsStr::to_str).unwrap_or_default();
        by_target.entry(&change.new).or_default().push(number);
    }
    let command = |(target, numbers): (&str, Vec<&str>)| {
        let numbers = numbers.join(" ");
        format!("for i in {numbers}; do echo {target} > /proc/irq/$i/smp_affinity_list; done")
    };
    by_target.into_iter().map(command).collect()
}

/// Interrupts that arrive at `cpu`, with their other CPUs instead.
fn changes(root: &Root, cpu: u32, online: &BTreeSet<u32>) -> Vec<Change> {
    let counts = interrupts::counts(root);
    root.numbered("/proc/irq", "")
        .into_iter()
        .filter_map(|directory| {
            let number: u32 = directory.file_name()?.to_str()?.parse().ok()?;
            // Those that never came disturb nobody.
            counts.get(&number)?.get(&cpu).filter(|n| **n > 0)?;
            change(root, &directory, cpu, online)
        })
        .collect()
}

fn change(root: &Root, directory: &Path, cpu: u32, online: &BTreeSet<u32>) -> Option<Change> {
    let path = directory.join("smp_affinity_list");
    let old = root.text(&path)?;
    let allowed = cpus::parse(&old)?;
    // Of all that are allowed the kernel chooses one; absent on old kernels.
    let seen_in = seen_in(&path);
    let effective = root.text(&seen_in);
    let arrives = effective.as_deref().and_then(cpus::parse);
    if !arrives.unwrap_or_else(|| allowed.clone()).contains(&cpu) {
        return None;
    }
    let mut elsewhere: BTreeSet<u32> = allowed.intersection(online).copied().collect();
    elsewhere.remove(&cpu);
    if elsewhere.is_empty() {
        elsewhere = online.clone();
        elsewhere.remove(&cpu);
    }
    Some(Change {
        back: effective.map(|value| UndoStep {
            value,
            seen_in,
            begun: false,
        }),
        ..Change::new(path, old, cpus::format(&elsewhere))
    })
}
