//! Tests of the far end.

use std::time::Instant;

use super::*;

/// Runs `talk` against a far end on a port that was free a moment ago.
fn with_far_end(files: Option<&Path>, talk: impl FnOnce(SocketAddr, &AtomicBool)) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| serve_peer(address, files, &stop, || ()));
        // Also when `talk` fails, or the test would never end.
        let ended = SetOnDrop(&stop);
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "never listens");
            thread::sleep(Duration::from_millis(10));
        }
        talk(address, &stop);
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
        let stream = TcpStream::connect(address).unwrap();
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

#[test]
fn a_silent_load_is_sent_bulk_data() {
    with_far_end(None, |address, _| {
        let stream = TcpStream::connect(address).unwrap();
        receive_bulk(&stream, enough(8 << 20)).unwrap();
    });
}

#[test]
fn a_download_only_receives() {
    with_far_end(None, |address, _| {
        let (stream, _) = hello::connect(&address.to_string(), Service::Download).unwrap();
        receive_bulk(&stream, enough(8 << 20)).unwrap();
    });
}

#[test]
fn datagrams_are_counted_by_their_sender() {
    with_far_end(None, |address, _| {
        let peer = address.to_string();
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
                .send_to(&datagrams::datagram(token), address)
                .unwrap();
        }
        // The first report may come before the last datagram.
        let mut reports = std::iter::from_fn(|| hello::read_line(&mine, || true).ok());
        let both = 2 * datagrams::DATAGRAM_BYTES as u64;
        assert!(reports.any(|r| datagrams::arrived_bytes(&r) == Some(both)));
    });
}

#[test]
fn files_are_served_only_where_there_is_a_directory() {
    with_far_end(None, |address, _| {
        let error = hello::connect(&address.to_string(), Service::Files)
            .unwrap_err()
            .to_string();
        assert!(error.contains("--dir"), "{error}");
    });
    let directory = tempfile::tempdir().unwrap();
    with_far_end(Some(directory.path()), |address, _| {
        let (stream, _) = hello::connect(&address.to_string(), Service::Files).unwrap();
        let mut client = files::Client::new(stream).unwrap();
        client.write(0, b"content").unwrap();
        client.read(0, b"content").unwrap();
    });
}

#[test]
fn an_older_far_end_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = listener.local_addr().unwrap().to_string();
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
    assert!(serve_peer(taken.local_addr().unwrap(), None, &stop, || ()).is_err());
}
