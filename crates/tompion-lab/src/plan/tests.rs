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

/// What is wrong with a plan, without the names in lists, which grow.
fn mistakes(text: &str) -> String {
    let told = match LabPlan::parse(text) {
        Ok(plan) => panic!("{plan:?}"),
        Err(error) => error.to_string(),
    };
    let short = |line: &str| {
        let begins = ["known are ", "use one of ", "there are host"];
        let Some(at) = begins.iter().find_map(|b| line.find(b)) else {
            return line.to_owned();
        };
        let list = line[at..].split_once(' ').unwrap().1;
        let list = list
            .trim_start_matches("one of ")
            .trim_start_matches("are ");
        let end = list.find(" (").unwrap_or(list.len());
        line.replace(&list[..end], "...")
    };
    told.lines().map(short).collect::<Vec<_>>().join("\n")
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
    let keys: Vec<String> = plan
        .own_keys(1, 0)
        .iter()
        .map(ToString::to_string)
        .collect();
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
    4:18: loads: load 'cqu': unknown name `cqu`; known are ...
    14:9: quota: a text in quotes is wanted, not integer
    19:8: cpus: a whole number from 1 to 255 is wanted
    24:12: methods: unknown wake-up method `usleap`; did you mean `usleep`?
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
        [[probes]]\nkind = \"wake-up\"\nmethods = [\"usleep\"]\ntargets = [\"5s\"]\n\
        time = \"10ms\"\n[[probes]]\nkind = \"stalls\"\n";
    insta::assert_snapshot!(mistakes(text), @r#"
    1:1: an oci platform needs a runtime: a name such as "runc", or a path
    4:8: no kind of platform is called `runc`; there are ... (a runtime such as runc is kind = "oci")
    7:1: a second platform called `host`; give it another name = "..."
    11:9: accel: there are "tcg" (emulation) and "kvm"
    12:1: a platform has no `bios`; it has kind, name, start_within, accel, cpus, memory_mib, kernel, machine, cpu, features, clocksource, pin, icount, disk, scratch_mib, network
    17:8: one pass over this cell takes about 40 s (with target 5s, 40 s for every trial: its warm-up and a few samples), and time is 10ms; name at least time 43s, or fewer or shorter measurements
    "#);
}

#[test]
fn a_host_is_read_and_what_ssh_would_misread_is_refused() {
    let probe = "[[probes]]\nkind = \"stalls\"\n";
    let text = format!(
        "[[platforms]]\nkind = \"ssh\"\nhost = \"me@there\"\nport = 2222\n\
         directory = \"/var/tmp\"\n{probe}"
    );
    let plan = LabPlan::parse(&text).unwrap();
    assert_eq!(plan.platforms[0].level(), "ssh:me@there");
    let settings = plan.platforms[0].settings();
    assert_eq!(settings, ["port 2222", "directory /var/tmp"]);
    let text = format!(
        "[[platforms]]\nkind = \"ssh\"\nname = \"a\"\n[[platforms]]\nkind = \"ssh\"\n\
         host = \"-oProxyCommand=x\"\nport = 0\ndirectory = \"tmp\"\n{probe}"
    );
    insta::assert_snapshot!(mistakes(&text), @r#"
    1:1: an ssh platform needs a host: "user@host", or a name of your ssh configuration
    6:8: host: a text such as "user@host" is wanted, or a name of your ssh configuration
    7:8: port: a whole number from 1 to 65535 is wanted
    8:13: directory: an absolute path without quotes is wanted
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

fn with_placements(text: &str) -> String {
    let rest = "[[platforms]]\nkind = \"host\"\n[[probes]]\nkind = \"stalls\"\n";
    format!("{text}{rest}")
}

#[test]
fn placements_are_read_and_are_part_of_every_cell() {
    let text = with_placements(
        r#"
[[placements]]
name = "one-load-guest"
pinning = "one-cpu"
cpus = "0-1,3"
host_load = "cpu:2"
together = { weight = 1000 }
measure = { weight = 400, quota = "20ms", period = "100ms" }
[[placements.guests]]
role = "load"
load = "cpu:1"
count = 2
weight = 50
[[placements.guests]]
role = "idle"

[[placements]]
scenario = "contention-memory"

[[placements]]
name = "wide"
scenario = "5"
[[placements.guests]]
role = "load"
load = "memory-bus"
"#,
    );
    let plan = LabPlan::parse(&text).unwrap();
    let said: Vec<String> = plan
        .placements
        .iter()
        .map(|p| p.settings().join(", "))
        .collect();
    assert_eq!(
        said,
        [
            "pinning one-cpu, CPUs 0-1,3, together (weight 1000), measure (weight 400, quota \
             20000 us, period 100000 us), 2 x cpu:threads=1 (weight 50), 1 x idle, on the host \
             cpu:threads=2",
            "scenario contention-memory, pinning one-cpu, measure, 1 x memory-bus",
            "scenario all-to-all-cpu, pinning all-on-all, measure, 1 x memory-bus",
        ]
    );
    assert_eq!(plan.placements[0].neighbours(), 3);
    assert_eq!(plan.placements[0].at, Some((2, 1)));
    let names: Vec<String> = plan.cells().into_iter().map(|c| plan.name_of(c)).collect();
    assert_eq!(
        names,
        [
            "host/one-load-guest/idle/stalls",
            "host/contention-memory/idle/stalls",
            "host/wide/idle/stalls"
        ]
    );
    // A plan that names none has one, which is in no name.
    let plan = LabPlan::parse(&with_placements("")).unwrap();
    assert_eq!(plan.placements[0].name, "alone");
    assert!(plan.placements[0].is_plain());
    assert_eq!(plan.name_of(plan.cells()[0]), "host/idle/stalls");
    assert_eq!(plan.placement_level(plan.cells()[0]), None);
}

#[test]
fn several_guests_may_measure() {
    let text = with_placements(
        "[[placements]]\nname = \"three\"\n[[placements.guests]]\nrole = \"measure\"\n\
         count = 2\n[[placements.guests]]\nrole = \"idle\"\n",
    );
    let plan = LabPlan::parse(&text).unwrap();
    let placement = &plan.placements[0];
    assert_eq!((placement.measuring(), placement.neighbours()), (3, 3));
    assert_eq!(
        placement.settings().join(", "),
        "pinning free, measure, 2 x measure, 1 x idle"
    );
    let json = serde_json::to_value(placement).unwrap();
    assert_eq!(json["guests"][0]["role"], "measure");
}

#[test]
fn mistakes_in_placements_have_their_places() {
    let text = with_placements(
        r#"[[placements]]
pinning = "one-cpus"
[[placements]]
scenario = "contention-cpus"
[[placements]]
name = "a"
cpus = "x"
measure = { wait = 3, reservation = "1ms", period = "10ms" }
[[placements.guests]]
role = "measures"
[[placements.guests]]
role = "load"
[[placements.guests]]
role = "idle"
load = "cpu:1"
[[placements.guests]]
load = "cpu:1"
[[placements]]
name = "a"
host_load = "cqu:1"
"#,
    );
    let told = mistakes(&text);
    let lines: Vec<&str> = told.lines().collect();
    for want in [
        "2:11: pinning: there are free, one-to-one, one-cpu, all-on-all",
        "1:1: a placement needs a name, or a scenario that has one",
        "4:12: scenario: no scenario is called `contention-cpus`; did you mean `contention-cpu`?",
        "7:8: cpus: a list of CPUs such as \"0-1,3\" is wanted",
        "a set of scheduler settings has no `wait`",
        "8:37: reservation: no platform of the lab has one; control groups give a weight among \
         guests, and a quota, which is a cap",
        "8:53: period: it says how long a quota is for; give it a quota too",
        "10:8: role: there are \"load\", \"idle\" and \"measure\"",
        "11:1: a guest with the role load needs one: load = \"cpu:1\"",
        "15:8: an idle guest has no load",
        "16:1: a guest needs a role: \"load\", \"idle\" or \"measure\"",
        "18:1: a second placement called `a`; give it another name = \"...\"",
        "20:13: host_load: load 'cqu:threads=1': unknown name",
    ] {
        assert!(
            lines.iter().any(|line| line.contains(want)),
            "{want}\n{told}"
        );
    }
}

/// A plan of one platform with these settings.
fn one(settings: &str) -> String {
    format!("[[platforms]]\n{settings}\n[[probes]]\nkind = \"stalls\"\n")
}

#[test]
fn settings_of_virtual_machines_are_read_and_told() {
    let text = one(
        "kind = \"qemu\"\naccel = \"kvm\"\ncpus = 2\nkernel = \"rt\"\n\
        machine = \"q35,hpet=off\"\nfeatures = { kvm-clock = false, hv-time = true }\n\
        clocksource = \"tsc\"\npin = [\"0\", \"0-1,3\"]\ndisk = \"ahci\"\n\
        scratch_mib = 64\nnetwork = \"tap\"",
    );
    let plan = LabPlan::parse(&text).unwrap();
    let platform = &plan.platforms[0];
    assert_eq!(
        (platform.level(), platform.emulated()),
        ("qemu".to_owned(), None)
    );
    insta::assert_snapshot!(platform.settings().join("; "), @"accelerator kvm; 2 CPUs; 512 MiB; rt kernel; ahci disks; machine q35,hpet=off; with hv-time; without kvm-clock; clocksource tsc; virtual CPUs pinned to 0 / 0-1,3; scratch disk of 64 MiB; network by tap");
    let setup: &dyn std::any::Any = &*platform.setup;
    let qemu: &tompion_platforms::platform::QemuSettings = setup.downcast_ref().unwrap();
    let model = "host,kvmclock=off,hv-time=on";
    assert_eq!(qemu.cpu_model().as_deref(), Some(model));
    assert_eq!(qemu.pin, [vec![0], vec![0, 1, 3]]);

    let text = one("kind = \"qemu\"\nicount = 1\nname = \"counted\"\npin = \"0\"");
    let platform = &LabPlan::parse(&text).unwrap().platforms[0];
    assert_eq!(platform.level(), "counted (emulated, virtual time)");
    assert_eq!(platform.emulated(), Some("QEMU TCG, in virtual time"));
    insta::assert_snapshot!(platform.settings().join("; "), @"accelerator tcg; 1 CPUs; 512 MiB; cloud kernel; virtio disks; virtual CPUs pinned to 0; virtual time of 2^1 ns an instruction");

    let text = one("kind = \"firecracker\"\ncpus = 2\nclocksource = \"kvm-clock\"");
    let platform = &LabPlan::parse(&text).unwrap().platforms[0];
    assert_eq!(
        (platform.level(), platform.emulated()),
        ("firecracker".to_owned(), None)
    );
    insta::assert_snapshot!(platform.settings().join("; "), @"accelerator kvm; 2 CPUs; 512 MiB; cloud kernel; clocksource kvm-clock");
}

#[test]
fn what_virtual_machines_cannot_have_is_told_with_its_place() {
    let mut all = String::new();
    for settings in [
        "kernel = \"realtime\"",
        "features = { kvm-clok = true }",
        "features = { kvm-clock = true, rdtscp = 1 }",
        "features = \"kvm-clock\"",
        "clocksource = \"kvm-clock\"",
        "clocksource = \"hpett\"",
        "cpus = 3\npin = [\"0\", \"1\"]",
        "cpus = 2\nicount = 1\npin = [\"0\", \"1\"]",
        "pin = \"3-1\"",
        "accel = \"kvm\"\nicount = 1",
        "disk = \"ahci\"",
        "disk = \"ide\"\nmachine = \"q35\"",
        "disk = \"sata\"",
        "machine = \"-pc\"\nnetwork = \"tab\"",
    ] {
        all += &mistakes(&one(&format!("kind = \"qemu\"\n{settings}")));
        all += "\n";
    }
    all += &mistakes(&one("kind = \"cloud-hypervisor\"\npin = \"0\"\ncpus = 64"));
    all += "\n";
    all += &mistakes(&one("kind = \"fire-cracker\""));
    insta::assert_snapshot!(all, @r#"
    3:10: kernel: there is no `realtime`; there are cloud, standard, rt
    3:14: a list of features has no `kvm-clok`; did you mean `kvm-clock`?
    3:26: kvm-clock: an emulated processor does not have it; it needs accel = "kvm"
    3:41: rdtscp: true or false is wanted
    3:12: features: write features = { ... }
    3:15: clocksource: an emulated processor does not have it; it needs accel = "kvm"
    3:15: clocksource: there is no `hpett`; did you mean `hpet`?
    4:7: pin: 2 sets of CPUs for 3 virtual CPUs: one for each, or one for all
    5:7: pin: in virtual time all virtual CPUs are one thread: name one set of CPUs
    3:7: pin: `3-1` is no list of CPUs; write "0", "0-1" or "0,2"
    4:10: icount: virtual time needs accel = "tcg"
    3:8: disk: the cloud kernel has no driver for it; use kernel = "standard" or "rt"
    3:8: disk: IDE disks need the machine pc, not q35; there is ahci
    3:8: disk: there is no `sata`; there are virtio, ide, ahci
    3:11: machine: a name of QEMU's is wanted, with its options: "NAME,KEY=VALUE"
    4:11: network: there is no `tab`; did you mean `tap`?
    3:1: a platform has no `pin`; it has kind, name, start_within, program, cpus, memory_mib, kernel, clocksource
    4:8: cpus: a whole number from 1 to 32 is wanted
    2:8: no kind of platform is called `fire-cracker`; did you mean `firecracker`?
    "#);
}

#[test]
fn a_guest_has_no_more_than_all_have_together() {
    let with = |quota: &str| {
        with_placements(&format!(
            "[[placements]]\nname = \"q\"\ntogether = {{ quota = \"50ms\", period = \"100ms\" }}\n\
             measure = {{ quota = \"{quota}\", period = \"20ms\" }}\n"
        ))
    };
    assert!(LabPlan::parse(&with("10ms")).is_ok());
    let told = mistakes(&with("11ms"));
    assert!(
        told.contains("a guest's quota is more of a CPU than `together` has"),
        "{told}"
    );
}

#[test]
fn a_platform_that_is_elsewhere_has_a_name_and_nothing_else() {
    let with = |table: &str| {
        format!(
            "[[platforms]]\nkind = \"host\"\n[[platforms]]\nkind = \"elsewhere\"\n{table}\n\
             [[probes]]\nkind = \"stalls\"\n"
        )
    };
    let plan = LabPlan::parse(&with("name = \"esxi-5.1\"")).unwrap();
    assert_eq!(plan.platforms[1].level(), "esxi-5.1");
    assert!(plan.platforms[1].settings().is_empty());
    let told = mistakes(&with(""));
    assert!(
        told.contains("a platform that is elsewhere needs a name"),
        "{told}"
    );
    let told = mistakes(&with("name = \"x\"\nhost = \"user@x\""));
    assert!(told.contains("has no `host`"), "{told}");
}

#[test]
fn what_lists_names_is_no_name() {
    let text =
        "[[platforms]]\nkind = \"qemu\"\nmachine = \"help\"\n[[probes]]\nkind = \"stalls\"\n";
    let told = mistakes(text);
    assert!(
        told.starts_with("3:11: machine: help lists names"),
        "{told}"
    );
}

#[test]
fn of_mistakes_without_end_the_first_are_told_in_their_places() {
    // In the order of their names, which is not that of their places.
    let keys = |range: std::ops::Range<u32>| -> String {
        range.rev().map(|n| format!("\"é{n:05}\" = 1\n")).collect()
    };
    let error = LabPlan::parse(&keys(0..5000)).unwrap_err();
    let places: Vec<_> = error.mistakes.iter().map(|m| (m.line, m.column)).collect();
    let first: Vec<_> = (1..=98).map(|line| (line, 1)).collect();
    // What is missing has its place at the beginning.
    assert_eq!(places[..2], [(1, 1), (1, 1)]);
    assert_eq!(places[2..], first);
    assert_eq!(error.more, 5002 - 100);
    assert!(error.to_string().ends_with("\n98: and 4902 more mistakes"));
    // Beyond a line's first kilobyte, among letters of several bytes.
    let long = format!("name = \"{}\"\n{GOOD}x = 1", "é".repeat(5000));
    let long =
        long.replace("name = \"a look\"", "") + &format!("\ny = \"{}\"; z", "é".repeat(3000));
    let [last] = &LabPlan::parse(&long).unwrap_err().mistakes[..] else {
        panic!("one mistake");
    };
    assert_eq!((last.line, last.column), (GOOD.lines().count() + 3, 3007));
}

const NETWORKED: &str = r#"
loads = ["idle", "network:peer=far-end:5210"]

[testbed]
rtt = "20ms"
own_rate = "100M"
own_queue = "64K"

[[platforms]]
kind = "oci"
runtime = "runc"
network = "bridge"

[[placements]]
name = "beside"
loads = ["idle"]
host_load = "cpu:1"
[[placements.guests]]
role = "load"
load = "udp:peer=far-end:5210:rate=1M"

[[placements]]
name = "alone"

[[probes]]
kind = "packet-delay"
to = "far-end"
probes = 50
time = "3s"
"#;

#[test]
fn what_goes_to_the_far_end_is_told_its_address_and_keeps_its_name() {
    let plan = LabPlan::parse(NETWORKED).unwrap();
    let bucket = plan.testbed.as_ref().unwrap().bucket().unwrap();
    assert_eq!(
        (bucket.rate_bps, bucket.burst_bytes, bucket.limit_bytes),
        (100_000_000, 3_028, 65_536)
    );
    let there = plan.at([198, 18, 0, 17].into());
    let levels: Vec<_> = there.loads.iter().map(LoadSpec::level).collect();
    assert_eq!(levels, ["idle", "network:peer=198.18.0.17:5210"]);
    let beside: Vec<_> = there.placements[0]
        .loads_beside()
        .map(LoadSpec::level)
        .collect();
    assert_eq!(
        beside,
        ["udp:peer=198.18.0.17:5210:rate=1M", "cpu:threads=1"]
    );
    assert_eq!(
        there.probes[0].selection.values.texts("to"),
        ["198.18.0.17"]
    );
    assert!(!there.probes[0].selection.has_value("far-end"));
    // The first placement has one load, the other both; each cell has a trial of the tap.
    let cells = plan.cells();
    let of = |placement| {
        cells
            .iter()
            .filter(|cell| cell.placement == placement)
            .count()
    };
    assert_eq!((of(0), of(1)), (1, 2));
    let keys: Vec<String> = plan
        .keys(cells[2])
        .iter()
        .map(ToString::to_string)
        .collect();
    let (own, all) = (plan.own_keys(1, 0).len(), keys.len());
    assert_eq!(all, own + 1);
    assert!(
        keys[own].contains("vantage=host") && keys[own].ends_with("network:peer=far-end:5210"),
        "{keys:?}"
    );
}

#[test]
fn each_part_of_a_load_that_goes_to_the_far_end_is_held_against_it() {
    let told = |from: &str, to: &str| {
        let text = NETWORKED.replace(from, to);
        assert_ne!(text, NETWORKED);
        LabPlan::parse(&text)
            .err()
            .map_or(String::new(), |e| e.to_string())
    };
    let load = "\"network:peer=far-end:5210\"";
    let both = "\"network:peer=far-end:5210+udp:peer=far-end:99:rate=1M\"";
    assert!(told(load, both).contains("far-end:99: the far end of a testbed serves loads on"));
    assert!(told(load, "\"iperf3:peer=far-end\"").contains("far-end: the far end of a testbed"));
    // Of another machine nothing is known here.
    assert_eq!(told(load, "\"network:peer=far-end.example:99\""), "");
    let twice = "\"network:peer=far-end:5210+udp:peer=far-end:5210:rate=1M\"";
    let plan = LabPlan::parse(&NETWORKED.replace(load, twice)).unwrap();
    let there = plan.at([198, 18, 0, 17].into()).loads[1].to_string();
    assert_eq!(there.matches("peer=198.18.0.17:5210").count(), 2, "{there}");
}

#[test]
fn more_guests_than_a_testbed_has_room_for_are_refused() {
    let with = |count: usize| {
        let load = "load = \"udp:peer=far-end:5210:rate=1M\"";
        let text = NETWORKED.replace(load, &format!("{load}\ncount = {count}"));
        LabPlan::parse(&text)
            .err()
            .map_or(String::new(), |e| e.to_string())
    };
    assert_eq!(with(10), "");
    let why = with(11);
    assert!(
        why.contains("12 guests in one network, which has room for 11 machines"),
        "{why}"
    );
    // The host's own processes take no room.
    let text = NETWORKED
        .replace(
            "kind = \"oci\"\nruntime = \"runc\"\nnetwork = \"bridge\"",
            "kind = \"host\"\nnetwork = \"host\"",
        )
        .replace("load = \"udp", "count = 11\nload = \"udp");
    assert!(
        LabPlan::parse(&text).is_ok(),
        "{:?}",
        LabPlan::parse(&text).err()
    );
}

/// A load becomes a level of every cell: long ones of a small plan took gigabytes before anything was refused.
#[test]
fn a_load_is_no_longer_than_a_level_of_a_run() {
    let long = "a".repeat(2_000);
    let text = format!(
        "loads = [\"network:peer={long}:1\"]\n[[platforms]]\nkind = \"host\"\n[[probes]]\nkind = \"stalls\"\n"
    );
    let told = mistakes(&text);
    assert!(
        told.contains("a load of 2015 bytes; 1024 at most"),
        "{told}"
    );
}

/// Of a list that is wrong throughout nobody reads more than a hundred mistakes, and the rest of it is not looked at.
#[test]
fn a_list_of_mistakes_is_left_after_a_hundred() {
    let many = vec!["\"io\""; 1_000].join(", ");
    let one = |number| format!("[[placements]]\nname = \"p{number}\"\nloads = [{many}]\n");
    let placements: String = (0..300).map(one).collect();
    let began = std::time::Instant::now();
    let told = mistakes(&with_placements(&placements));
    let took = began.elapsed();
    assert!(
        told.contains("the plan has no load `io`"),
        "{}",
        &told[..200]
    );
    assert!(took.as_secs() < 5, "{took:?}");
}
