//! Stamps of a sender's sockets, against a path whose truth is known: where its own queue shows, and in which
//! order a packet is stamped.

use std::net::SocketAddr;
use std::time::Duration;

use tompion_net::{
    ErrorBatch, Event, Options, ReceiveBatch, Route, StampingSocket, Transport, TxKind, realtime_ns,
};
use tompion_path::Way;
use tompion_path::stamps::{Clock, Packets, Stamp, order};
use tompion_testbed::{BottleneckKind, Place, Settings, Tap, Testbed, TokenBucket};
use tompion_time::os;

use crate::common::{all_of, alone, datagrams, testbed, within_three};

/// Where in a frame a datagram begins with its number: headers of Ethernet, IPv4 and UDP.
const NUMBER_AT: usize = 42;
/// How long stragglers are waited for.
const QUIET: Duration = Duration::from_millis(100);

/// A sender's socket and the one that it sends to.
fn sockets(testbed: &Testbed) -> (StampingSocket, StampingSocket) {
    let open = |place: &Place, options: &Options| {
        let opened = place.inside(|| StampingSocket::open(options));
        opened.unwrap().unwrap()
    };
    let there = SocketAddr::new(testbed.far_end().addresses().v4.into(), 0);
    let far = open(testbed.far_end(), &Options::new(Transport::Udp, there));
    let near = Options {
        send_buffer: Some(8 << 20),
        ..Options::to(Transport::Udp, far.local())
    };
    (open(testbed.sender(), &near), far)
}

/// Sends numbered datagrams of this length, so far apart, and gives a table with their program's and their
/// kernel's stamps.
fn send(socket: &StampingSocket, count: usize, bytes: usize, gap: Duration) -> Packets {
    let mut packets = Packets::new();
    let mut datagram = vec![0; bytes];
    for number in 0..count as u64 {
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        let user_ns = realtime_ns();
        let sent = socket.send(number, user_ns, &datagram, &Route::default());
        sent.unwrap();
        let row = packets.push(bytes as u32 + 28).unwrap();
        packets.set(row, Stamp::UserSent, user_ns).unwrap();
        if !gap.is_zero() {
            os::sleep(gap);
        }
    }
    let mut batch = ErrorBatch::new(64);
    for _ in 0..200 {
        let take = |event: Event<'_>| {
            let Event::Stamp(stamp) = event else { return };
            let place = match stamp.kind {
                TxKind::Sched => Stamp::Scheduled,
                TxKind::Software => Stamp::Sent,
                TxKind::Hardware => return,
            };
            packets.set(stamp.number as usize, place, stamp.ns).unwrap();
        };
        socket.drain(&mut batch, usize::MAX, take).unwrap();
        if socket.waiting() == 0 {
            break;
        }
        os::sleep(Duration::from_millis(10));
    }
    packets
}

/// Enters what a tap saw of these datagrams.
fn enter(packets: &mut Packets, tap: &mut Tap, outgoing: bool, place: Stamp, bytes: usize) {
    let seen = all_of(tap, QUIET);
    for tapped in datagrams(&seen, outgoing) {
        if let Some(number) = tapped.frame.get(NUMBER_AT..NUMBER_AT + 8)
            && tapped.frame.len() == NUMBER_AT + bytes
        {
            let row = u64::from_be_bytes(number.try_into().unwrap()) as usize;
            packets.set(row, place, tapped.at_ns).unwrap();
        }
    }
}

/// From one stamp to another of a datagram.
fn between(packets: &Packets, row: usize, from: Stamp, to: Stamp) -> i64 {
    packets.get(row, to).unwrap() - packets.get(row, from).unwrap()
}

/// How much later one packet entered the queue than another.
fn between_rows(packets: &Packets, earlier: usize, later: usize) -> i64 {
    let at = |row| packets.get(row, Stamp::Scheduled).unwrap();
    at(later) - at(earlier)
}

#[test]
fn the_senders_own_queue_is_between_sched_and_software_and_nowhere_else() {
    const COUNT: usize = 160;
    const BYTES: usize = 1_000;
    const RATE: u64 = 20_000_000;
    // What the bucket holds makes good for its timer being held up: 10 ms.
    const BURST: usize = 24;
    let _alone = alone();
    let Some(testbed) = testbed(&Settings::default()) else {
        return;
    };
    let frame = BYTES + NUMBER_AT;
    let bucket = TokenBucket {
        rate_bps: RATE,
        burst_bytes: (BURST * frame) as u32,
        limit_bytes: 1 << 20,
    };
    testbed.sender().shape(bucket).unwrap();
    let each = (8 * frame) as f64 / RATE as f64 * 1e9;
    within_three("160 packets at once through a bucket of 24", || {
        let (near, _far) = sockets(&testbed);
        let mut tap = testbed.sender().tap(1_500, 4 * COUNT).unwrap();
        let mut packets = send(&near, COUNT, BYTES, Duration::ZERO);
        let name = packets.add_tap("own", Clock::SENDER).unwrap();
        let own = Stamp::Tap(name, Way::Outward);
        enter(&mut packets, &mut tap, true, own, BYTES);
        let waited = |row| between(&packets, row, Stamp::Scheduled, Stamp::Sent);
        let beside: Vec<i64> = (0..COUNT)
            .map(|row| between(&packets, row, own, Stamp::Sent))
            .collect();
        // The last that the bucket lets out at once.
        let last = BURST - 1;
        let off = |row: usize| {
            // They come not quite together: what the sender takes from one to the next has not to be waited.
            let apart = between_rows(&packets, last, row);
            let climbed = (waited(row) - waited(last) + apart) as f64;
            let wanted = (row - last) as f64 * each;
            (climbed / wanted - 1.0).abs()
        };
        let mut all: Vec<f64> = (last + 10..COUNT).map(off).collect();
        all.sort_by(f64::total_cmp);
        let usual = all[all.len() / 2];
        let total = waited(COUNT - 1) as f64;
        let aside = beside.iter().map(|ns| ns.abs()).max().unwrap_or(0) as f64;
        println!(
            "waited up to {total} ns, off by {usual:.4} at the median; tap and SOFTWARE {aside} ns apart at most"
        );
        let is_split = usual <= 0.05 && aside < 0.05 * total;
        is_split.then_some(()).ok_or_else(|| {
            format!("off by {usual}, tap and SOFTWARE {aside} ns apart, in all {total} ns")
        })
    });
}

#[test]
fn a_packet_is_stamped_in_the_order_in_which_it_passes() {
    const COUNT: usize = 2_000;
    const BYTES: usize = 100;
    let _alone = alone();
    let settings = Settings {
        bottleneck: BottleneckKind::Kernel,
        ..Settings::symmetric(Duration::ZERO, Some(300_000_000))
    };
    let Some(testbed) = testbed(&settings) else {
        return;
    };
    let (near, far) = sockets(&testbed);
    let mut tap = testbed.tap_router(1_500, 4 * COUNT).unwrap().unwrap();
    let mut packets = send(&near, COUNT, BYTES, Duration::from_micros(200));
    let router = packets.add_tap("router", Clock::SENDER).unwrap();
    let router = Stamp::Tap(router, Way::Outward);
    enter(&mut packets, &mut tap, false, router, BYTES);
    // One kernel stamps at all places.
    packets
        .set_clock(Stamp::FarReceived, Clock::SENDER)
        .unwrap();
    let mut batch = ReceiveBatch::new(64, 2_048);
    while far.receive(&mut batch).unwrap() > 0 {
        for (datagram, received) in batch.iter() {
            let number = u64::from_be_bytes(datagram[..8].try_into().unwrap());
            let at = received.stamps.software_ns.unwrap();
            packets
                .set(number as usize, Stamp::FarReceived, at)
                .unwrap();
        }
    }
    let order = order(&packets);
    let compared: Vec<(Stamp, Stamp, u64)> = order
        .pairs
        .iter()
        .map(|pair| (pair.earlier, pair.later, pair.compared))
        .collect();
    let all = COUNT as u64;
    assert_eq!(
        compared,
        [
            (Stamp::UserSent, Stamp::Scheduled, all),
            (Stamp::Scheduled, Stamp::Sent, all),
            (Stamp::Sent, router, all),
            (router, Stamp::FarReceived, all),
        ]
    );
    println!("{} of {all} in another order", order.violated);
    assert!(order.violated <= all / 1_000, "{order:?}");
}
