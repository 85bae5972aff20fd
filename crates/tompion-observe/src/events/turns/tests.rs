use super::super::names::to_comm;
use super::super::record::Origin;
use super::*;

const ME: i32 = 7;
const HOG: i32 = 5;
const OTHER: i32 = 6;

fn switch(prev: i32, how: OffCpu, next: i32) -> Event {
    let comm = |tid| (tid == HOG).then(|| to_comm("hog"));
    Event::Switch {
        prev,
        prev_comm: comm(prev),
        how,
        next,
        next_comm: comm(next),
    }
}

/// One more that is watched.
const MATE: i32 = 8;

fn queued(cpu: u32) -> Event {
    Event::Queued { tid: ME, cpu }
}

type Told = (u64, Option<u64>, bool, Want, String);

/// Records of CPU 0; from, until, exact, why, by.
fn turns_of(records: &[(u64, Event)]) -> Vec<Told> {
    let mut told = told_of(&[ME], records);
    assert!(told.iter().all(|(tid, _)| *tid == ME));
    told.drain(..).map(|(_, told)| told).collect()
}

fn told_of(watched: &[i32], records: &[(u64, Event)]) -> Vec<(i32, Told)> {
    let mut turns = Turns::new(watched, Names::new(|_| None));
    for &(time_ns, event) in records {
        turns.push(Record {
            time_ns,
            cpu: 0,
            event,
        });
    }
    let by = |t: &Turn| t.by.as_ref().map(ToString::to_string).unwrap_or_default();
    let told = turns.take(true).into_iter();
    told.map(|(tid, t)| (tid, (t.from_ns, t.until_ns, t.exact, t.want, by(&t))))
        .collect()
}

/// What the second of two watched threads that wait behind the hog is told.
fn of_the_second(records: &[(u64, Event)]) -> Vec<Told> {
    let told = told_of(&[ME, MATE], records).into_iter();
    told.filter(|(tid, _)| *tid == MATE).map(|t| t.1).collect()
}

#[test]
fn who_waits_behind_another_that_waits_is_held_up_by_who_held_that_up() {
    let mate = Event::Queued { tid: MATE, cpu: 0 };
    let found = |mate_comes| {
        of_the_second(&[
            (100, queued(0)),
            (200, mate),
            (1000, switch(HOG, OffCpu::Waiting, ME)),
            (mate_comes, switch(ME, OffCpu::Waiting, MATE)),
        ])
    };
    let by = |until, by: &str| [(200, Some(until), true, Want::Queued, by.to_owned())];
    assert_eq!(found(1010), by(1010, "hog[5]"));
    // The other one ran for longer than the hog before it.
    assert_eq!(found(1810), by(1810, "[7]"));
    // By turns, and each has its sum: 400 of the hog against 410.
    let in_turns = of_the_second(&[
        (200, mate),
        (400, switch(HOG, OffCpu::Preempted, ME)),
        (600, switch(ME, OffCpu::Preempted, HOG)),
        (800, switch(HOG, OffCpu::Waiting, ME)),
        (1010, switch(ME, OffCpu::Waiting, MATE)),
    ]);
    assert_eq!(in_turns, by(1010, "[7]"));
}

#[test]
fn of_those_before_who_waited_since_nobody_knows_when_each_has_its_moment() {
    let hog_first = [
        (300, switch(OTHER, OffCpu::Preempted, MATE)),
        (400, switch(MATE, OffCpu::Waiting, ME)),
        (1000, switch(HOG, OffCpu::Waiting, ME)),
        (1010, switch(ME, OffCpu::Waiting, MATE)),
    ];
    let behind = |at, by: &str| (at, Some(at), true, Want::Behind, by.to_owned());
    let first = behind(300, "[6]");
    assert_eq!(
        of_the_second(&hog_first),
        [first.clone(), behind(1010, "[7]"), behind(1000, "hog[5]"),]
    );
    // Its own turn before is none of another, and what a gap may have changed is not known.
    assert_eq!(
        of_the_second(&[hog_first[0], hog_first[1], hog_first[3]]),
        [first.clone(), behind(1010, "[7]")]
    );
    let lost = Event::Lost {
        origin: Origin::Cpu(0),
    };
    assert_eq!(
        of_the_second(&[hog_first[0], hog_first[2], (1005, lost), hog_first[3]]),
        [first, behind(1010, "[7]")]
    );
}

#[test]
fn a_preemption_has_both_its_ends() {
    let found = turns_of(&[
        (100, switch(ME, OffCpu::Preempted, HOG)),
        (400, switch(HOG, OffCpu::Waiting, ME)),
    ]);
    let hog = "hog[5]".to_owned();
    assert_eq!(found, [(100, Some(400), true, Want::Preempted, hog)]);
}

#[test]
fn a_wake_up_behind_another_thread_waits_from_its_queueing() {
    let found = turns_of(&[
        (100, queued(0)),
        (400, switch(HOG, OffCpu::Preempted, ME)),
        // Found idle, so unrecorded, but another one went first.
        (900, switch(OTHER, OffCpu::Waiting, ME)),
    ]);
    let (hog, other) = ("hog[5]".to_owned(), "[6]".to_owned());
    assert_eq!(
        found,
        [
            (100, Some(400), true, Want::Queued, hog),
            (900, Some(900), true, Want::Behind, other),
        ]
    );
}

#[test]
fn a_return_to_an_idle_cpu_leaves_the_end_open() {
    let stopped = (100, switch(ME, OffCpu::Stopped, 0));
    let nobody = String::new;
    let open = (100, None, false, Want::Stopped, nobody());
    assert_eq!(turns_of(&[stopped]), [open]);
    let bounded = (100, Some(900), false, Want::Stopped, nobody());
    let until_900 = |event| assert_eq!(turns_of(&[stopped, (900, event)])[0], bounded);
    until_900(queued(0));
    let lost = Event::Lost {
        origin: Origin::Cpu(0),
    };
    until_900(lost);
    until_900(switch(ME, OffCpu::Preempted, HOG));
}

#[test]
fn a_queue_elsewhere_or_before_a_gap_says_nothing() {
    let came = (400, switch(HOG, OffCpu::Preempted, ME));
    let only_behind = |records: &[(u64, Event)]| {
        let found = turns_of(records);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0, found[0].3), (400, Want::Behind));
    };
    // Woken from CPU 0, put into the queue of CPU 1.
    only_behind(&[(100, queued(1)), came]);
    let lost = Event::Lost {
        origin: Origin::Cpu(0),
    };
    only_behind(&[(100, queued(0)), (200, lost), came]);
}

#[test]
fn others_are_of_no_concern() {
    let found = turns_of(&[
        (100, switch(OTHER, OffCpu::Preempted, HOG)),
        (150, Event::Queued { tid: OTHER, cpu: 0 }),
        (200, switch(HOG, OffCpu::Waiting, OTHER)),
    ]);
    assert_eq!(found, []);
}

#[test]
fn a_fault_is_a_moment_and_shows_that_the_thread_runs() {
    let found = turns_of(&[
        (100, switch(ME, OffCpu::Stopped, 0)),
        (900, Event::Fault { tid: ME }),
        (950, Event::Fault { tid: OTHER }),
    ]);
    let nobody = String::new;
    assert_eq!(
        found,
        [
            (100, Some(900), false, Want::Stopped, nobody()),
            (900, Some(900), true, Want::Fault, nobody()),
        ]
    );
}
