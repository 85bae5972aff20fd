//! `iperf3`: that program.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::driver::Driver;
use crate::load::{Load, Parse, Parsed, Work};
use crate::spec::{PEER, PortRule, Text, parse_peer, split_peer};

pub(super) static ENTRY: Load = Load {
    name: "iperf3",
    about: "the program iperf3, both ways over loopback; peer=HOST[:PORT] to an iperf3 server",
    in_check: false,
    parse: Parse::Text(parse),
};

const PROGRAM: &str = "iperf3";

/// Port of an iperf3 server unless said otherwise.
const IPERF3_PORT: &str = "5201";

/// An iperf3 that is stopped for longer than its receive timeout (2 minutes)
/// would give up; a day is its greatest. Older versions have no such timeout.
const IPERF3_TIMEOUT: [&str; 2] = ["--rcv-timeout", "86400000"];

#[derive(Debug)]
struct Iperf3 {
    peer: Option<String>,
}

impl Work for Iperf3 {
    fn describe(&self, text: &mut Text) {
        text.option(PEER.0, self.peer.as_ref());
    }

    fn program(&self) -> Option<&'static str> {
        Some(PROGRAM)
    }

    fn driver(&self, _: &Path) -> io::Result<Option<Driver>> {
        driver(self.peer.as_deref()).map(Some)
    }
}

fn parse(rest: Option<&str>) -> Parsed {
    let peer = rest.map(|rest| {
        let form = "peer=HOST or peer=HOST:PORT";
        let peer = rest.strip_prefix("peer=");
        let peer = peer.ok_or_else(|| format!("'{rest}' should be {form}"))?;
        parse_peer(peer, PortRule::Optional)
    });
    Ok(Arc::new(Iperf3 {
        peer: peer.transpose()?,
    }))
}

fn driver(peer: Option<&str>) -> io::Result<Driver> {
    let mut ask = Command::new(PROGRAM);
    let help = tompion_child::output(ask.arg("--help").stdin(Stdio::null()))?;
    let knows_timeout = [help.stdout, help.stderr]
        .iter()
        .any(|text| String::from_utf8_lossy(text).contains(IPERF3_TIMEOUT[0]));
    let iperf3 = || {
        let mut command = Command::new(PROGRAM);
        // Reports every second would be work beside the load.
        command.args(["--interval", "0"]);
        if knows_timeout {
            command.args(IPERF3_TIMEOUT);
        }
        command
    };
    let client = |host: &str, port: &str| {
        let mut command = iperf3();
        // Time 0 is for ever: the supervisor ends it.
        command.args(["--bidir", "--time", "0", "--client", host, "--port", port]);
        command
    };
    let (server, main) = match peer {
        Some(peer) => {
            let (host, port) = split_peer(peer);
            let host = host.trim_start_matches('[').trim_end_matches(']');
            (None, client(host, port.unwrap_or(IPERF3_PORT)))
        }
        None => {
            // iperf3 cannot pick a port itself: the kernel names a free one.
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let text = port.to_string();
            let mut server = iperf3();
            server.args(["--server", "--bind", "127.0.0.1", "--port", &text]);
            (Some((server, port)), client("127.0.0.1", &text))
        }
    };
    Ok(Driver {
        program: PROGRAM,
        server,
        main,
    })
}
