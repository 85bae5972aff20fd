//! A small file server over TCP, and its client: see `loads::file_server`.
//!
//! The client sends a file, the server writes and syncs it before it answers, as
//! an NFS server does with a stable write, and sends it back when asked. A client
//! may hold a few files of up to a mebibyte; they have no names, so nothing of
//! them outlives the connection.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::bulk::{drain, fill};

/// Files that one client may have.
pub const FILES: u8 = 4;
/// Largest file.
pub const MOST_FILE_BYTES: u64 = 1 << 20;

const WRITE: u8 = b'W';
const READ: u8 = b'R';
const DONE: u8 = b'K';
const FAILED: u8 = b'E';

/// Request: what, which file, length. Answer: what, two numbers.
const REQUEST_BYTES: usize = 8;
const ANSWER_BYTES: usize = 24;

/// What a server has done for one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Files written and synced.
    pub syncs: u64,
    /// Bytes received and written.
    pub received_bytes: u64,
    /// Bytes read and sent.
    pub sent_bytes: u64,
}

/// Serves one client until it goes away or `go_on` says no.
///
/// # Errors
/// If the connection fails or the client does not keep to the protocol. What
/// goes wrong with a file is told to the client.
pub fn serve(
    stream: &TcpStream,
    directory: &Path,
    name: &str,
    go_on: impl Fn() -> bool,
) -> io::Result<Served> {
    // Requests and answers alternate: waiting to fill packets would cost 40 ms each.
    stream.set_nodelay(true)?;
    let mut store = Store {
        path: directory.join(name),
        files: Default::default(),
    };
    let mut served = Served::default();
    let mut request = [0; REQUEST_BYTES];
    let mut content = Vec::new();
    while fill(stream, &mut request, &go_on)? {
        let [what, file, _, _, length @ ..] = request;
        let length = u64::from(u32::from_le_bytes(length));
        if length > MOST_FILE_BYTES || file >= FILES {
            return Err(ErrorKind::InvalidData.into());
        }
        content.resize(length as usize, 0);
        let result = match what {
            WRITE => {
                if !fill(stream, &mut content, &go_on)? {
                    break;
                }
                served.received_bytes += length;
                store.write(file, &content).map(|()| served.syncs += 1)
            }
            READ => store.read(file, &mut content),
            _ => return Err(ErrorKind::InvalidData.into()),
        };
        let alive = match result {
            Ok(()) => {
                let answer = answer(DONE, served.syncs, served.received_bytes);
                drain(stream, &answer, &go_on)? && {
                    let wanted: &[u8] = if what == READ { &content } else { &[] };
                    served.sent_bytes += wanted.len() as u64;
                    drain(stream, wanted, &go_on)?
                }
            }
            Err(e) => {
                let number = e.raw_os_error().unwrap_or(nix::libc::EIO);
                drain(stream, &answer(FAILED, number as u64, 0), &go_on)?
            }
        };
        if !alive {
            break;
        }
    }
    Ok(served)
}

fn answer(what: u8, one: u64, two: u64) -> [u8; ANSWER_BYTES] {
    let mut answer = [0; ANSWER_BYTES];
    answer[0] = what;
    answer[8..16].copy_from_slice(&one.to_le_bytes());
    answer[16..24].copy_from_slice(&two.to_le_bytes());
    answer
}

struct Store {
    path: PathBuf,
    files: [Option<File>; FILES as usize],
}

impl Store {
    fn write(&mut self, file: u8, content: &[u8]) -> io::Result<()> {
        let slot = &mut self.files[usize::from(file)];
        let file = match slot {
            Some(file) => file,
            None => slot.insert(nameless_file(&self.path)?),
        };
        file.write_all_at(content, 0)?;
        file.set_len(content.len() as u64)?;
        file.sync_all()
    }

    fn read(&self, file: u8, content: &mut [u8]) -> io::Result<()> {
        match &self.files[usize::from(file)] {
            Some(file) => file.read_exact_at(content, 0),
            None => Err(io::Error::from_raw_os_error(nix::libc::ENOENT)),
        }
    }
}

/// A new file that has lost its name already.
///
/// # Errors
/// If it cannot be made.
pub fn nameless_file(path: &Path) -> io::Result<File> {
    // Never through an existing file or link that somebody put there.
    let open = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    };
    let file = match open() {
        // Left by a killed process that had the same id.
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            open()?
        }
        other => other?,
    };
    fs::remove_file(path)?;
    Ok(file)
}

/// The client's side of a connection.
pub struct Client {
    stream: TcpStream,
    /// What the server should have done so far.
    done: Served,
    buffer: Vec<u8>,
}

impl Client {
    /// # Errors
    /// If the connection cannot be set up.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            done: Served::default(),
            buffer: Vec::new(),
        })
    }

    /// Has the server write and sync a file; it must have counted the sync and
    /// every byte.
    ///
    /// # Errors
    /// If the connection or the server fails.
    pub fn write(&mut self, file: u8, content: &[u8]) -> io::Result<()> {
        self.request(WRITE, file, content.len())?;
        drain(&self.stream, content, || true)?;
        self.done.syncs += 1;
        self.done.received_bytes += content.len() as u64;
        self.await_answer()
    }

    /// Has the server send a file of this content back, and compares.
    ///
    /// # Errors
    /// If the connection or the server fails, or the content is another.
    pub fn read(&mut self, file: u8, content: &[u8]) -> io::Result<()> {
        self.request(READ, file, content.len())?;
        self.await_answer()?;
        self.buffer.resize(content.len(), 0);
        if !fill(&self.stream, &mut self.buffer, || true)? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.done.sent_bytes += content.len() as u64;
        match self.buffer == content {
            true => Ok(()),
            false => Err(io::Error::other("the server sent another content back")),
        }
    }

    fn request(&self, what: u8, file: u8, length: usize) -> io::Result<()> {
        let [a, b, c, d] = u32::try_from(length)
            .map_err(io::Error::other)?
            .to_le_bytes();
        drain(&self.stream, &[what, file, 0, 0, a, b, c, d], || true).map(|_| ())
    }

    fn await_answer(&self) -> io::Result<()> {
        let mut got = [0; ANSWER_BYTES];
        if !fill(&self.stream, &mut got, || true)? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let expected = answer(DONE, self.done.syncs, self.done.received_bytes);
        match got {
            got if got == expected => Ok(()),
            [FAILED, rest @ ..] => Err(io::Error::from_raw_os_error(i32::from_le_bytes(
                *rest[7..].first_chunk().expect("longer"),
            ))),
            _ => Err(io::Error::other("the server counts other syncs or bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// Runs `talk` against a server over `directory`; returns what that served.
    fn served(directory: &Path, talk: impl FnOnce(&mut Client)) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (there, _) = listener.accept().unwrap();
        thread::scope(|scope| {
            let server = scope.spawn(move || serve(&there, directory, "file", || true));
            let mut client = Client::new(here).unwrap();
            talk(&mut client);
            drop(client);
            server.join().unwrap().unwrap()
        })
    }

    #[test]
    fn what_is_sent_is_synced_and_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let served = served(directory.path(), |client| {
            let (long, short) = (vec![1; 100_000], vec![2; 10]);
            client.write(0, &long).unwrap();
            client.write(1, &short).unwrap();
            client.read(0, &long).unwrap();
            client.write(0, &short).unwrap();
            client.read(0, &short).unwrap();
            assert!(client.read(1, &[3; 10]).is_err(), "another content");
            let left = fs::read_dir(directory.path()).unwrap().count();
            assert_eq!(left, 0, "files have no names");
        });
        let expected = Served {
            syncs: 3,
            received_bytes: 100_020,
            sent_bytes: 100_020,
        };
        assert_eq!(served, expected);
    }

    #[test]
    fn what_goes_wrong_is_told() {
        let directory = tempfile::tempdir().unwrap();
        served(directory.path(), |client| {
            let error = client.read(2, &[0; 10]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "never written");
        });
        served(Path::new("/nonexistent"), |client| {
            let error = client.write(0, &[0; 10]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
        });
    }

    #[test]
    fn a_client_cannot_fill_the_disk() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (there, _) = listener.accept().unwrap();
        let directory = tempfile::tempdir().unwrap();
        drain(&here, &[WRITE, 0, 0, 0, 255, 255, 255, 255], || true).unwrap();
        let result = serve(&there, directory.path(), "file", || true);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
