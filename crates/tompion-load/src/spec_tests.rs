//! Tests of the text that names a load.

use super::*;

fn spec(text: &str) -> LoadSpec {
    text.parse().unwrap()
}

fn problem(text: &str) -> String {
    let message = text.parse::<LoadSpec>().unwrap_err().to_string();
    assert!(!message.contains('\n'), "one line: {message}");
    assert!(
        message.contains(&format!("'{text}'")),
        "names it: {message}"
    );
    message
}

#[test]
fn canonical_text_and_level() {
    for (given, canonical, level) in [
        ("idle", "idle", "idle"),
        ("cpu", "cpu:threads=100", "cpu"),
        ("cpu:threads=100", "cpu:threads=100", "cpu"),
        ("cpu:threads=08", "cpu:threads=8", "cpu:threads=8"),
        ("io", "io", "io"),
        ("hd", "hd", "hd"),
        ("memory", "memory", "memory"),
        ("memory:size=2048k", "memory:size=2M", "memory:size=2M"),
        (
            "memory:size=4097:threads=2",
            "memory:threads=2:size=4097",
            "memory:threads=2:size=4097",
        ),
        ("memory-bus", "memory-bus", "memory-bus"),
        ("network", "network", "network"),
        (
            "network:peer=host-1.example:7000",
            "network:peer=host-1.example:7000",
            "network:peer=host-1.example:7000",
        ),
        (
            "network:peer=[::1]:7000",
            "network:peer=[::1]:7000",
            "network:peer=[::1]:7000",
        ),
        (
            "stress-ng:cpu=4:vm-bytes=10%:aggressive",
            "stress-ng:cpu=4:vm-bytes=10%:aggressive",
            "stress-ng:cpu=4:vm-bytes=10%:aggressive",
        ),
        ("iperf3", "iperf3", "iperf3"),
        (
            "iperf3:peer=10.0.0.2",
            "iperf3:peer=10.0.0.2",
            "iperf3:peer=10.0.0.2",
        ),
        (
            "iperf3:peer=10.0.0.2:5202",
            "iperf3:peer=10.0.0.2:5202",
            "iperf3:peer=10.0.0.2:5202",
        ),
    ] {
        let parsed = spec(given);
        assert_eq!(parsed.to_string(), canonical);
        assert_eq!(parsed.level(), level);
        assert_eq!(spec(canonical), parsed);
        assert_eq!(spec(level), parsed);
    }
}

#[test]
fn only_idle_is_idle() {
    assert!(spec("idle").is_idle());
    for (name, _) in NAMES
        .iter()
        .filter(|(name, _)| !["idle", "stress-ng"].contains(name))
    {
        assert!(!spec(name).is_idle(), "{name}");
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    for text in ["", "disk", "CPU", " cpu", "cpu "] {
        let message = problem(text);
        for (name, _) in NAMES {
            assert!(message.contains(name), "{message} lists {name}");
        }
    }
}

#[test]
fn options_out_of_range_say_what_would_be_right() {
    for text in [
        "cpu:threads=0",
        "cpu:threads=-1",
        "cpu:threads=4097",
        "memory:threads=many",
    ] {
        assert!(problem(text).contains("from 1 to 4096"));
    }
    for text in [
        "memory:size=0",
        "memory:size=4095",
        "memory:size=1.5G",
        "memory:size=M",
        "memory:size=20000000000G",
        "memory:size=18446744073709551615",
        "memory:size=10T",
    ] {
        assert!(problem(text).contains("64M"), "{text}");
    }
    for text in [
        "network:peer=host:0",
        "network:peer=host:65536",
        "iperf3:peer=host:",
    ] {
        assert!(problem(text).contains("from 1 to 65535"), "{text}");
    }
}

#[test]
fn unknown_misplaced_and_doubled_options_are_refused() {
    for (text, hint) in [
        ("cpu:", "threads=..."),
        ("cpu:8", "threads=..."),
        ("cpu:threads", "threads=..."),
        ("cpu:threads=", "threads=..."),
        ("cpu:size=1M", "threads=..."),
        ("memory:thread=1", "threads=... or size=..."),
        ("cpu:threads=1:threads=2", "threads is given twice"),
        ("idle:threads=1", "takes no options"),
        ("io:", "takes no options"),
        ("memory-bus:threads=2", "takes no options"),
        ("network:10.0.0.1:5000", "peer=HOST:PORT"),
        ("network:peer=10.0.0.1", "peer=HOST:PORT"),
        ("network:peer=::1", "peer=HOST:PORT"),
        ("network:peer=:5000", "peer=HOST:PORT"),
        ("iperf3:peer=-f", "peer=HOST"),
        ("iperf3:peer=a b", "peer=HOST"),
    ] {
        assert!(problem(text).contains(hint), "{}", problem(text));
    }
}

#[test]
fn stress_ng_options_are_made_of_safe_characters() {
    for text in [
        "stress-ng",
        "stress-ng:",
        "stress-ng:--cpu=4",
        "stress-ng:cpu=4:",
        "stress-ng:cpu=",
        "stress-ng:cpu=-1",
        "stress-ng:temp-path=/etc",
        "stress-ng:cpu=4;reboot",
        "stress-ng:cpu=$HOME",
        "stress-ng:Cpu=1",
        "stress-ng:cpu=4 --vm=1",
    ] {
        assert!(
            problem(text).contains("stress-ng:cpu=4"),
            "{}",
            problem(text)
        );
    }
    assert!(problem("stress-ng:hdd=1").contains("use the load hd"));
    assert!(problem("stress-ng:cpu=1:timeout=5").contains("not allowed"));
}
