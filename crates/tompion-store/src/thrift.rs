//! Structures of a Parquet file as Thrift's compact protocol has them, read before the library
//! believes what they announce.

use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::errors::{ParquetError, Result};

/// Types of fields.
pub(super) const STOP: u8 = 0;
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const BYTE: u8 = 3;
pub(super) const I16: u8 = 4;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const DOUBLE: u8 = 7;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
pub(super) const SET: u8 = 10;
pub(super) const STRUCT: u8 = 12;

/// What a field holds.
pub(super) enum Shape {
    /// A number or bytes, by its type.
    Plain(u8),
    /// A truth value, which lies in the type.
    Truth,
    Struct(Fields),
    /// Of so many elements at most.
    List(u64, &'static Shape),
}

/// Fields of a structure by their numbers.
pub(super) type Fields = &'static [(i64, Shape)];

/// How deep structures may lie within one another.
const DEPTH: usize = 8;
/// Bytes that are read at a time.
const PIECE: usize = 4096;

pub(super) fn general(why: impl Into<String>) -> ParquetError {
    ParquetError::General(why.into())
}

/// Bytes of a file that hold such structures.
pub(super) struct Input<'a> {
    file: &'a File,
    /// What is read there, for errors.
    what: &'static str,
    pub(super) at: u64,
    end: u64,
    piece: Vec<u8>,
    /// Where the piece begins.
    from: u64,
}

impl<'a> Input<'a> {
    pub(super) fn new(file: &'a File, what: &'static str, at: u64, end: u64) -> Self {
        Self {
            file,
            what,
            at,
            end,
            piece: Vec::new(),
            from: at,
        }
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let what = self.what;
        let eof = || general(format!("{what} ends early"));
        if self.at >= self.end {
            return Err(eof());
        }
        let within = |from: u64, at: u64| usize::try_from(at.checked_sub(from)?).ok();
        let found = within(self.from, self.at).and_then(|i| self.piece.get(i).copied());
        let byte = match found {
            Some(byte) => byte,
            None => {
                self.piece.resize(PIECE, 0);
                let read = self.file.read_at(&mut self.piece, self.at)?;
                self.piece.truncate(read);
                self.from = self.at;
                self.piece.first().copied().ok_or_else(eof)?
            }
        };
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn skip(&mut self, bytes: u64) -> Result<()> {
        let at = self.at.checked_add(bytes).filter(|at| *at <= self.end);
        self.at = at.ok_or_else(|| general(format!("{} ends beyond its place", self.what)))?;
        Ok(())
    }

    pub(super) fn unsigned(&mut self) -> Result<u64> {
        varint(|| self.byte())?
            .ok_or_else(|| general(format!("a number in {} does not end", self.what)))
    }

    pub(super) fn signed(&mut self) -> Result<i64> {
        let zigzag = self.unsigned()?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    /// The next field of a structure: its number and type.
    pub(super) fn field(&mut self, last: &mut i64) -> Result<Option<(i64, u8)>> {
        let head = self.byte()?;
        let of = head & 0x0f;
        if of == STOP {
            return Ok(None);
        }
        *last = match head >> 4 {
            0 => self.signed()?,
            more => last.saturating_add(more.into()),
        };
        // The library keeps numbers in 16 bits.
        match (0..=i16::MAX.into()).contains(last) {
            true => Ok(Some((*last, of))),
            false => Err(general(format!("{} has a field {last}", self.what))),
        }
    }

    /// Passes over a structure of these fields, each of which must be of its type.
    pub(super) fn structure(&mut self, known: Fields, depth: usize) -> Result<()> {
        let mut last = 0;
        while let Some(field) = self.field(&mut last)? {
            self.known(known, field, depth)?;
        }
        Ok(())
    }

    /// Passes over the value of a field of a structure of these fields.
    pub(super) fn known(&mut self, known: Fields, (id, of): (i64, u8), depth: usize) -> Result<()> {
        let Some((_, shape)) = known.iter().find(|(number, _)| *number == id) else {
            return self.pass(of, depth);
        };
        match self.shaped(shape, of, depth)? {
            true => Ok(()),
            false => {
                let what = self.what;
                Err(general(format!("{what} has a field {id} of type {of}")))
            }
        }
    }

    /// Passes over a value if it is of the type that its shape tells.
    fn shaped(&mut self, shape: &Shape, of: u8, depth: usize) -> Result<bool> {
        match (shape, of) {
            (Shape::Plain(kind), of) if *kind == of => self.pass(of, depth)?,
            (Shape::Truth, TRUE | FALSE) => {}
            (Shape::Struct(fields), STRUCT) => self.structure(fields, depth + 1)?,
            (Shape::List(most, element), LIST) => {
                let (count, of) = self.list()?;
                if count > *most {
                    let what = self.what;
                    return Err(general(format!(
                        "{what} has a list of {count}, at most {most} are read"
                    )));
                }
                for _ in 0..count {
                    if !self.shaped(element, of, depth + 1)? {
                        return Ok(false);
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The head of a list: how many elements, and of which type.
    pub(super) fn list(&mut self) -> Result<(u64, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.unsigned()?,
            few => few.into(),
        };
        Ok((count, head & 0x0f))
    }

    /// Passes over a value that nobody knows.
    pub(super) fn pass(&mut self, of: u8, depth: usize) -> Result<()> {
        if depth > DEPTH {
            return Err(general(format!("{} is too deep", self.what)));
        }
        match of {
            TRUE | FALSE => Ok(()),
            BYTE => self.skip(1),
            I16 | I32 | I64 => self.unsigned().map(drop),
            DOUBLE => self.skip(8),
            BINARY => {
                let bytes = self.unsigned()?;
                self.skip(bytes)
            }
            LIST | SET => {
                let (count, of) = self.list()?;
                // Each element takes a byte at least, but for truth values, of which the library
                // passes over any number without one.
                match of {
                    TRUE | FALSE => Err(general(format!("{} has a list of truths", self.what))),
                    _ => (0..count).try_for_each(|_| self.pass(of, depth + 1)),
                }
            }
            STRUCT => self.structure(&[], depth + 1),
            // Maps, too: no structure of the format has one.
            _ => Err(general(format!("{} has a field of type {of}", self.what))),
        }
    }
}

/// A number of seven bits a byte, the lowest first (ULEB128); none where it does not end.
pub(super) fn varint<E>(
    mut byte: impl FnMut() -> std::result::Result<u8, E>,
) -> std::result::Result<Option<u64>, E> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = byte()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_within_ten_bytes() {
        let read = |bytes: &[u8]| {
            let mut bytes = bytes.iter();
            varint(|| bytes.next().copied().ok_or(()))
        };
        assert_eq!(read(&[0xac, 0x02]), Ok(Some(300)));
        assert_eq!(read(&[0x80]), Err(()));
        assert_eq!(read(&[0x80; 20]), Ok(None));
    }
}
