//! The worker process: the hidden side of the executable, which produces the
//! built-in loads and supervises the others.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use tompion_model::Unavailable;

use nix::sys::signal::{Signal, raise};
use nix::unistd::{Pid, getppid};

use crate::affinity::{self, Placement};
use crate::counters::Counters;
use crate::job::{Budget, Gate, Plan};
use crate::protocol::{NO_CPU, SEPARATOR, WORKER_ARG};
use crate::spec::Part;
use crate::{LoadSpec, irq_guard, supervisor, sys};

/// Stack of a load thread, none of which calls deep; a hundred of them should
/// not need a hundred times the usual 2 MiB of address space.
const STACK_BYTES: usize = 128 * 1024;

/// What the parent asks for, in the order of the arguments.
struct Order {
    parent: Pid,
    part: Part,
    budget: Budget,
    /// CPU of the measurement, if it has one of its own.
    measured_cpu: Option<u32>,
}

impl Order {
    fn parse(args: &[String]) -> Option<Self> {
        let [parent, spec, bytes, nanoseconds, measured] = args else {
            return None;
        };
        let spec: LoadSpec = spec.parse().ok()?;
        let [part] = spec.components() else {
            return None;
        };
        Some(Self {
            parent: Pid::from_raw(parent.parse().ok()?),
            part: part.clone(),
            budget: Budget {
                bytes: bytes.parse().ok()?,
                time: Duration::from_nanos(nanoseconds.parse().ok()?),
            },
            measured_cpu: match measured.as_str() {
                NO_CPU => None,
                cpu => Some(cpu.parse().ok()?),
            },
        })
    }
}

/// Runs as the worker; the executable calls this when its first argument is
/// [`WORKER_ARG`], with the arguments after it.
///
/// Not for use by hand: it talks to [`LoadProcess`](crate::LoadProcess) over the
/// standard streams.
pub fn worker_main(args: &[String]) -> ExitCode {
    if let Some((irq_guard::ROLE, args)) = args.split_first().map(|(a, b)| (a.as_str(), b)) {
        return irq_guard::run(args);
    }
    let Some(order) = Order::parse(args) else {
        eprintln!("{WORKER_ARG} is started by this program itself and not meant to be called");
        return ExitCode::FAILURE;
    };
    match run(&order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            complain(&problem.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(order: &Order) -> Result<(), Unavailable> {
    sys::be_ordinary().map_err(Unavailable::refused("could not become an ordinary process"))?;
    // Timer slack is inherited; loads get the kernel's default of 50 us.
    let _ = nix::sys::prctl::set_timerslack(50_000);
    // If memory runs out, the load goes first. Best effort: it is a courtesy.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    if order.part.is_driven() {
        return supervisor::run(&order.part);
    }
    die_with(order.parent)?;
    // Before the plan, which may count the usable CPUs.
    let placement = affinity::settle(order.part.cpus.as_ref(), order.measured_cpu)?;
    let plan = order.part.work.plan(order.budget)?;
    work(plan, &placement)
}

/// Ends this process as soon as its parent ends, also while it is stopped.
fn die_with(parent: Pid) -> Result<(), Unavailable> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(Unavailable::refused("could not tie the load to its parent"))?;
    // The parent may have died before the line above took effect.
    match getppid() == parent {
        true => Ok(()),
        false => Err("its parent is gone".into()),
    }
}

/// Prepares all threads, reports the operation, stops, and works from then on.
fn work(plan: Plan, placement: &Placement) -> Result<(), Unavailable> {
    let threads = plan.jobs.len();
    let counters = Counters::create(io::stdin(), threads)
        .map_err(Unavailable::refused("could not share its counters"))?;
    let gate = Gate::new(threads);
    // A thread that fails must not leave a weaker load behind.
    std::panic::set_hook(Box::new(|panic| fail(&format!("internal error: {panic}"))));
    thread::scope(|scope| {
        for (number, job) in plan.jobs.into_iter().enumerate() {
            let (counters, gate) = (&counters, &gate);
            thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, move || {
                    placement
                        .pin(number, threads)
                        .unwrap_or_else(|e| fail(&format!("could not pin a thread: {e}")));
                    fail(&job(&counters.of_thread(number), gate));
                })
                .unwrap_or_else(|e| {
                    fail(&format!(
                        "could not start thread {} of {threads}: {e}",
                        number + 1
                    ))
                });
        }
        gate.await_ready();
        let lines = [std::slice::from_ref(&plan.operation), &plan.notes].concat();
        announce(&lines.join(SEPARATOR))
            .unwrap_or_else(|e| fail(&format!("could not report: {e}")));
        // From here on the parent switches the load on and off.
        raise(Signal::SIGSTOP).unwrap_or_else(|e| fail(&format!("could not stop itself: {e}")));
        gate.open();
    });
    Ok(())
}

/// One line to the parent.
fn announce(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Ends the whole process with one line for the parent.
fn fail(problem: &str) -> ! {
    complain(problem);
    std::process::exit(1)
}

/// One line to the parent if it is still there (`eprintln` would panic if not).
fn complain(problem: &str) {
    let _ = writeln!(io::stderr(), "{problem}");
}
