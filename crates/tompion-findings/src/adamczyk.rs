//! Adamczyk 2015 against the figures of its own text.

use tompion_papers::claims::Evidence;
use tompion_papers::published::{Row, table};

use super::book::{Book, effect, least, most, sig};

/// The findings about this paper.
pub fn evidence() -> Evidence {
    let mut book = Book::new(
        "adamczyk-2015",
        &[
            "adamczyk-2015/text",
            "Adamczyk 2015, arithmetic of the introduction",
        ],
    );
    resolutions(&mut book);
    arithmetic(&mut book);
    book.evidence()
}

/// The one number of a column in the rows that `wanted` picks, in the column's unit.
fn figure(column: &str, wanted: &[(&str, &str)]) -> f64 {
    let t = table("adamczyk-2015/text").expect("a published text");
    let number = |r: &Row| r.value(column)?.number();
    let mut found = t.rows.iter().filter(|r| r.has(wanted)).filter_map(number);
    let first = found
        .next()
        .unwrap_or_else(|| panic!("no {column} of {wanted:?}"));
    assert!(found.next().is_none(), "one {column} of {wanted:?}");
    first
}

/// Usual delay at rest in microseconds.
fn idle(column: &str, platform: &str) -> f64 {
    figure(column, &[("platform", platform), ("load", "idle")])
}

fn resolutions(book: &mut Book) {
    let emulated = [
        idle("excess", "vmware-player"),
        idle("excess", "virtualbox"),
        idle("excess_to", "virtualbox"),
        idle("excess", "qemu"),
    ];
    let kvm = [idle("excess", "kvm"), idle("excess_to", "kvm")];
    let largest = most(emulated.into_iter().chain(kvm));
    book.holds(
        "hundreds-of-microseconds",
        largest >= 100.0,
        format!("The largest delay at rest is {} us.", sig(largest)),
        vec![effect("largest delay at rest", largest, "us")],
    );
    book.holds(
        "hosted-tens-of-us",
        emulated.iter().all(|d| (10.0..100.0).contains(d)),
        format!("{} to {} us.", sig(least(emulated)), sig(most(emulated))),
        vec![
            effect("smallest delay", least(emulated), "us"),
            effect("largest delay", most(emulated), "us"),
        ],
    );
    let (qemu, virtualbox) = (emulated[3], [emulated[1], emulated[2]]);
    let middle = (virtualbox[0] + virtualbox[1]) / 2.0;
    book.holds(
        "qemu-slightly-better-than-virtualbox",
        qemu < middle && qemu >= middle * 2.0 / 3.0,
        format!(
            "{} us against {} to {} us, {} in the middle.",
            sig(qemu),
            sig(virtualbox[0]),
            sig(virtualbox[1]),
            sig(middle)
        ),
        vec![
            effect("Qemu's delay", qemu, "us"),
            effect("middle of VirtualBox's delays", middle, "us"),
        ],
    );
    book.holds(
        "kvm-better-than-emulation",
        most(kvm) < least(emulated) && least(kvm) >= 10.0,
        format!(
            "{} to {} us against {} and more.",
            sig(kvm[0]),
            sig(kvm[1]),
            sig(least(emulated))
        ),
        vec![
            effect("KVM's largest delay", most(kvm), "us"),
            effect("least delay of the others", least(emulated), "us"),
        ],
    );
    let disk = figure(
        "resolution",
        &[("platform", "vmware-player"), ("load", "disk")],
    );
    let rest = idle("excess", "vmware-player");
    book.open(
        "vmware-worst",
        format!("Its delays are the largest named, {} us at rest and {} us beside disk interrupts; standard deviations are not in the text.", sig(rest), sig(disk)),
        vec![effect("delay at rest", rest, "us"), effect("delay beside disk interrupts", disk, "us")],
    );
}

fn arithmetic(book: &mut Book) {
    let packet_us = 8.0 * 1500.0 / 1e3;
    book.holds(
        "packet-takes-12-us",
        packet_us == 12.0,
        format!("12000 bit at 1 Gbit/s take {} us.", sig(packet_us)),
        vec![effect("time on the wire", packet_us, "us")],
    );
    let sd = |p| {
        figure(
            "sd",
            &[("platform", p), ("load", "disk"), ("period", "50us")],
        )
    };
    let (stock, new) = (sd("xen"), sd("xen-new-timer"));
    let gain = stock / new;
    book.holds(
        "two-orders-of-magnitude",
        (1.5..=2.5).contains(&gain.log10()),
        format!("{stock} / {new} us is {} times.", sig(gain)),
        vec![effect("ratio of the standard deviations", gain, "1")],
    );
}
