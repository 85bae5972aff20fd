//! Sessions without a command line, as a collector has them, on a planted machine.

use std::fs;

use tompion_store::{Run, UserRuns};

use super::*;
use crate::execute::tests::Planted;
use crate::plan::tests::options;

fn settings(plan: &Plan, directory: &Path) -> SessionSettings<'static> {
    SessionSettings {
        destination: Destination::Named(directory.to_path_buf()),
        header: header(
            plan.design(),
            "a collector",
            Vec::new(),
            Environment::default(),
        ),
        loads: &[],
        load_directory: None,
        load_time: plan.duration,
        settle: SETTLE,
        cpu: None,
    }
}

#[test]
fn whoever_measures_needs_a_plan_and_a_session() {
    let place = tempfile::tempdir().unwrap();
    let plan = Plan::new(&options()).unwrap();
    // Again and again, each time into a run of its own.
    for number in 0..2 {
        let directory = place.path().join(format!("run-{number}"));
        let begin = settings(&plan, &directory);
        let mut session = Session::begin(&begin, |_, _| Ok(Planted::new())).unwrap();
        let stop = Arc::default();
        let status = session.execute(&plan, &stop, |_| ()).unwrap();
        assert_eq!(status, Status::Complete);
        let run = Run::open_in(&session.end_or_take_back().unwrap()).unwrap();
        assert_eq!(run.directory().path(), directory);
        assert_eq!(run.record().header.tool, "a collector");
        assert!(!run.record().trials.is_empty());
    }
}

#[test]
fn a_run_in_which_nothing_was_measured_is_taken_back() {
    let place = tempfile::tempdir().unwrap();
    let plan = Plan::new(&options()).unwrap();
    let (new, old) = (place.path().join("new"), place.path().join("old"));
    fs::create_dir(&old).unwrap();
    for directory in [&new, &old] {
        let begin = settings(&plan, directory);
        let failing = |_: &[LoadSpec], _: &MachineSettings| {
            let mut machine = Planted::new();
            machine.fail_after = Some(0);
            Ok(machine)
        };
        let mut session = Session::begin(&begin, failing).unwrap();
        assert!(directory.join("run.json").exists());
        let failed = session.execute(&plan, &Arc::default(), |_| ());
        assert!(matches!(failed, Err(Error::Probe { .. })), "{failed:?}");
        assert!(session.end_or_take_back().is_none());
        let none: Result<Session<Planted>, _> =
            Session::begin(&begin, |_, _| Err(Error::Plan("no machine".to_owned())));
        assert!(none.is_err());
    }
    // What was there before stays, and nothing else.
    assert!(!new.exists());
    assert_eq!(fs::read_dir(&old).unwrap().count(), 0);
}

#[test]
fn what_the_machine_does_not_have_is_refused_before_anything_is_written() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("run");
    let destination = Destination::Named(directory.clone());
    let plan = |cpu| {
        let options = crate::PlanOptions { cpu, ..options() };
        Plan::new(&options).unwrap()
    };
    let wrong = require(&plan(Some(4095)), &[], 1, &destination, None).unwrap_err();
    assert!(
        matches!(wrong, Error::Cpus { several: false, .. }),
        "{wrong}"
    );
    let wrong = require(&plan(None), &[], u64::MAX, &destination, None).unwrap_err();
    assert!(
        matches!(&wrong, Error::Space(short) if short.purpose == crate::Purpose::Run),
        "{wrong}"
    );
    require(&plan(None), &[], 1, &destination, None).unwrap();
    assert!(!directory.exists());
}

#[test]
fn a_free_destination_is_named_after_the_second_and_the_first_that_is_free() {
    let place = tempfile::tempdir().unwrap();
    let runs = UserRuns::at(place.path().join("runs"));
    let destination = Destination::Free(runs.clone());
    runs.make().unwrap();
    let first = destination.free();
    std::fs::create_dir(&first).unwrap();
    assert_ne!(destination.free(), first);
    assert_eq!(runs.recent(1).unwrap(), first);
    let named = Destination::Named(PathBuf::from("here"));
    assert_eq!(named.free(), Path::new("here"));
}
