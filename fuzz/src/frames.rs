//! Frames as results come in, with their checksums made right.

/// Makes the last four bytes of a header of so many bytes the checksum of it and of all that
/// follows it within the lengths that it states.
pub fn repair(frame: &mut [u8], header_bytes: usize) {
    let Some((header, body)) = frame.split_at_mut_checked(header_bytes) else {
        return;
    };
    let (checked, sum) = header.split_at_mut(header_bytes - 4);
    // Behind magic, layout, kind and status.
    let lengths = checked[20..].chunks_exact(8).map(|word| {
        let word = word.try_into().expect("eight bytes");
        u64::from_le_bytes(word)
    });
    let all = lengths.fold(0_u64, u64::saturating_add);
    let there = usize::try_from(all).unwrap_or(usize::MAX).min(body.len());
    let mut hash = crc32fast::Hasher::new();
    hash.update(checked);
    hash.update(&body[..there]);
    sum.copy_from_slice(&hash.finalize().to_le_bytes());
}
