//! `tompion advise` where it changes a real machine: guests that may be spoiled
//! (`make guest`; ignored elsewhere).

use std::time::Duration;

use crate::common::{Step, Steps, kit, scripted};
use serde_json::Value;
use tompion_guest::Guest;

/// Emulated guests on a busy host are slow and lose their trust in the TSC.
const TRIES: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(300);

/// What scripts use: values of the machine as a step, and a run that is killed while
/// the kernel keeps time by the TSC for its sake.
const TOOLS: &str = r#"
record=/run/tompion/advise.json
state() {
    echo "==> $1"
    read -r current <$sources/current_clocksource
    echo "current=$current"
    if [ -e $record ]; then echo "record=yes"; else echo "record=no"; fi
    for list in /proc/irq/*/smp_affinity_list; do
        read -r cpus <$list
        echo "$list=$cpus"
    done
    echo "<== $?"
}
killed() {
    tompion advise --system --only clocksource=tsc --duration 200s --quiet >/victim 2>&1 &
    victim=$!
    tries=0
    while [ $tries -lt 500 ]; do
        if [ -e $record ]; then
            kill -STOP $victim
            sleep 0.1
            read -r current <$sources/current_clocksource
            [ -e $record ] && [ "$current" = tsc ] && break
            kill -CONT $victim
        fi
        kill -0 $victim || break
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -KILL $victim
    wait $victim
    echo "==> victim-$1"
    while read -r line; do echo "$line"; done </victim
    echo "<== 0"
}
"#;

fn guest(script: &str) -> Guest {
    let kit = kit();
    let tompion = kit.program("tompion").expect("built by make guest");
    scripted(&kit, &[], &format!("{TOOLS}{script}"))
        .file("/bin/tompion", tompion)
        .timeout(TIMEOUT)
}

fn advice(step: &Step) -> Value {
    let text = &step.text;
    let json = text.find('{').map(|at| &text[at..]);
    serde_json::from_str(json.unwrap_or_default()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn knob<'a>(advice: &'a Value, name: &str) -> &'a Value {
    let knobs = advice["knobs"].as_array().expect("knobs");
    let knob = knobs.iter().find(|k| k["name"] == name);
    knob.unwrap_or_else(|| panic!("no {name} in {advice}"))
}

/// The first guest whose kernel could choose between hpet and the TSC throughout.
fn on_hpet(script: &str) -> Steps {
    let guest = guest(script).kernel_args(["clocksource=hpet"]);
    let mut tries = (0..TRIES).map(|_| Steps::of(&guest, "advise on hpet"));
    let steps = tries.find(|steps| steps.kept("hpet"));
    steps.expect("hpet with a trusted TSC was kept")
}

#[test]
#[ignore = "boots a guest: make guest"]
fn a_quicker_clocksource_is_found_and_the_old_one_put_back() {
    let steps = on_hpet(
        "state first\n\
         run tried tompion advise --system --only clocksource,governor,cpu-dma-latency \
         --duration 25s --seed 5 --json\n\
         state then\n\
         tompion advise --system --only clocksource=tsc --duration 200s --json >/said 2>&1 &\n\
         sleep 4\n\
         run signalled kill -TERM $!\n\
         wait $!\n\
         run ended echo status=$?\n\
         state last\n",
    );
    let advice = advice(steps.well("tried"));
    // Reading hpet leaves the guest; reading the TSC does not.
    let tsc = knob(&advice, "clocksource=tsc");
    assert_eq!(tsc["status"], "helps", "{tsc}");
    assert!(
        tsc["effects"][0]["change_ns"].as_f64().expect("a number") < -200.0,
        "{tsc}"
    );
    assert!(tsc["pairs"].as_u64() > Some(7), "{tsc}");
    assert_eq!(knob(&advice, "governor")["status"], "absent");
    let held = knob(&advice, "cpu-dma-latency");
    assert!(held["pairs"].as_u64() > Some(7), "{held}");
    for step in ["first", "then", "last"] {
        let state = steps.well(step);
        assert_eq!(
            (state.get("current"), state.get("record")),
            ("hpet", "no"),
            "{step}"
        );
    }
    assert_eq!(steps.well("ended").get("status"), "130");
}

#[test]
#[ignore = "boots a guest: make guest"]
fn what_a_killed_run_left_is_put_back_unless_someone_else_has_changed_it() {
    let steps = on_hpet(
        "killed one\n\
         state state-killed\n\
         run refused tompion advise --only timer-slack --duration 2s\n\
         run mentioned tompion advise --only timer-slack --dry-run\n\
         state state-still\n\
         run restored tompion advise --restore\n\
         state state-restored\n\
         run nothing tompion advise --restore\n\
         killed two\n\
         echo acpi_pm >$sources/current_clocksource\n\
         run foreign tompion advise --restore\n\
         state state-foreign\n\
         echo hpet >$sources/current_clocksource\n\
         killed three\n\
         while read -r line; do\n\
             case $line in *boot_id*) echo '\"boot_id\": \"another\",' ;; *) echo \"$line\" ;; esac\n\
         done <$record >/record\n\
         while read -r line; do echo \"$line\"; done </record >$record\n\
         run rebooted tompion advise --only timer-slack --duration 2s --quiet\n\
         state state-rebooted\n\
         echo hpet >$sources/current_clocksource\n",
    );
    for step in ["state-killed", "state-still"] {
        let state = steps.well(step);
        assert_eq!(
            (state.get("current"), state.get("record")),
            ("tsc", "yes"),
            "{step}"
        );
    }
    let refused = steps.step("refused");
    assert_eq!(refused.status, 1);
    for part in ["`clocksource=tsc`", "1 setting", "--restore"] {
        assert!(refused.text.contains(part), "{}", refused.text);
    }
    assert_eq!(refused.text.lines().count(), 1, "{}", refused.text);
    assert!(steps.well("mentioned").text.contains("--restore"));
    assert!(steps.well("restored").text.contains("is `hpet` again"));
    let state = steps.well("state-restored");
    assert_eq!((state.get("current"), state.get("record")), ("hpet", "no"));
    assert!(steps.well("nothing").text.contains("nothing to put back"));
    let foreign = &steps.well("foreign").text;
    assert!(
        foreign.starts_with("left alone: ") && foreign.contains("`acpi_pm`"),
        "{foreign}"
    );
    let state = steps.well("state-foreign");
    assert_eq!(
        (state.get("current"), state.get("record")),
        ("acpi_pm", "no")
    );
    let rebooted = &steps.well("rebooted").text;
    assert!(
        rebooted.contains("another boot") && rebooted.lines().count() == 1,
        "{rebooted}"
    );
    let state = steps.well("state-rebooted");
    assert_eq!((state.get("current"), state.get("record")), ("tsc", "no"));
}

#[test]
#[ignore = "boots a guest: make guest"]
fn interrupts_are_moved_and_come_back() {
    let steps = Steps::of(
        &guest(
            "state before-moving\n\
             run tried tompion advise --system --only interrupts,halt-poll,leave-cgroup \
             --duration 5s --json\n\
             state after-moving\n",
        )
        .cpus(2),
        "advise on two CPUs",
    );
    let advice = advice(steps.well("tried"));
    let interrupts = knob(&advice, "interrupts");
    assert!(interrupts["pairs"].as_u64() > Some(0), "{interrupts}");
    assert!(
        !interrupts["files"].as_array().expect("files").is_empty(),
        "{interrupts}"
    );
    assert_eq!(knob(&advice, "leave-cgroup")["status"], "absent");
    let (before, after) = (steps.well("before-moving"), steps.well("after-moving"));
    let lists = |step: &Step| -> Vec<String> {
        let lists = step.text.lines().filter(|l| l.starts_with("/proc/irq/"));
        lists.map(str::to_owned).collect()
    };
    assert!(!lists(before).is_empty());
    assert_eq!(lists(before), lists(after));
    assert_eq!(after.get("record"), "no");
}
