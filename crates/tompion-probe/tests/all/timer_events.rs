//! Timer events against injected causes of known size, in processes of their own:
//! a stop of the whole process, and signals that cut waits short.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tompion_probe::timer_events::{Form, Method, measure};
use tompion_probe::{Limits, MeasuringThread, Outcome, ThreadSettings};

const MS: u64 = 1_000_000;

fn limits(samples: u64, time_ns: u64) -> Limits {
    Limits {
        samples,
        time_ns,
        least_samples: 0,
        patience_ns: 0,
        rows: 4096,
        granularity: false,
        stop: Arc::default(),
    }
}

fn measured(method: Method, form: Form, period_ns: u64, limits: Limits) -> Outcome {
    let thread = MeasuringThread::start().unwrap();
    let body = move || measure(method, form, period_ns, &limits);
    thread.run(ThreadSettings::default(), body).unwrap()
}

fn present() -> impl Iterator<Item = Method> {
    Method::all().filter(|m| match m.available() {
        Ok(()) => true,
        Err(why) => {
            println!("left out: {why}");
            false
        }
    })
}

/// This test program once more, for one test alone.
fn alone(test: &str, variable: &str, value: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--include-ignored", "--nocapture"]);
    command.env(variable, value);
    command
}

const STOPPED: &str = "TOMPION_TEST_STOPPED";

#[test]
#[ignore = "what a_stop_shows_as_missed_periods stops"]
fn stopped_process() {
    let Ok(method) = std::env::var(STOPPED) else {
        return;
    };
    println!("measuring");
    let method = method.parse().unwrap();
    let outcome = measured(method, Form::Grid, MS, limits(400, 30_000 * MS));
    let samples = &outcome.data.samples;
    let points: u64 = samples.iter().map(|s| 1 + u64::from(s.missed)).sum();
    let worst = samples.iter().max_by_key(|s| s.missed).unwrap();
    println!(
        "result {} {points} {} {} {}",
        samples.len(),
        samples.last().unwrap().at_ns / MS,
        worst.missed,
        worst.value_ps / 1000,
    );
}

/// Stops a measuring process for 50 ms. Returns the least and the largest number
/// of milliseconds that the stop can have lasted, and the child's result: rows,
/// points of the grid, milliseconds, and missed periods and lateness in
/// nanoseconds of the worst row.
fn stop_while_measuring(method: Method) -> (f64, f64, [u64; 5]) {
    let mut child = alone("timer_events::stopped_process", STOPPED, method.name())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("measuring") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the child ended");
    }
    std::thread::sleep(Duration::from_millis(150));
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    let signal = |number| {
        // SAFETY: the child is ours and has not been waited for.
        let sent = unsafe { libc::kill(pid, number) };
        assert_eq!(sent, 0);
    };
    let before = Instant::now();
    signal(libc::SIGSTOP);
    let stopped = Instant::now();
    std::thread::sleep(Duration::from_millis(50));
    let least = stopped.elapsed();
    signal(libc::SIGCONT);
    let most = before.elapsed();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    let result = rest.lines().find(|l| l.starts_with("result "));
    let mut numbers = result.expect(&rest).split(' ').skip(1);
    let result = [(); 5].map(|()| numbers.next().unwrap().parse().unwrap());
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    (ms(least), ms(most), result)
}

#[test]
fn a_stop_shows_as_missed_periods() {
    for method in present() {
        let mut seen = Vec::new();
        let found = (0..10).any(|_| {
            let (least, most, result) = stop_while_measuring(method);
            let [rows, points, ended_ms, missed, late_ns] = result;
            // However disturbed: no row and no point is lost.
            assert_eq!(rows, 403, "{method}");
            assert!(ended_ms.abs_diff(points) <= 1, "{method} {result:?}");
            seen.push((least, most, result));
            // The thread stops up to a period before its next event and runs again
            // some time after the signal; other disturbances are tried again.
            let late_ms = late_ns as f64 / 1e6;
            missed == late_ns / MS && (least - 2.0..most + 10.0).contains(&late_ms)
        });
        println!("{method}: {seen:.1?}");
        assert!(found, "{method}: {seen:.1?}");
    }
}

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn signals_make_no_event_early() {
    // SAFETY: a zeroed sigaction has an empty mask and no flags, hence restarts
    // nothing; the handler only counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
        let set = libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        assert_eq!(set, 0);
    }
    for method in present() {
        for form in Form::ALL {
            let before = HANDLED.load(Ordering::Relaxed);
            let done = Arc::new(AtomicBool::new(false));
            let target = Arc::new(AtomicU64::new(0));
            let sender = std::thread::spawn({
                let (done, target) = (Arc::clone(&done), Arc::clone(&target));
                move || {
                    while !done.load(Ordering::Relaxed) {
                        let thread = target.load(Ordering::Relaxed);
                        if thread != 0 {
                            // SAFETY: the thread lives until this one was joined.
                            unsafe { libc::pthread_kill(thread as _, libc::SIGUSR1) };
                        }
                        std::thread::sleep(Duration::from_micros(300));
                    }
                }
            });
            let thread = MeasuringThread::start().unwrap();
            let outcome = thread.run(ThreadSettings::default(), move || {
                // SAFETY: takes nothing.
                target.store(unsafe { libc::pthread_self() } as u64, Ordering::Relaxed);
                measure(method, form, 2 * MS, &limits(50, 30_000 * MS))
            });
            done.store(true, Ordering::Relaxed);
            sender.join().unwrap();
            let samples = outcome.unwrap().data.samples;
            let handled = HANDLED.load(Ordering::Relaxed) - before;
            println!("{method} {form}: {handled} signals");
            // Some 300 are sent; a loaded machine merges many of them.
            assert!(handled >= 20, "{method} {form}: {handled} signals");
            let early = samples.iter().filter(|s| s.value_ps < 0).count();
            assert_eq!((samples.len(), early), (53, 0), "{method} {form}");
        }
    }
}

#[test]
fn nothing_is_left_behind() {
    const ALONE: &str = "TOMPION_TEST_ALONE";
    // In a process of its own: other tests open files too.
    if std::env::var(ALONE).is_err() {
        let mut this = alone("timer_events::nothing_is_left_behind", ALONE, "1");
        let output = this.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        // A name that is no test's would succeed, too.
        assert!(
            output.status.success() && told.contains("1 passed"),
            "{told}"
        );
        return;
    }
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let methods: Vec<_> = present().collect();
    let measure_all = || {
        for &method in &methods {
            for form in Form::ALL {
                // It ends in the midst of its events.
                let l = limits(u64::from(u32::MAX), 20 * MS);
                let outcome = measure(method, form, 3_000, &l).unwrap();
                assert!(outcome.measurement.ended_by_time);
            }
        }
    };
    // The clock of Tompion keeps a descriptor from its first use on.
    measure_all();
    let before = descriptors();
    measure_all();
    assert_eq!(descriptors(), before);
    // POSIX timers; the file is there where the kernel can checkpoint.
    match std::fs::read_to_string("/proc/self/timers") {
        Ok(timers) => assert_eq!(timers, ""),
        Err(e) => println!("/proc/self/timers: {e}; left timers are not looked for"),
    }
}
