//! The footer of a Parquet file that may come from a stranger: it is gone through before the
//! library takes memory for the columns that it announces, up to 16 GiB for one of them, or time
//! for lists of nothing.

use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::errors::Result;

use super::shapes::{CHUNK, FILE, KEY_VALUE, ROW_GROUP};
use super::thrift::{BINARY, BYTE, FALSE, I32, Input, LIST, STOP, STRUCT, TRUE, general};

/// The length of the footer and the magic at the end of a file, in bytes.
const END: u64 = 8;
const MAGIC: &[u8] = b"PAR1";

/// The longest footer, which is read as a whole: of as many columns as are read, with two values of each.
const MOST_BYTES: u64 = 1 << 26;

/// How many elements a schema may have, and how deep they may lie within one another. Side tables
/// have at most 1024 columns, and those of other programs may stand beside our own.
const MOST: u64 = 1 << 14;
const DEPTH: usize = 8;

/// How many texts by keys a file may have beside its schema: we write two, other programs one or two.
const MOST_KEYS: u64 = 1 << 10;

/// How many columns of row groups, and how many of these: a run of as many trials as there may be has fewer
/// in any file, and the library makes hundreds of bytes of each, whose description takes thirty.
const MOST_CHUNKS: u64 = 1 << 18;

/// Goes through the footer that a file ends in. The library goes by a field's number alone, so that
/// each must be of the type that parquet.thrift gives it: else two readers of one footer would
/// find two schemas in it.
///
/// # Errors
/// A schema that announces more columns than it has, and one that is none; fields of types that
/// the format does not give them, lists of more than the footer could hold.
pub(super) fn check(file: &File) -> Result<()> {
    let mut end = [0; END as usize];
    let length = file.metadata()?.len();
    let Some(at) = length.checked_sub(END) else {
        // The library says what is wrong with it.
        return Ok(());
    };
    file.read_exact_at(&mut end, at)?;
    let (footer, magic) = end.split_at(4);
    if magic != MAGIC {
        return Ok(());
    }
    let footer = footer.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
    if footer > MOST_BYTES {
        return Err(general(format!(
            "the footer has {footer} bytes, at most {MOST_BYTES} are read"
        )));
    }
    match at.checked_sub(footer) {
        Some(begin) => metadata(&mut Input::new(file, "the footer", begin, at)),
        None => Ok(()),
    }
}

fn metadata(input: &mut Input<'_>) -> Result<()> {
    let mut last = 0;
    if input.field(&mut last)? != Some((1, I32)) {
        return Err(general("the footer begins with no version"));
    }
    input.signed()?;
    if input.field(&mut last)? != Some((2, LIST)) {
        return Err(general("the footer has no schema behind its version"));
    }
    schema(input)?;
    let (mut has_groups, mut has_keys) = (false, false);
    while let Some(field) = input.field(&mut last)? {
        match field {
            (1 | 2, _) => return Err(general("the footer has a second version or schema")),
            (4, LIST) if !std::mem::replace(&mut has_groups, true) => row_groups(input)?,
            (5, LIST) if !std::mem::replace(&mut has_keys, true) => keys(input)?,
            (4 | 5, of) => {
                let id = field.0;
                return Err(general(format!("the footer has a field {id} of type {of}")));
            }
            other => input.known(FILE, other, 0)?,
        }
    }
    Ok(())
}

/// Passes over row groups.
fn row_groups(input: &mut Input<'_>) -> Result<()> {
    let few = |of: u8, count: u64, what: &str| match of == STRUCT && count <= MOST_CHUNKS {
        true => Ok(()),
        false => Err(general(format!(
            "the footer has {count} {what}, at most {MOST_CHUNKS} are read"
        ))),
    };
    let (count, of) = input.list()?;
    few(of, count, "row groups")?;
    let mut chunks = 0_u64;
    for _ in 0..count {
        let mut last = 0;
        while let Some(field) = input.field(&mut last)? {
            if field != (1, LIST) {
                input.known(ROW_GROUP, field, 1)?;
                continue;
            }
            let (more, of) = input.list()?;
            chunks = chunks.saturating_add(more);
            few(of, chunks, "columns of row groups")?;
            for _ in 0..more {
                input.structure(CHUNK, 2)?;
            }
        }
    }
    Ok(())
}

/// Passes over texts by keys, which cost the library far more than their bytes.
fn keys(input: &mut Input<'_>) -> Result<()> {
    let (count, of) = input.list()?;
    if of != STRUCT || count > MOST_KEYS {
        return Err(general(format!(
            "the footer has {count} texts by keys, at most {MOST_KEYS} are read"
        )));
    }
    (0..count).try_for_each(|_| input.structure(KEY_VALUE, 1))
}

fn schema(input: &mut Input<'_>) -> Result<()> {
    let head = input.byte()?;
    let count = match head >> 4 {
        15 => input.unsigned()?,
        few => few.into(),
    };
    if head & 0x0f != STRUCT || count > MOST {
        return Err(general(format!(
            "its schema has {count} elements, at most {MOST} are read"
        )));
    }
    // How many are to come within each of those that are open.
    let mut open: Vec<u64> = Vec::new();
    let mut left = count.saturating_sub(1);
    for _ in 0..count {
        let children = element(input)?;
        if children > left || open.len() > DEPTH {
            return Err(general(format!(
                "its schema announces {children} columns within one of its {count} elements"
            )));
        }
        left -= children;
        if let Some(within) = open.last_mut() {
            *within -= 1;
        }
        open.push(children);
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(())
}

/// Passes over an element of a schema; returns how many there are within it.
fn element(input: &mut Input<'_>) -> Result<u64> {
    let mut children = 0;
    let mut last = 0;
    while let Some(field) = input.field(&mut last)? {
        match field {
            (5, I32) => {
                let announced = input.signed()?;
                let none = |_| general(format!("its schema announces {announced} columns"));
                children = u64::try_from(announced).map_err(none)?;
            }
            (1..=3 | 6..=9, I32) | (4, BINARY) => input.pass(field.1, 0)?,
            (10, STRUCT) => logical_type(input)?,
            _ => return Err(strange(field)),
        }
    }
    Ok(children)
}

/// Passes over one of several structures, each with the fields of its number.
fn logical_type(input: &mut Input<'_>) -> Result<()> {
    one_of(input, |input, number| {
        let mut last = 0;
        while let Some(field) = input.field(&mut last)? {
            match (number, field) {
                // A decimal number's scale and precision.
                (5, (1 | 2, I32)) => input.pass(I32, 0)?,
                // Whether times are in UTC, whether an integer is signed.
                (7 | 8, (1, TRUE | FALSE)) | (10, (2, TRUE | FALSE)) => {}
                // The unit of times.
                (7 | 8, (2, STRUCT)) => one_of(input, |input, _| empty(input))?,
                // Bits of an integer.
                (10, (1, BYTE)) => input.skip(1)?,
                _ => return Err(strange(field)),
            }
        }
        Ok(())
    })
}

fn one_of(
    input: &mut Input<'_>,
    within: impl FnOnce(&mut Input<'_>, i64) -> Result<()>,
) -> Result<()> {
    let mut last = 0;
    match input.field(&mut last)? {
        Some((number, STRUCT)) => within(input, number)?,
        other => return Err(strange(other.unwrap_or((0, STOP)))),
    }
    empty(input)
}

/// Nothing more.
fn empty(input: &mut Input<'_>) -> Result<()> {
    match input.field(&mut 0)? {
        None => Ok(()),
        Some(field) => Err(strange(field)),
    }
}

fn strange((number, of): (i64, u8)) -> parquet::errors::ParquetError {
    general(format!(
        "its schema has a field {number} of type {of}, which is not read"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn checked(content: &[u8]) -> std::result::Result<(), String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        check(&file).map_err(|e| e.to_string())
    }

    #[test]
    fn columns_of_every_type_may_stand_beside_ours() {
        let schema = parse_message_type(
            "message m {
                REQUIRED INT64 at_ns (INTEGER(64,false));
                OPTIONAL BYTE_ARRAY text (STRING);
                OPTIONAL INT32 small (INTEGER(8,true));
                OPTIONAL INT32 price (DECIMAL(9,2));
                OPTIONAL INT64 when (TIMESTAMP(MICROS,true));
                OPTIONAL INT64 daily (TIME(NANOS,false));
                OPTIONAL INT32 day (DATE);
                OPTIONAL INT96 old;
                OPTIONAL BYTE_ARRAY more (JSON);
                OPTIONAL FIXED_LEN_BYTE_ARRAY (16) id (UUID);
                REQUIRED GROUP all (LIST) { REPEATED GROUP list { OPTIONAL DOUBLE element; } }
            }",
        );
        let schema = Arc::new(schema.unwrap());
        let writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
        checked(&writer.into_inner().unwrap()).unwrap();
    }

    #[test]
    fn a_schema_that_announces_more_than_it_has_is_refused() {
        // A version, then a list of structures: so many, each of these bytes.
        let of = |elements: &[&[u8]]| {
            let head = [0x15, 2, 0x19, (elements.len() as u8) << 4 | STRUCT];
            let footer = [&head, elements.concat().as_slice(), &[STOP]].concat();
            let length = (footer.len() as u32).to_le_bytes();
            checked(&[MAGIC, &footer, &length, MAGIC].concat())
        };
        // A name, and how many elements are within.
        let group = |children: u8| [0x48, 1, b'm', 0x15, children << 1, STOP];
        let leaf: &[u8] = &[0x15, 2, 0x25, 2, 0x18, 1, b'a', STOP];
        of(&[&group(1), leaf]).unwrap();
        of(&[&group(2), &group(1), leaf, leaf]).unwrap();
        for wrong in [&[&group(2), leaf][..], &[&group(1), &group(1)]] {
            let error = of(wrong).unwrap_err();
            assert!(error.contains("announces"), "{error}");
        }
        let most = [0x48, 1, b'm', 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, STOP];
        let error = of(&[&most, leaf]).unwrap_err();
        assert!(error.contains("announces 2147483647 columns"), "{error}");
        let error = of(&[&[0x48, 1, b'm', 0x15, 1, STOP]]).unwrap_err();
        assert!(error.contains("announces -1 columns"), "{error}");
        // A name that says that it is a number.
        let error = of(&[&[0x45, 1, 0x15, 2, STOP]]).unwrap_err();
        assert!(error.contains("field 4 of type 5"), "{error}");
        let one = group(1);
        let deep: Vec<&[u8]> = std::iter::repeat_n(one.as_slice(), 11)
            .chain([leaf])
            .collect();
        assert!(of(&deep).unwrap_err().contains("announces"));
        checked(b"PAR1").unwrap();
        checked(b"").unwrap();
    }

    #[test]
    fn what_the_library_would_pass_over_without_end_is_refused() {
        let group: &[u8] = &[0x48, 1, b'm', 0x15, 2, STOP];
        let leaf: &[u8] = &[0x15, 2, 0x25, 2, 0x18, 1, b'a', STOP];
        // Truth values take no bytes: the library would pass over any number of them.
        let behind = |more: &[u8]| {
            let head = [0x15, 2, 0x19, 0x20 | STRUCT];
            let footer = [&head, group, leaf, more, &[STOP]].concat();
            let length = (footer.len() as u32).to_le_bytes();
            checked(&[MAGIC, &footer, &length, MAGIC].concat())
        };
        let many = [0xff, 0xff, 0xff, 0xff, 0x07];
        behind(&[0x16, 0]).unwrap();
        behind(&[0x16, 0, 0xd9, 0x16, 0]).unwrap();
        behind(&[0x39, 0x1c, STOP]).unwrap();
        behind(&[0x29, 0x1c, 0x19, 0x1c, STOP, STOP]).unwrap();
        // A row group with one column, whose description has this field.
        let of_column = |field: &[u8]| {
            let head = [0x29, 0x1c, 0x19, 0x1c, 0x3c];
            [&head, field, &[STOP, STOP, STOP]].concat()
        };
        // How many there are of each level: two, and of more than a schema has.
        behind(&of_column(&[0x0c, 0x20, 0x39, 0x26, 0, 0, STOP])).unwrap();
        let levels = of_column(&[&[0x0c, 0x20, 0x39, 0xf6, 65], &[0; 65][..], &[STOP]].concat());
        let encodings = of_column(&[&[0x29, 0xf5, 65], &[0; 65][..]].concat());
        for (wrong, why) in [
            (&levels[..], "a list of 65, at most 64"),
            (&encodings, "a list of 65, at most 64"),
            (&[&[0xe9, 0xf1], &many[..]].concat(), "list of truths"),
            (&[&[0xe9, 0x19, 0xf1], &many[..]].concat(), "list of truths"),
            (&[&[0xeb], &many[..], &[0x11]].concat(), "field of type 11"),
            (
                &[&[0x29, 0xfc], &many[..], &[STOP]].concat(),
                "row groups, at most",
            ),
            // The number of rows as bytes in which another schema could lie.
            (&[0x18, 2, 0x19, 0x1c], "field 3 of type 8"),
            (&[0x09, 4, 0x1c, STOP], "second version or schema"),
            (&[0x29, 0xfc, 0xa0, 0x8d, 0x16, STOP], "362144 row groups"),
            // A group with that many columns.
            (
                &[0x29, 0x1c, 0x19, 0xfc, 0xa0, 0x8d, 0x16],
                "362144 columns of row groups",
            ),
            (
                &[0x29, 0x1c, STOP, 0x09, 0x08, 0x1c, STOP],
                "field 4 of type 9",
            ),
            // 100,000 texts by keys, none of which has a key.
            (
                &[0x39, 0xfc, 0xa0, 0x8d, 0x06, STOP],
                "100000 texts by keys",
            ),
            (
                &[0x39, 0x1c, STOP, 0x09, 0x0a, 0x1c, STOP],
                "field 5 of type 9",
            ),
        ] {
            let error = behind(wrong).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn a_footer_of_more_than_is_read_at_once_is_refused() {
        let file = tempfile::tempfile().unwrap();
        let length = MOST_BYTES as u32 + 1;
        let end = [&length.to_le_bytes(), MAGIC].concat();
        file.write_all_at(&end, 2 * MOST_BYTES).unwrap();
        let error = check(&file).unwrap_err().to_string();
        assert!(error.contains("67108865 bytes, at most"), "{error}");
    }
}
