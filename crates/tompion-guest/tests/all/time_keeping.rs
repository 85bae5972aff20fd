//! What `tompion env` says of a guest's wall clock, held against the host's (`make test-full`;
//! ignored elsewhere): nothing keeps it, chrony runs without a server that answers, chrony is in
//! step with a server at the host's end, and somebody sets the clock.

/// Long: chrony takes its time.
mod long {
    use std::fs;
    use std::net::UdpSocket;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde_json::Value;
    use tompion_guest::{Guest, HOST_ADDRESS, Kit, Tap};

    use crate::common::{kit, tap};

    /// Emulated, on a busy host.
    const TIMEOUT: Duration = Duration::from_secs(600);
    /// The port at which the host tells the time.
    const TIME_PORT: u16 = 4460;
    /// In the network, and nobody's.
    const NOBODY: &str = "192.0.2.3";

    /// The host's programs that the script uses.
    const TOOLS: [&str; 6] = [
        "/bin/sh",
        "/bin/sleep",
        "/bin/date",
        "/bin/cat",
        "/bin/mkdir",
        "/bin/chmod",
    ];

    /// What is asked in each standing: the whole, the text for people, the advice, and how far
    /// the clock is off by the host's. `in_step` waits until chrony says so.
    const SCRIPT: &str = r#"
look() {
    echo "==> $1"
    guest_probe offset $HOST
    tompion env --json >/env
    guest_probe offset $HOST
    echo "==> $1 json"
    cat /env
    echo "==> $1 text"
    tompion env
    echo "==> $1 advice"
    tompion advise --only time-keeper --dry-run
}
follow() {
    chronyd -d -u root -f /chrony.conf >/chrony.log 2>&1 &
    keeper=$!
}
in_step() {
    tries=0
    while [ $tries -lt 120 ]; do
        case "$(tompion env)" in *"chrony keeps the wall clock in step"*) return ;; esac
        sleep 1
        tries=$((tries + 1))
    done
    cat /chrony.log >&2
}
mkdir /run /run/chrony /var /var/lib /var/lib/chrony
chmod 750 /run/chrony
look unkept

echo "server $NOBODY iburst" >/chrony.conf
echo "bindcmdaddress /" >>/chrony.conf
follow
sleep 8
look silent
kill $keeper
wait $keeper

echo "server $SERVER iburst minpoll 0 maxpoll 2" >/chrony.conf
echo "makestep 0.1 5" >>/chrony.conf
echo "rtcsync" >>/chrony.conf
echo "bindcmdaddress /" >>/chrony.conf
date -s '+3 seconds' >/dev/null
follow
in_step
# Until it need not step any more.
sleep 10
in_step
look kept
kill $keeper
wait $keeper

echo "server $SERVER iburst minpoll 6" >/chrony.conf
echo "makestep 0.1 3" >>/chrony.conf
echo "bindcmdaddress /" >>/chrony.conf
follow
in_step
# Its first bound is a wide one.
sleep 15
look kept-without-rtcsync
date -s '+5 seconds' >/dev/null
look stepped
date -s '+1 hour' >/dev/null
look stepped-far
"#;

    /// A daemon of the host's side, that ends with the test.
    struct Server(Child);

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// chronyd that serves the host's time and leaves its clock alone.
    fn serve(chronyd: &Path, directory: &Path, tap: &Tap) -> Server {
        let settings = directory.join("server.conf");
        let text = format!(
            "local stratum 1\nallow\nbindcmdaddress /\ncmdport 0\npidfile {}\n",
            directory.join("server.pid").display()
        );
        fs::write(&settings, text).expect("written");
        let start = || {
            Command::new(chronyd)
                .args(["-x", "-d", "-u", "root", "-f"])
                .arg(&settings)
                .stderr(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
        };
        Server(tap.inside(start).expect("namespace").expect("chronyd"))
    }

    /// Tells who asks what time it is, until the guest has ended.
    fn tell(socket: &UdpSocket, ended: &AtomicBool) {
        let mut words = [0; 16];
        while !ended.load(Ordering::Relaxed) {
            if let Ok((count, from)) = socket.recv_from(&mut words) {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now");
                let ns = u64::try_from(now.as_nanos()).expect("a time");
                let answer = [&words[..count], &ns.to_be_bytes()].concat();
                socket.send_to(&answer, from).expect("answer");
            }
        }
    }

    fn guest(kit: &Kit, tap: &Arc<Tap>, directory: &Path) -> Guest {
        let chronyd = kit.program("chronyd").expect("fetched by make guest");
        let users = directory.join("passwd");
        fs::write(&users, "root:x:0:0::/:/bin/sh\n").expect("written");
        let groups = directory.join("group");
        fs::write(&groups, "root:x:0:\n").expect("written");
        let program = |name| kit.program(name).expect("built by make guest");
        let head =
            format!("NOBODY={NOBODY}\nSERVER={HOST_ADDRESS}\nHOST={HOST_ADDRESS}:{TIME_PORT}\n");
        TOOLS
            .iter()
            .fold(Guest::new(kit), |guest, tool| guest.dynamic(tool, tool))
            .dynamic("/bin/chronyd", chronyd)
            .file("/bin/tompion", program("tompion"))
            .file("/bin/guest_probe", program("guest_probe"))
            .file("/etc/passwd", users)
            .file("/etc/group", groups)
            .file("/etc/os-release", "/etc/os-release")
            .command(["/bin/sh", "-c", &format!("{head}{SCRIPT}")])
            .tap(Arc::clone(tap))
            .timeout(TIMEOUT)
    }

    /// What was said in one standing.
    struct Seen<'a> {
        /// How far the clock was ahead of the host's before and after, and within how much that
        /// is known, in nanoseconds.
        offsets: Vec<(f64, f64)>,
        environment: Value,
        text: &'a str,
        advice: &'a str,
    }

    fn seen<'a>(text: &'a str, name: &str) -> Seen<'a> {
        let part = |what: &str| {
            let head = format!("==> {name}{what}\n");
            let (_, rest) = text
                .split_once(&head)
                .unwrap_or_else(|| panic!("no {head}"));
            rest.split_once("==> ").map_or(rest, |(part, _)| part)
        };
        let offsets = part("").lines().filter_map(|line| {
            let (ahead, within) = line.strip_prefix("ahead_ns=")?.split_once(" within_ns=")?;
            Some((ahead.parse().ok()?, within.parse().ok()?))
        });
        let found = Seen {
            offsets: offsets.collect(),
            environment: serde_json::from_str(part(" json")).expect("JSON"),
            text: part(" text"),
            advice: part(" advice"),
        };
        assert_eq!(found.offsets.len(), 2, "{name}: {}", part(""));
        eprintln!("{name}: {:?}", found.offsets);
        found
    }

    impl Seen<'_> {
        fn bound_ns(&self) -> Option<f64> {
            self.environment["time_keeping"]["keepers"][0]["error_at_most_ns"].as_f64()
        }

        /// Whether both true offsets lie within the bound, and that is no wide one.
        fn is_contained(&self) {
            let bound_ns = self.bound_ns().expect("a bound");
            eprintln!("within {bound_ns} ns by its word");
            assert!(bound_ns < 1e9, "{bound_ns}");
            for (ahead_ns, within_ns) in &self.offsets {
                assert!(*within_ns < 1e9, "the host was too busy: {within_ns}");
                assert!(
                    ahead_ns.abs() - within_ns <= bound_ns,
                    "{ahead_ns} ± {within_ns}"
                );
            }
        }

        /// Nothing is claimed of an error that nothing bounds.
        fn is_unbounded(&self) {
            assert!(self.text.contains("Error at most") && !self.text.contains("within"));
            let row = self.row("Error at most");
            assert_eq!(row.as_deref(), Some("not known"), "{}", self.text);
        }

        /// What the text says in a row of that name.
        fn row(&self, name: &str) -> Option<String> {
            let mut lines = self.text.lines().map(str::trim);
            let value = lines.find_map(|line| line.strip_prefix(name))?;
            Some(value.trim().to_owned())
        }
    }

    #[test]
    #[ignore = "boots a guest: make guest"]
    fn each_state_of_a_guests_wall_clock_is_named_and_its_bound_holds() {
        let kit = kit();
        let directory = tempfile::tempdir().expect("a directory");
        let Some(tap) = tap() else { return };
        let socket = tap.inside(|| UdpSocket::bind((HOST_ADDRESS, TIME_PORT)).expect("bound"));
        let socket = socket.expect("namespace");
        let patience = Some(Duration::from_millis(100));
        socket.set_read_timeout(patience).expect("a limit");
        let chronyd = kit.program("chronyd").expect("fetched by make guest");
        let _server = serve(&chronyd, directory.path(), &tap);
        let ended = AtomicBool::new(false);
        let outcome = thread::scope(|scope| {
            scope.spawn(|| tell(&socket, &ended));
            let outcome = guest(&kit, &tap, directory.path()).run();
            ended.store(true, Ordering::Relaxed);
            outcome
        });
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        let (text, errors) = (outcome.stdout_text(), outcome.stderr_text());
        eprintln!("{:.1} s ({}): {errors}", outcome.seconds, outcome.accel);
        assert!(outcome.status.success(), "{errors}");

        let unkept = seen(&text, "unkept");
        assert!(
            unkept.text.contains("Nothing keeps the wall clock in step"),
            "{}",
            unkept.text
        );
        assert!(unkept.advice.contains("chrony"), "{}", unkept.advice);
        unkept.is_unbounded();

        let silent = seen(&text, "silent");
        let why = "chrony runs and is not in step: its only source does not answer";
        assert!(silent.text.contains(why), "{}", silent.text);
        assert!(
            silent.advice.contains("chronyc sources -v"),
            "{}",
            silent.advice
        );
        silent.is_unbounded();

        for name in ["kept", "kept-without-rtcsync"] {
            let kept = seen(&text, name);
            assert!(
                kept.text.contains("chrony keeps the wall clock in step"),
                "{}",
                kept.text
            );
            assert!(kept.advice.contains("So already"), "{}", kept.advice);
            let source = &kept.environment["time_keeping"]["keepers"][0]["sources"][0];
            assert_eq!(source["name"], HOST_ADDRESS.to_string(), "{source}");
            assert_eq!(source["state"], "selected", "{source}");
            kept.is_contained();
        }

        for (name, by_ns) in [("stepped", 5e9), ("stepped-far", 3605e9)] {
            let stepped = seen(&text, name);
            // Unless chrony has noticed, and says so.
            let told = [
                "was set by something else",
                "chrony runs and is not in step",
            ];
            assert!(
                told.iter().any(|t| stepped.text.contains(t)),
                "{}",
                stepped.text
            );
            assert_eq!(stepped.row("In step").as_deref(), Some("no"), "{name}");
            stepped.is_unbounded();
            // It was so, or the test has shown nothing.
            let (ahead_ns, _) = stepped.offsets[0];
            assert!((ahead_ns - by_ns).abs() < 3e9, "{name}: {ahead_ns}");
        }
    }
}
