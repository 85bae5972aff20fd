//! Tompion's clock in guests where the kernel's clock is slewed or switched, or
//! does not use the counter. `make guest` builds the payload and runs them; they
//! are ignored elsewhere.

use tompion_guest::{Guest, Kit};

/// The answers of the payload `guest_clock` to `arguments`.
struct Answers(String);

impl Answers {
    fn of(cpus: u32, arguments: &[&str]) -> Self {
        let kit = Kit::from_env().unwrap_or_else(|error| panic!("{error}"));
        let program = kit.program("guest_clock").expect("built by make guest");
        let outcome = Guest::new(&kit)
            .cpus(cpus)
            .payload(program, arguments)
            .run()
            .unwrap_or_else(|error| panic!("{error}"));
        let text = outcome.stdout_text().to_string();
        eprintln!(
            "{arguments:?}, {} CPUs, {:.1} s, emulated\n{text}{}",
            cpus,
            outcome.seconds,
            outcome.stderr_text()
        );
        assert_eq!(outcome.status.code(), Some(0));
        Self(text)
    }

    /// As [`Answers::of`] with one CPU; asked again where the guest's kernel itself
    /// lost its trust in the counter, as it does when the host starves it.
    fn with_tsc(arguments: &[&str]) -> Self {
        for _ in 0..3 {
            let answers = Self::of(1, arguments);
            if answers.get("clocksource") == "tsc" {
                return answers;
            }
        }
        panic!("the guest's kernel never kept time by the TSC");
    }

    fn get(&self, key: &str) -> &str {
        self.0
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .unwrap_or_else(|| panic!("no {key}"))
    }

    fn number(&self, key: &str) -> f64 {
        self.get(key).parse().expect(key)
    }
}

#[test]
#[ignore = "boots a guest: make guest"]
fn two_cpus_whose_counters_the_kernel_calls_unsynchronised_are_refused() {
    let answers = Answers::of(2, &["trust"]);
    assert_ne!(answers.get("clocksource"), "tsc");
    for policy in ["auto", "tsc"] {
        assert_eq!(answers.get(policy), "NotListed", "{policy}");
    }
    assert_eq!(answers.get("kernel"), "Requested");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn an_emulated_counter_is_used_by_request_alone() {
    let answers = Answers::with_tsc(&["trust"]);
    assert_eq!(answers.get("auto"), "Emulated");
    assert_eq!(answers.get("tsc"), "counter");
    assert_eq!(answers.get("tsc_against"), "Some(Emulated)");
    assert_eq!(answers.get("kernel"), "Requested");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn the_clock_stays_within_its_bound_while_the_kernel_is_slewed_by_500_ppm() {
    let answers = Answers::with_tsc(&["slew", "500", "3"]);
    assert_eq!(answers.get("source"), "counter");
    for phase in ["plus", "minus", "again"] {
        let of = |what: &str| answers.number(&format!("{phase}_{what}"));
        assert!(of("taken") > 1_000.0);
        // Within the bound, but for what a starved emulator does to a bracket.
        assert!(
            of("beyond") * 1_000.0 <= of("taken"),
            "{phase}: {} of {} beyond {} ns, worst {} ns",
            of("beyond"),
            of("taken"),
            of("bound_ns"),
            of("worst_ns")
        );
    }
    // The slewing was real: 1000 ppm lie between the two rates.
    let ppm = (answers.number("minus_hz") / answers.number("plus_hz") - 1.0) * 1e6;
    assert!((800.0..1_200.0).contains(&ppm), "{ppm}");
    assert!(answers.number("rate_changes") >= 2.0);
}

#[test]
#[ignore = "boots a guest: make guest"]
fn a_clocksource_switched_while_running_is_noticed() {
    let answers = Answers::with_tsc(&["switch", "acpi_pm"]);
    assert_eq!(answers.get("source"), "counter");
    assert_eq!(answers.get("now"), "acpi_pm");
    assert_eq!(answers.get("after"), "ClocksourceSwitched");
    // One interval of 5 ms, and what the emulator takes for reading a file.
    assert!(answers.number("noticed_ns") < 50e6);
    assert_eq!(answers.get("back"), "tsc");
    assert_eq!(answers.get("finally"), "counter");
    assert!(
        answers.number("returned_ns") > 10.0 * 5e6,
        "no proof was asked for"
    );
    assert_eq!(answers.number("backward"), 0.0);
}
