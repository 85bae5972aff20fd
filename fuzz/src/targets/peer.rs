//! Whoever connects to `tompion peer`, with a key and without, and whoever answers in its place.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;
use tompion_load::Key;
use tompion_load::fuzz::{admitted, arrived_bytes, asked, token_of};

use crate::Target;
use crate::input::Input;
use crate::{one_line, scratch};

pub static ENTRY: Target = Target {
    name: "peer",
    about: "what a client says to `tompion peer`, and what a far end answers to a load: \
            who proves no key is not let in",
    parser: &[
        "tompion-load/src/peer/hello.rs",
        "tompion-load/src/peer/door.rs",
        "tompion-load/src/peer/key.rs",
        "tompion-load/src/peer/datagrams.rs",
    ],
    most_bytes: 1024,
    run,
};

/// A byte of a client's that stands for a proof by the right key.
const PROOF: u8 = 1;
/// One that stands for a pause.
const PAUSE: u8 = 2;

/// The key of both ends, and a directory with its file.
fn planted() -> &'static (TempDir, Key) {
    static PLANTED: OnceLock<(TempDir, Key)> = OnceLock::new();
    PLANTED.get_or_init(|| {
        let place = scratch::directory();
        let key = read(place.path(), b"planted-planted-planted", 0o600);
        (place, key.expect("a key"))
    })
}

fn key() -> &'static Key {
    &planted().1
}

/// Reads a file of that content and mode in a directory as a key.
fn read(place: &Path, content: &[u8], mode: u32) -> Result<Key, String> {
    let path = place.join("key");
    std::fs::write(&path, content).expect("a file");
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&path, mode).expect("a mode");
    Key::read(&path).map_err(|why| why.to_string())
}

/// A client, whose bytes come as they are.
struct Client<'a> {
    says: &'a [u8],
    /// Of a proof that is on its way.
    more: Vec<u8>,
    said: Vec<u8>,
    heard: Vec<u8>,
    has_key: bool,
}

impl Client<'_> {
    /// What shows that it has the key, by the first line it said and the last it heard.
    fn proof(&self) -> Vec<u8> {
        let said = String::from_utf8_lossy(&self.said);
        let heard = String::from_utf8_lossy(&self.heard);
        let first = said.lines().next().unwrap_or_default();
        let last = heard.lines().last().unwrap_or_default();
        let theirs = last.strip_prefix("challenge ").unwrap_or_default();
        let proof = key().proof(&format!("{first} {theirs}"));
        format!("proof {proof}\n").into_bytes()
    }
}

impl Read for Client<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        assert!(!to.is_empty(), "no room for what comes");
        if self.more.is_empty() {
            let Some((&next, rest)) = self.says.split_first() else {
                return Ok(0);
            };
            match next {
                PAUSE => {
                    self.says = rest;
                    return Err(ErrorKind::WouldBlock.into());
                }
                PROOF if self.has_key => {
                    self.says = rest;
                    self.more = self.proof();
                }
                _ => {
                    let special = |byte: &u8| *byte == PROOF || *byte == PAUSE;
                    let end = self.says[1..].iter().position(special);
                    let end = end.map_or(self.says.len(), |end| end + 1);
                    self.more = self.says[..end].to_vec();
                    self.says = &self.says[end..];
                }
            }
        }
        let count = to.len().min(self.more.len());
        to[..count].copy_from_slice(&self.more[..count]);
        self.said.extend(self.more.drain(..count));
        Ok(count)
    }
}

impl Write for Client<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heard.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A load asks a far end that answers so whatever it hears, and goes away.
fn answers(says: &[u8], has_key: bool) {
    let (ours, mut theirs) = UnixStream::pair().expect("sockets");
    theirs.write_all(says).expect("room");
    theirs.shutdown(Shutdown::Write).expect("a socket");
    let file = has_key.then(|| planted().0.path().join("key"));
    // Of the two kinds of stream the load notices no difference.
    if let Err(why) = asked(&TcpStream::from(OwnedFd::from(ours)), file) {
        one_line(&why);
    }
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let how = input.byte();
    let says = input.rest();
    if how & 4 != 0 {
        let mode = if how & 8 == 0 { 0o600 } else { how.into() };
        if let Err(why) = read(scratch::directory().path(), says, mode) {
            one_line(&why);
        }
        token_of(says);
        if let Err(why) = arrived_bytes(&String::from_utf8_lossy(says)) {
            one_line(&why);
        }
        return;
    }
    if how & 8 != 0 {
        return answers(says, how & 1 != 0);
    }
    let wanted = (how & 1 != 0).then(key);
    let mut client = Client {
        says,
        more: Vec::new(),
        said: Vec::new(),
        heard: Vec::new(),
        has_key: how & 2 != 0,
    };
    let is_in = admitted(&mut client, wanted);
    if is_in && wanted.is_some() {
        assert!(client.has_key, "let in without a key: {:?}", client.said);
    }
    for line in String::from_utf8_lossy(&client.heard).lines() {
        one_line(line);
    }
    // A request, a proof, and what they are answered with.
    assert!(
        client.heard.len() <= 512,
        "{} bytes of answers",
        client.heard.len()
    );
}
