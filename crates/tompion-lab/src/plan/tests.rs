use super::*;

const GOOD: &str = r#"
name = "a look"
replicates = 4
loads = ["idle", "cpu"]
time = "1s"

[[platforms]]
kind = "host"

[[platforms]]
name = "runc-20"
kind = "oci"
runtime = "runc"
quota = "20ms"
period = "100ms"

[[platforms]]
kind = "qemu"
cpus = 2
memory_mib = 1024

[[probes]]
kind = "wake-up"
methods = ["usleep"]
targets = ["100us"]

[[probes]]
kind = "stalls"
time = "2s"
"#;

fn mistakes(text: &str) -> String {
    match LabPlan::parse(text) {
        Ok(plan) => panic!("{plan:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_plan_is_read() {
    let plan = LabPlan::parse(GOOD).unwrap();
    assert_eq!((plan.replicates, plan.cells().len()), (4, 3 * 2 * 2));
    let levels: Vec<_> = plan.platforms.iter().map(PlatformPlan::level).collect();
    assert_eq!(levels, ["host", "runc-20", "qemu (emulated)"]);
    assert_eq!(
        plan.platforms[1].settings(),
        ["quota 20000 us", "period 100000 us"]
    );
    assert_eq!(plan.name_of(plan.cells()[5]), "runc-20/idle/stalls");
    assert_eq!(plan.probes[1].time(), Duration::from_secs(2));
    let keys: Vec<String> = plan.keys(1, 0).iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["wake-up/usleep/100us/timer-slack=default/cpu"]);
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let text = GOOD
        .replace("replicates = 4", "replicats = 4")
        .replace("\"cpu\"]", "\"cqu\"]")
        .replace("quota = \"20ms\"", "quota = 20")
        .replace("cpus = 2", "cpus = 0")
        .replace("[\"usleep\"]", "[\"usleap\"]")
        .replace("kind = \"stalls\"", "kind = \"stals\"");
    insta::assert_snapshot!(mistakes(&text), @r#"
    3:1: a plan has no `replicats`; did you mean `replicates`?
    4:18: loads: load 'cqu': unknown name; known are idle, cpu, io, hd, disk-read, file-server, nfs, memory, memory-bus, network, download, udp, stress-ng, iperf3
    14:9: quota: a text in quotes is wanted, not integer
    19:8: cpus: a whole number from 1 to 255 is wanted
    24:12: methods: `usleap` is no wake-up method; use one of usleep, nanosleep, clock-nanosleep-abs, timerfd, ppoll, std-sleep, busy-wait, tompion-hybrid
    28:8: no probe is called `stals`; did you mean `stalls`?
    "#);
}

#[test]
fn what_is_missing_or_twice_is_told() {
    insta::assert_snapshot!(mistakes(""), @r#"
    1:1: a plan needs at least one [[platforms]]
    1:1: a plan needs at least one [[probes]]
    "#);
    let text = "[[platforms]]\nkind = \"oci\"\n[[platforms]]\nkind = \"runc\"\n\
        [[platforms]]\nkind = \"host\"\n[[platforms]]\nkind = \"host\"\n\
        [[platforms]]\nkind = \"qemu\"\naccel = \"xen\"\nbios = \"x\"\n\
        [[probes]]\nkind = \"stalls\"\ntime = \"10ms\"\n[[probes]]\nkind = \"stalls\"\n";
    insta::assert_snapshot!(mistakes(text), @r#"
    1:1: an oci platform needs a runtime: a name such as "runc", or a path
    4:8: no kind of platform is called `runc`; there are host, oci, qemu (a runtime such as runc is kind = "oci")
    7:1: a second platform called `host`; give it another name = "..."
    11:9: accel: there are "tcg" (emulation) and "kvm"
    12:1: a platform has no `bios`; it has kind, name, accel, cpus, memory_mib, machine, cpu, clocksource
    15:8: one pass over this cell takes about 0.7 s, and time is 10ms; name at least time 1s, or fewer or shorter measurements
    "#);
}

#[test]
fn what_is_no_toml_is_told_in_one_line() {
    insta::assert_snapshot!(mistakes("name = \"x\"\n[[platforms\n"), @r#"2:12: unclosed array table, expected `]]`"#);
    insta::assert_snapshot!(mistakes("platforms = 3\nprobes = [1]\n"), @r#"
    1:13: platforms: write [[platforms]], one for each platform
    2:11: probes: write [[probes]], one for each probe
    "#);
}
