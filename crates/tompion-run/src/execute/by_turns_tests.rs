//! Something outside that is switched between halves of blocks, on a planted bench.

use tompion_model::factor;
use tompion_store::Run;

use super::tests::{Planted, writer};
use super::*;
use crate::plan::tests::options;

/// Remembers what it was set to; fails or is interrupted at one place.
#[derive(Default)]
struct Remembering {
    set: Vec<usize>,
    fails_at: Option<usize>,
    interrupted_at: Option<usize>,
    left: u32,
}

impl Switch for Remembering {
    fn notes(&self) -> Vec<String> {
        vec!["switch=a: left; switch=b: right".to_owned()]
    }

    fn set(&mut self, level: usize, stop: &Arc<AtomicBool>) -> Result<(), String> {
        let at = Some(self.set.len());
        self.set.push(level);
        if self.interrupted_at == at {
            stop.store(true, Ordering::Relaxed);
        }
        match self.fails_at == at {
            true => Err("`right` ended with exit status 3".to_owned()),
            false => Ok(()),
        }
    }

    fn leave(&mut self) -> String {
        self.left += 1;
        "It was left to the right.".to_owned()
    }
}

/// Twice as long as usual, for twice as many cells.
fn plan() -> Plan {
    let usual = options();
    let twice = crate::PlanOptions {
        duration: 2 * usual.duration,
        ..usual
    };
    Plan::new(&twice).unwrap().by_turns(["a", "b"]).unwrap()
}

fn run(
    bench: &mut Planted,
    switch: &mut Remembering,
) -> (Result<Status, Error>, Run, tempfile::TempDir, Plan) {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan();
    let mut w = writer(directory.path(), &plan);
    let guides = Guides {
        switch: Some(switch),
        attention: None,
    };
    let result = execute_guided(&plan, bench, &mut w, guides, &Arc::default(), |_| ());
    let read = Run::open(directory.path()).unwrap();
    (result, read, directory, plan)
}

/// What a cell is called without its level.
fn without_level(cell: &str) -> String {
    cell.replace("/switch=a", "").replace("/switch=b", "")
}

#[test]
fn halves_of_blocks_hold_the_same_cells_in_the_same_order() {
    let (mut bench, mut switch) = (Planted::new(), Remembering::default());
    let began = bench.now;
    let (result, run, _directory, plan) = run(&mut bench, &mut switch);
    assert_eq!(result.unwrap(), Status::Complete);
    let planned = (0..plan.blocks).flat_map(|b| plan.halves(b).into_iter().filter_map(|h| h.level));
    assert_eq!(switch.set, planned.collect::<Vec<_>>());
    assert_eq!(switch.left, 1);
    assert_eq!(plan.cells.len(), 28);
    let halves: Vec<&[String]> = bench.measured.chunks(14).collect();
    assert_eq!(halves.len(), switch.set.len());
    for (half, level) in halves.iter().zip(&switch.set) {
        let level = format!("switch={}", ["a", "b"][*level]);
        assert!(half.iter().all(|cell| cell.contains(&level)), "{half:?}");
    }
    let named: Vec<Vec<String>> = halves
        .iter()
        .map(|half| half.iter().map(|cell| without_level(cell)).collect())
        .collect();
    for both in named.chunks(2) {
        assert_eq!(both[0], both[1]);
    }
    assert_ne!(named[0], named[2]);
    // The time asked for is kept as without.
    let took = (bench.now - began).as_secs_f64() / plan.duration.as_secs_f64();
    assert!((0.8..=1.1).contains(&took), "{took}");
    let trials = &run.record().trials;
    assert_eq!(trials.len(), plan.trials());
    assert!(
        trials
            .iter()
            .all(|t| t.factors.get(factor::SWITCH).is_some())
    );
    let notes = run.record().notes.iter();
    let told: Vec<&str> = notes
        .filter(|n| n.kind == note_kind::SWITCH)
        .map(|n| n.text.as_str())
        .collect();
    let expected = [
        "switch=a: left; switch=b: right",
        "It was left to the right.",
    ];
    assert_eq!(told, expected);
    let design = &run.record().header.design;
    assert!(design.order.contains("is drawn for each block"));
    // Whoever has the run has the order, too: by when its trials began.
    let mut trials: Vec<_> = trials.iter().collect();
    trials.sort_by_key(|t| t.started_ns);
    let levels = trials
        .chunks(14)
        .map(|half| half[0].factors.get(factor::SWITCH));
    let levels: Vec<usize> = levels.map(|l| usize::from(l == Some("b"))).collect();
    assert_eq!(levels, switch.set);
}

#[test]
fn which_half_comes_first_is_drawn_for_each_block_alone() {
    let firsts = |seed: u64| -> Vec<usize> {
        let mut plan = plan();
        plan.seed = seed;
        let halves = (0..2000).map(|block| plan.halves(block));
        let levels = halves.map(|of| [of[0].level.unwrap(), of[1].level.unwrap()]);
        let pairs: Vec<[usize; 2]> = levels.collect();
        assert!(pairs.iter().all(|p| p[0] != p[1]));
        pairs.into_iter().map(|p| p[0]).collect()
    };
    assert_eq!(firsts(7), firsts(7));
    let (of_7, of_8) = (firsts(7), firsts(8));
    let same = |a: &[usize], b: &[usize]| a.iter().zip(b).filter(|(a, b)| a == b).count();
    // Half of 2000 each, within five standard deviations: of the second level, of what another seed
    // gives, and of what went one, two and four blocks before.
    let fair = 888..=1112;
    assert!(fair.contains(&of_7.iter().sum::<usize>()));
    assert!(fair.contains(&same(&of_7, &of_8)));
    for lag in [1, 2, 4] {
        let alike = same(&of_7[lag..], &of_7);
        assert!(fair.contains(&alike), "{lag}: {alike}");
    }
}

#[test]
fn a_level_that_cannot_be_set_ends_the_run_and_keeps_what_was_measured() {
    let mut bench = Planted::new();
    let mut switch = Remembering {
        fails_at: Some(3),
        ..Remembering::default()
    };
    let (result, run, _directory, _) = run(&mut bench, &mut switch);
    let told = result.unwrap_err().to_string();
    assert_eq!(
        told,
        "`right` ended with exit status 3, before the half of block 2 with switch=a"
    );
    assert_eq!(run.record().trials.len(), 3 * 14);
    assert_eq!(run.record().status, Status::Interrupted);
    assert_eq!((bench.on, switch.left), (None, 1));
}

#[test]
fn a_signal_while_it_is_set_ends_the_run_in_order() {
    let mut bench = Planted::new();
    let mut switch = Remembering {
        interrupted_at: Some(2),
        ..Remembering::default()
    };
    let (result, run, _directory, _) = run(&mut bench, &mut switch);
    assert_eq!(result.unwrap(), Status::Interrupted);
    assert_eq!(run.record().trials.len(), 2 * 14);
    assert_eq!((bench.on, switch.left), (None, 1));
    let notes = run.record().notes.iter();
    let mut told = notes.filter(|n| n.kind == note_kind::INTERRUPTED);
    assert!(told.next().unwrap().text.contains("switch=b was being set"));
}

#[test]
fn levels_without_anything_that_sets_them_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan();
    let mut w = writer(directory.path(), &plan);
    let refused = execute(&plan, &mut Planted::new(), &mut w, &Arc::default(), |_| ());
    assert!(matches!(refused, Err(Error::Switch(_))), "{refused:?}");
}
