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
        ("cpu:level=25", "cpu:level=25:period=10ms", "cpu:level=25"),
        (
            "cpu:cpus=3,0-1,2:period=500us:level=25%:threads=2",
            "cpu:threads=2:level=25:period=500us:cpus=0-3",
            "cpu:threads=2:level=25:period=500us:cpus=0-3",
        ),
        (
            "cpu:level=5:threads=100:cpus=others",
            "cpu:threads=100:level=5:period=10ms:cpus=others",
            "cpu:threads=100:level=5:cpus=others",
        ),
        ("io", "io", "io"),
        ("io:cpus=7,1", "io:cpus=1,7", "io:cpus=1,7"),
        ("disk-read", "disk-read:size=16M", "disk-read"),
        (
            "disk-read:irq=measured:size=1M",
            "disk-read:size=1M:irq=measured",
            "disk-read:size=1M:irq=measured",
        ),
        (
            "disk-read:irq=3",
            "disk-read:size=16M:irq=3",
            "disk-read:irq=3",
        ),
        ("file-server", "file-server", "file-server"),
        ("nfs:dir=/mnt/nfs", "nfs:dir=/mnt/nfs", "nfs:dir=/mnt/nfs"),
        ("udp", "udp:rate=100M", "udp"),
        (
            "udp:gaps=bursts:10:size=200",
            "udp:rate=100M:size=200:gaps=bursts:10",
            "udp:size=200:gaps=bursts:10",
        ),
        (
            "udp:size=1400:gaps=even",
            "udp:rate=100M:gaps=even",
            "udp:gaps=even",
        ),
        (
            "udp:rate=10000k:peer=[::1]:7000:cpus=measured",
            "udp:peer=[::1]:7000:rate=10M:cpus=measured",
            "udp:peer=[::1]:7000:rate=10M:cpus=measured",
        ),
        (
            "download:peer=host:5210",
            "download:peer=host:5210",
            "download:peer=host:5210",
        ),
        (
            "network+cpu:threads=4+io",
            "cpu:threads=4+io+network",
            "cpu:threads=4+io+network",
        ),
        (
            "cpu:threads=2:cpus=1+cpu:threads=2:cpus=0",
            "cpu:threads=2:cpus=0+cpu:threads=2:cpus=1",
            "cpu:threads=2:cpus=0+cpu:threads=2:cpus=1",
        ),
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
    for name in crate::loads()
        .map(|load| load.name)
        .filter(|name| !["idle", "stress-ng", "nfs"].contains(name))
    {
        assert!(!spec(name).is_idle(), "{name}");
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones_or_the_one_that_was_meant() {
    for (text, meant) in [
        ("disk", "disk-read"),
        (" cpu", "cpu"),
        ("cpu ", "cpu"),
        ("cpuu", "cpu"),
    ] {
        let message = problem(text);
        let wanted = format!("unknown name `{text}`; did you mean `{meant}`?");
        assert!(message.ends_with(&wanted), "{message}");
    }
    for text in ["", "CPU", "cpu+", "+", "cpu++io"] {
        let message = problem(text);
        for name in crate::loads().map(|load| load.name) {
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
    for (text, hint) in [
        ("cpu:level=0", "from 1 to 100"),
        ("cpu:level=101", "from 1 to 100"),
        ("cpu:level=2.5", "from 1 to 100"),
        ("cpu:level=5:period=1us", "from 100us to 10s"),
        ("cpu:level=5:period=11s", "from 100us to 10s"),
        ("cpu:level=5:period=5", "such as 100us"),
        ("cpu:period=10ms", "needs level=PERCENT"),
        ("cpu:cpus=0-", "such as 0,2-3"),
        ("cpu:cpus=3-1", "such as 0,2-3"),
        ("cpu:cpus=9999", "such as 0,2-3"),
        ("cpu:cpus=all", "such as 0,2-3"),
        ("disk-read:irq=x", "measured or the number"),
        ("udp:size=15", "from 16 to 9000"),
        ("udp:gaps=odd", "even, poisson, or bursts:N"),
        ("udp:rate=0", "from 100K to 1000G"),
        ("udp:rate=9999G", "from 100K to 1000G"),
        ("udp:rate=10Mbit", "from 100K to 1000G"),
        ("nfs", "nfs:dir=MOUNTPOINT"),
        ("nfs:dir=here", "absolute path"),
    ] {
        assert!(problem(text).contains(hint), "{}", problem(text));
    }
}

#[test]
fn joined_loads_say_which_is_wrong() {
    for (text, hint) in [
        ("cpu+idle", "combines with nothing"),
        ("idle+idle", "combines with nothing"),
        ("io+cpu+io", "io is given twice"),
        ("cpu+cpu:threads=100", "cpu is given twice"),
        ("cpu+memory:size=1", "64M"),
    ] {
        assert!(problem(text).contains(hint), "{}", problem(text));
    }
    let both = spec("network+cpu:threads=4");
    let parts: Vec<String> = both.parts().map(|part| part.level()).collect();
    assert_eq!(parts, ["cpu:threads=4", "network"]);
    assert!(!both.is_idle() && !both.needs_directory());
    assert!(spec("io+cpu").writes_files() && spec("io+cpu").is_paced());
    assert!(spec("disk-read").writes_files() && !spec("disk-read").is_paced());
}

#[test]
fn lists_of_loads_keep_lists_of_cpus_together() {
    let levels = |text: &str| -> Vec<String> {
        let list: LoadList = text.parse().unwrap();
        list.0.iter().map(LoadSpec::level).collect()
    };
    assert_eq!(levels("idle"), ["idle"]);
    assert_eq!(
        levels("idle,cpu:threads=4:cpus=0,2-3,io:cpus=1,3,network+hd"),
        [
            "idle",
            "cpu:threads=4:cpus=0,2-3",
            "io:cpus=1,3",
            "hd+network"
        ]
    );
    for wrong in ["", "cpu,", ",cpu", "cpu,,io", "cpu,golf"] {
        assert!(wrong.parse::<LoadList>().is_err(), "{wrong}");
    }
}

#[test]
fn unknown_misplaced_and_doubled_options_are_refused() {
    for (text, hint) in [
        ("cpu:", "threads=N"),
        ("cpu:8", "level=PERCENT"),
        ("cpu:threads", "threads=N"),
        ("cpu:threads=", "threads=N"),
        ("cpu:size=1M", "period=TIME"),
        ("memory:thread=1", "threads=N or size=BYTES or cpus=LIST"),
        ("cpu:threads=1:threads=2", "threads is given twice"),
        ("idle:threads=1", "takes no options"),
        ("io:", "cpus=LIST"),
        ("memory-bus:threads=2", "should be cpus=LIST"),
        ("udp:peer=host:1:rate=10M:rate=1M", "rate is given twice"),
        (
            "udp:rate=10M:7000",
            "peer=HOST:PORT or key=FILE or rate=BITS",
        ),
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

/// In a plan that a stranger wrote.
#[test]
fn a_list_that_names_all_cpus_again_and_again_takes_no_memory_for_it() {
    let text = format!("cpu:cpus={}", vec!["0-8191"; 20_000].join(","));
    let load: LoadSpec = text.parse().unwrap();
    assert_eq!(load.level(), "cpu:cpus=0-8191");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let kb: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kb < 256 << 10, "{kb} kB");
}
