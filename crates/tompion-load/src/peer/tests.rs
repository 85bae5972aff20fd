//! Tests of the far end.

use std::time::Instant;

use super::hello::Peer;
use super::*;

/// Runs `talk` against a far end on a port that was free a moment ago.
fn with_far_end(files: Option<&Path>, talk: impl FnOnce(SocketAddr, &AtomicBool)) {
    with_key(None, files, talk);
}

fn with_key(key: Option<&Key>, files: Option<&Path>, talk: impl FnOnce(SocketAddr, &AtomicBool)) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        let settings = PeerSettings {
            listen: address,
            key,
            files,
        };
        let server = scope.spawn(move || serve_peer(&settings, stop, || ()));
        // Also when `talk` fails, or the test would never end.
        let ended = SetOnDrop(stop);
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "never listens");
            thread::sleep(Duration::from_millis(10));
        }
        talk(address, stop);
        drop(ended);
        server.join().unwrap().unwrap();
    });
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn enough(limit: usize) -> impl FnMut(usize) -> bool {
    let mut total = 0;
    move |bytes| {
        total += bytes;
        total < limit
    }
}

#[test]
fn the_far_end_sinks_sends_and_stops() {
    with_far_end(None, |address, stop| {
        let (stream, _) = hello::connect(&peer(address), Service::Bulk).unwrap();
        // More than both socket buffers hold, so it must really be read.
        send_bulk(&stream, enough(32 << 20)).unwrap();
        receive_bulk(&stream, enough(32 << 20)).unwrap();
        stop.store(true, Ordering::Relaxed);
        assert!(receive_bulk(&stream, |_| true).is_err(), "closed");
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(address).is_ok() {
            assert!(Instant::now() < deadline, "nobody listens any more");
        }
    });
}

fn peer(address: SocketAddr) -> Peer {
    Peer {
        address: address.to_string(),
        key: None,
    }
}

/// A key, in a file of its own.
fn a_key(place: &Path, text: &str) -> (Key, std::path::PathBuf) {
    let path = place.join(text);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    (Key::read(&path).unwrap(), path)
}

#[test]
fn only_who_has_the_key_is_served() {
    let place = tempfile::tempdir().unwrap();
    let (key, file) = a_key(place.path(), "of-both-ends-0000001");
    let (_, other) = a_key(place.path(), "of-somebody-else-002");
    with_key(Some(&key), None, |address, _| {
        let asked = |key: Option<&Path>, service| {
            let key = key.map(Path::to_path_buf);
            hello::connect(
                &Peer {
                    key,
                    ..peer(address)
                },
                service,
            )
        };
        for service in [Service::Bulk, Service::Download, Service::Datagrams] {
            asked(Some(&file), service).unwrap();
            let why = |key| asked(key, service).unwrap_err().to_string();
            assert!(why(Some(&other)).contains("the key is another one"));
            assert!(why(None).contains("wants a key: name its file with key=FILE"));
        }
        let (stream, _) = asked(Some(&file), Service::Download).unwrap();
        receive_bulk(&stream, enough(8 << 20)).unwrap();
    });
    with_far_end(None, |address, _| {
        let expected = Peer {
            key: Some(file.clone()),
            ..peer(address)
        };
        let error = hello::connect(&expected, Service::Bulk).unwrap_err();
        assert!(error.to_string().contains("asks for no key"), "{error}");
    });
}

#[test]
fn who_says_nothing_of_use_is_gone_soon_and_keeps_nobody_out() {
    use std::io::{Read, Write};
    let place = tempfile::tempdir().unwrap();
    let (key, file) = a_key(place.path(), "of-both-ends-0000001");
    with_key(Some(&key), None, |address, _| {
        let connect = |_| TcpStream::connect(address).unwrap();
        let silent: Vec<TcpStream> = (0..400).map(connect).collect();
        let garbage: Vec<TcpStream> = (0..100).map(connect).collect();
        for mut stream in &garbage {
            // It may have been closed meanwhile.
            let _ = stream.write_all(&[b'x'; 4096]);
        }
        let half: Vec<TcpStream> = (0..300).map(connect).collect();
        for mut stream in &half {
            let _ = stream.write_all(b"tompion 2 network 0\nproof ");
        }
        let begun = Instant::now();
        let peer = Peer {
            key: Some(file.clone()),
            ..peer(address)
        };
        let (stream, _) = hello::connect(&peer, Service::Download).unwrap();
        receive_bulk(&stream, enough(1 << 20)).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10));
        for mut stream in silent.iter().chain(&garbage).chain(&half) {
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            let mut left = Vec::new();
            match stream.read_to_end(&mut left) {
                // A challenge at most.
                Ok(_) => assert!(left.len() < 128, "{}", left.len()),
                Err(e) => assert!(!bulk::is_pause(&e), "{e}"),
            }
        }
    });
}

#[test]
fn a_download_only_receives() {
    with_far_end(None, |address, _| {
        let (stream, _) = hello::connect(&peer(address), Service::Download).unwrap();
        receive_bulk(&stream, enough(8 << 20)).unwrap();
    });
}

#[test]
fn datagrams_are_counted_by_their_sender() {
    with_far_end(None, |address, _| {
        let peer = peer(address);
        let open = || {
            let (stream, answer) = hello::connect(&peer, Service::Datagrams).unwrap();
            let token = answer.strip_prefix("token ").unwrap();
            (stream, u64::from_str_radix(token, 16).unwrap())
        };
        let (mine, token) = open();
        let (_other, others_token) = open();
        assert_ne!(token, others_token);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for token in [token, others_token, 0, token] {
            socket
                .send_to(
                    &datagrams::datagram(token, datagrams::DATAGRAM_BYTES),
                    address,
                )
                .unwrap();
        }
        // The first report may come before the last datagram.
        let mut reports = std::iter::from_fn(|| hello::read_line(&mine, || true).ok());
        let both = 2 * datagrams::DATAGRAM_BYTES as u64;
        assert!(reports.any(|r| datagrams::arrived_bytes(&r) == Ok(both)));
    });
}

#[test]
fn files_are_served_only_where_there_is_a_directory() {
    with_far_end(None, |address, _| {
        let error = hello::connect(&peer(address), Service::Files)
            .unwrap_err()
            .to_string();
        assert!(error.contains("--dir"), "{error}");
    });
    let directory = tempfile::tempdir().unwrap();
    with_far_end(Some(directory.path()), |address, _| {
        let (stream, _) = hello::connect(&peer(address), Service::Files).unwrap();
        let mut client = files::Client::new(stream).unwrap();
        client.write(0, b"content").unwrap();
        client.read(0, b"content").unwrap();
    });
}

#[test]
fn an_older_far_end_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = peer(listener.local_addr().unwrap());
    thread::scope(|scope| {
        scope.spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let _ = send_bulk(&stream, |_| true);
        });
        let error = hello::connect(&peer, Service::Datagrams)
            .unwrap_err()
            .to_string();
        assert!(error.contains("of this version"), "{error}");
    });
}

#[test]
fn an_address_in_use_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let stop = AtomicBool::new(false);
    let settings = PeerSettings {
        listen: taken.local_addr().unwrap(),
        key: None,
        files: None,
    };
    assert!(serve_peer(&settings, &stop, || ()).is_err());
}
