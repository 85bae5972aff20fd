//! Answering a packet, and taking an answer, asks nobody for memory. A program of its own, as its
//! allocator is the whole program's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;

use tompion_stamp::{
    Arrival, Ask, ControlLimits, Key, Reflector, ReflectorConfig, Sender, SenderConfig, SharedKey,
    Stamp, Taken, Trust, tlv::values::ReplyControl,
};

thread_local! {
    /// Requests of this thread for memory.
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's layout, by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: it came from `alloc` above with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NOW: i64 = 1_790_000_000_000_000_000;

fn key() -> Key {
    Key::new(b"sixteen bytes or more").expect("a key")
}

/// Exchanges packets from many ports, with more of them than the tables hold.
fn exchange(sender: &mut Sender, reflector: &mut Reflector, rounds: u32) -> u32 {
    let (mut request, mut reply) = ([0; 2048], [0; 2048]);
    let mut replies = 0;
    for round in 0..rounds {
        let now_ns = u64::from(round) * 10_000_000;
        let sent = sender.prepare(&mut request, now_ns).expect("room");
        assert!(sender.stamp(&sent, &mut request, NOW + i64::from(round)));
        let arrival = Arrival {
            datagram: &request[..sent.bytes],
            source: SocketAddr::from(([10, 1, round as u8, 1], 4000)),
            received: Stamp::kernel(NOW + i64::from(round)),
            ttl: Some(64),
            traffic_class: Some(0),
            now_ns,
        };
        let Ok(mut written) = reflector.reflect(&arrival, &mut reply) else {
            continue;
        };
        loop {
            assert!(reflector.stamp(&written, &mut reply, NOW + i64::from(round)));
            reflector.sent(written.number, Stamp::kernel(NOW + i64::from(round)));
            let taken = sender.take(&reply[..written.bytes], Stamp::user(NOW));
            replies += u32::from(matches!(taken, Taken::Reply(_) | Taken::Duplicate(_)));
            match reflector.repeat(&written, &mut reply, now_ns) {
                Ok(next) => written = next,
                Err(_) => break,
            }
        }
        // What is wrong, too.
        reply[40] ^= 1;
        sender.take(&reply[..written.bytes], Stamp::user(NOW));
        let mut other = request;
        other[50] ^= 1;
        let wrong = Arrival {
            datagram: &other[..sent.bytes],
            ..arrival
        };
        let _ = reflector.reflect(&wrong, &mut reply);
        sender.give_up(now_ns.saturating_sub(100_000_000));
    }
    replies
}

#[test]
fn nothing_is_allocated_after_the_start() {
    let control = ControlLimits {
        longest_bytes: 1000,
        most_replies: 3,
        least_interval_ns: 0,
    };
    let keyed = Trust::Keyed(vec![SharedKey {
        key: key(),
        ssid: None,
        control: Some(control),
    }]);
    let ask = Ask {
        timestamp_information: true,
        dscp: Some(0),
        direct_measurement: true,
        follow_up: true,
        tompion: true,
        control: Some(ReplyControl {
            bytes: 800,
            replies: 3,
            interval_ns: 1,
            for_group: false,
        }),
        arrivals: 0,
    };
    for (trust, sender_key) in [
        (Trust::Anybody { tlv_key: None }, None),
        (keyed, Some(key())),
    ] {
        let mut reflector = Reflector::new(ReflectorConfig {
            trust,
            sessions: 16,
            sources: 16,
            awaited_stamps: 16,
            ..ReflectorConfig::default()
        })
        .expect("a reflector");
        let mut sender = Sender::new(SenderConfig {
            key: sender_key,
            ask,
            outstanding: 16,
            ..SenderConfig::default()
        })
        .expect("a sender");
        let before = ASKED.get();
        let replies = exchange(&mut sender, &mut reflector, 2000);
        assert_eq!(ASKED.get() - before, 0);
        assert!(replies >= 2000, "{replies}");
        assert!(reflector.counters().sessions_evicted > 1000);
    }
    // The counter counts.
    let before = ASKED.get();
    drop(std::hint::black_box(vec![0_u8; 100]));
    assert!(ASKED.get() > before);
}
