use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::LabPlan;
use tompion_platforms::platform::{Presence, Task};

fn placement(text: &str) -> PlacementPlan {
    let text = format!(
        "[[platforms]]\nkind = \"host\"\n[[probes]]\nkind = \"stalls\"\n\
         [[placements]]\nname = \"x\"\n{text}"
    );
    LabPlan::parse(&text).unwrap().placements.remove(0)
}

const THREE: &str = "[[placements.guests]]\nrole = \"load\"\nload = \"cpu:1\"\ncount = 3\n";

#[test]
fn a_small_part_of_the_cpu_gets_more_time() {
    let of = |text: &str| slowness(&placement(text));
    assert_eq!(of(""), 1.0);
    assert_eq!(of(THREE), 4.0);
    assert_eq!(of(&format!("measure = {{ weight = 300 }}\n{THREE}")), 2.0);
    let quota = "measure = { quota = \"20ms\", period = \"100ms\" }\n";
    assert_eq!(of(quota), 5.0);
    assert_eq!(of(&format!("measure = {{ weight = 1 }}\n{THREE}")), SLOWEST);
}

/// Instances that do what they are told, and what was seen of them.
#[derive(Default)]
struct Planted {
    seen: Mutex<Vec<String>>,
    /// Neighbours end by themselves as soon as they have shown that they work.
    ends: bool,
    /// They never show it.
    silent: bool,
    /// How many guests measure.
    together: AtomicUsize,
    /// How many have ended by themselves.
    gone: AtomicUsize,
}

impl Planted {
    fn saw(&self, what: &str) {
        self.seen.lock().unwrap().push(what.to_owned());
    }
}

impl Platform for Planted {
    fn presence(&self, _program: &Path) -> Presence {
        Presence::Present(Vec::new())
    }

    fn seating(&self) -> Seating {
        Seating::Process
    }

    fn run(&self, task: &Task<'_>) -> Result<Output, TaskError> {
        let ended = |stderr: &str| Output {
            success: false,
            status: "exit status: 1".to_owned(),
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
        };
        if task.arguments[0] == "measure" {
            self.saw("measured");
            // Those that measure at once are there at once.
            let together = self.together.load(Ordering::Relaxed);
            let seen = || {
                self.seen
                    .lock()
                    .unwrap()
                    .iter()
                    .filter(|s| *s == "measured")
                    .count()
            };
            while seen() < together {
                thread::sleep(Duration::from_millis(1));
            }
            while self.ends && self.gone.load(Ordering::Relaxed) < 3 {
                thread::sleep(Duration::from_millis(1));
            }
            // They are about to return.
            thread::sleep(Duration::from_millis(if self.ends { 300 } else { 0 }));
            return Ok(ended("measured"));
        }
        if !self.silent {
            self.saw("works");
            for (cpu, at) in [(5, 10), (1_000_000_005, 2_000_000_010_u64)] {
                let line = format!("tompion-neighbour {{\"cpu_ns\":{cpu},\"at_ns\":{at}}}\n");
                // In two pieces, as a console may give it.
                let (one, two) = line.split_at(20);
                for part in [one, two] {
                    task.telling.unwrap().hear(part.as_bytes());
                }
            }
        }
        if self.ends {
            self.gone.fetch_add(1, Ordering::Relaxed);
            return Ok(ended("tompion: out of memory"));
        }
        while !task.stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        self.saw("ended");
        Err(TaskError::Stopped)
    }
}

fn run(platform: &Planted, limit: Duration, stop: bool) -> Result<Vec<Beside>, TaskError> {
    run_placed(platform, THREE, limit, stop).map(|done| done.beside)
}

fn run_placed(
    platform: &Planted,
    text: &str,
    limit: Duration,
    stop: bool,
) -> Result<Done, TaskError> {
    let out = tempfile::tempdir().unwrap();
    let workspace = Workspace::create_below(&out.path().join("journals"), out.path()).unwrap();
    let scene = PlacementRun {
        placement: &placement(text),
        platform,
        program: Path::new("/no/such"),
        workspace: &workspace,
        stop: &Arc::new(AtomicBool::new(stop)),
        number: 1,
        bed: None,
        at_once: 1,
    };
    let groups = Groups {
        guests: None,
        host: None,
        name: "tompion-lab-test-nothing".to_owned(),
        host_name: String::new(),
    };
    let done = scene.run_in(&groups, &["measure".to_owned()], limit);
    if let Ok(done) = &done {
        assert!(
            done.outputs
                .iter()
                .all(|(_, output)| output.stderr == b"measured")
        );
    }
    done
}

const LONG: Duration = Duration::from_secs(100);

#[test]
fn neighbours_are_there_before_and_until_after() {
    let platform = Planted::default();
    let beside = run(&platform, LONG, false).unwrap();
    let seen = platform.seen.into_inner().unwrap();
    let want = [
        "works", "works", "works", "measured", "ended", "ended", "ended",
    ];
    assert_eq!(seen, want);
    assert_eq!(beside.len(), 3);
    assert_eq!(beside[2].what, "guest 4 (cpu:threads=1)");
}

#[test]
fn several_guests_measure_at_once() {
    let platform = Planted::default();
    platform.together.store(3, Ordering::Relaxed);
    let text = format!("[[placements.guests]]\nrole = \"measure\"\ncount = 2\n{THREE}");
    let done = run_placed(&platform, &text, LONG, false).unwrap();
    assert_eq!((done.outputs.len(), done.beside.len()), (3, 3));
    // Numbers go through all guests.
    let numbers: Vec<usize> = done.outputs.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(done.beside[0].what, "guest 4 (cpu:threads=1)");
}

#[test]
fn one_that_ends_early_fails_the_cell_with_its_reason() {
    let platform = Planted {
        ends: true,
        ..Planted::default()
    };
    let Err(TaskError::Failed(why)) = run(&platform, LONG, false) else {
        panic!("taken");
    };
    let end = "(cpu:threads=1) ended early: out of memory";
    assert!(why.starts_with("guest ") && why.ends_with(end), "{why}");
}

#[test]
fn one_that_never_works_is_not_waited_for_for_ever() {
    let platform = Planted {
        silent: true,
        ..Planted::default()
    };
    let soon = Duration::from_millis(10);
    let why = "guest 2 (cpu:threads=1) gave no sign of its load in time".to_owned();
    assert_eq!(run(&platform, soon, false), Err(TaskError::Failed(why)));
    // A lab that is to stop does not wait for it either.
    assert_eq!(run(&platform, LONG, true), Err(TaskError::Stopped));
    let seen = platform.seen.into_inner().unwrap();
    assert_eq!(seen, ["ended"; 6]);
}

#[test]
fn a_load_that_does_nothing_is_none() {
    let sign = |at_s: u64, cpu_ns, work| Sign {
        at_ns: at_s * 1_000_000_000,
        cpu_ns,
        work,
    };
    let (soon, late) = (Duration::from_secs(3), Duration::from_secs(40));
    let before = sign(1, 500, 7);
    assert_eq!(idle(before, sign(4, 900, 7), soon), None);
    assert_eq!(idle(before, sign(4, 500, 8), soon), None);
    assert_eq!(idle(before, before, soon), None);
    let why = idle(before, sign(4, 500, 7), soon).unwrap();
    assert_eq!(why, "did nothing for 3.0 s");
    let why = idle(before, before, late).unwrap();
    assert_eq!(why, "gave no sign of its load for 40 s");
}
