//! Columns on their way into a Parquet file and out of it, and what their checksum takes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Fault;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescriptor, Type};

use tompion_model::{self as model, SideTable, Values, printable};

/// A column of one table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    /// For each row 1 where it has a value, else 0; absent where all have one.
    pub(super) levels: Option<Vec<i16>>,
    pub(super) data: Data,
}

/// The values that are there, in the order of their rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    UInt32(Vec<i32>),
    Int64(Vec<i64>),
    UInt64(Vec<i64>),
    Double(Vec<f64>),
    Text(Vec<ByteArray>),
}

/// What a column can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Double,
    Text,
}

impl Kind {
    /// What a file's column is of; `None` for what no table of ours holds. A decimal, a day or a moment is no number of
    /// what a table counts in.
    pub(super) fn of(column: &ColumnDescriptor) -> Option<Self> {
        let is_nested = column.path().parts().len() > 1;
        if column.max_rep_level() != 0 || column.max_def_level() > 1 || is_nested {
            return None;
        }
        let is_text = column.physical_type() == Physical::BYTE_ARRAY;
        let is_number = || {
            let logical = column.logical_type_ref();
            let older = column.converted_type().to_string();
            matches!(logical, None | Some(LogicalType::Integer(_)))
                && ["NONE", "INT_", "UINT_"]
                    .iter()
                    .any(|of| older.starts_with(of))
        };
        if !is_text && !is_number() {
            return None;
        }
        let unsigned = |bits: i8| match column.logical_type_ref() {
            Some(LogicalType::Integer(of)) => !of.is_signed && of.bit_width == bits,
            // What DuckDB writes says it in the older way alone.
            None if bits == 32 => column.converted_type() == ConvertedType::UINT_32,
            None => column.converted_type() == ConvertedType::UINT_64,
            _ => false,
        };
        Some(match column.physical_type() {
            Physical::BOOLEAN => Self::Boolean,
            Physical::INT32 if unsigned(32) => Self::UInt32,
            Physical::INT32 => Self::Int32,
            Physical::INT64 if unsigned(64) => Self::UInt64,
            Physical::INT64 => Self::Int64,
            Physical::DOUBLE => Self::Double,
            Physical::BYTE_ARRAY if column.converted_type() == ConvertedType::UTF8 => Self::Text,
            _ => return None,
        })
    }

    /// What a side table's column is of.
    pub(super) fn of_values(values: &Values) -> Self {
        match values {
            Values::Boolean(_) => Self::Boolean,
            Values::Int32(_) => Self::Int32,
            Values::UInt32(_) => Self::UInt32,
            Values::Int64(_) => Self::Int64,
            Values::UInt64(_) => Self::UInt64,
            Values::Double(_) => Self::Double,
            Values::Text(_) => Self::Text,
        }
    }

    /// What docs/run-format.md calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Int32 => "int32",
            Self::UInt32 => "uint32 (INT32 with the logical type of an integer without sign)",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::Double => "double",
            Self::Text => "text",
        }
    }

    /// The column of a schema.
    pub(super) fn described(self, name: &str, required: bool) -> Result<Type, ParquetError> {
        let integer = |bit_width| Some(LogicalType::integer(bit_width, false));
        let (physical, logical) = match self {
            Self::Boolean => (Physical::BOOLEAN, None),
            Self::Int32 => (Physical::INT32, None),
            Self::UInt32 => (Physical::INT32, integer(32)),
            Self::Int64 => (Physical::INT64, None),
            Self::UInt64 => (Physical::INT64, integer(64)),
            Self::Double => (Physical::DOUBLE, None),
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = match required {
            true => Repetition::REQUIRED,
            false => Repetition::OPTIONAL,
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
    }
}

impl Data {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Boolean(_) => Kind::Boolean,
            Self::Int32(_) => Kind::Int32,
            Self::UInt32(_) => Kind::UInt32,
            Self::Int64(_) => Kind::Int64,
            Self::UInt64(_) => Kind::UInt64,
            Self::Double(_) => Kind::Double,
            Self::Text(_) => Kind::Text,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Boolean(v) => v.len(),
            Self::Int32(v) | Self::UInt32(v) => v.len(),
            Self::Int64(v) | Self::UInt64(v) => v.len(),
            Self::Double(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }
}

impl Column {
    /// A column in which every row has a value.
    pub(super) fn whole(name: &str, data: Data) -> Self {
        Self {
            name: name.to_owned(),
            levels: None,
            data,
        }
    }

    /// A column without rows.
    pub(super) fn none(name: &str, kind: Kind) -> Self {
        let data = match kind {
            Kind::Boolean => Data::Boolean(Vec::new()),
            Kind::Int32 => Data::Int32(Vec::new()),
            Kind::UInt32 => Data::UInt32(Vec::new()),
            Kind::Int64 => Data::Int64(Vec::new()),
            Kind::UInt64 => Data::UInt64(Vec::new()),
            Kind::Double => Data::Double(Vec::new()),
            Kind::Text => Data::Text(Vec::new()),
        };
        Self::whole(name, data)
    }

    /// A column of texts, some of which may be missing.
    pub(super) fn text<'a>(
        name: &str,
        texts: impl Iterator<Item = Option<std::borrow::Cow<'a, str>>>,
    ) -> Self {
        let mut values: Vec<ByteArray> = Vec::new();
        let levels: Vec<i16> = texts
            .map(|text| {
                let level = text.is_some().into();
                values.extend(text.map(|text| match values.last() {
                    // They come in runs, which share their bytes.
                    Some(last) if last.data() == text.as_bytes() => last.clone(),
                    _ => ByteArray::from(&*text),
                }));
                level
            })
            .collect();
        Self::with_levels(name, levels, Data::Text(values))
    }

    pub(super) fn with_levels(name: &str, levels: Vec<i16>, data: Data) -> Self {
        let is_whole = levels.len() == data.len();
        Self {
            name: name.to_owned(),
            levels: (!is_whole).then_some(levels),
            data,
        }
    }

    /// Bytes of its texts, each as often as it stands there.
    pub(super) fn text_bytes(&self) -> u64 {
        match &self.data {
            Data::Text(texts) => texts.iter().map(|text| text.len() as u64).sum(),
            _ => 0,
        }
    }

    pub(super) fn rows(&self) -> usize {
        let data = self.data.len();
        self.levels.as_ref().map_or(data, Vec::len)
    }
}

/// The columns of a side table.
pub(super) fn of_side_table(table: &SideTable) -> Vec<Column> {
    fn split<T: Clone, U>(values: &[Option<T>], into: fn(T) -> U) -> (Vec<i16>, Vec<U>) {
        let levels = values.iter().map(|v| v.is_some().into()).collect();
        (levels, values.iter().flatten().cloned().map(into).collect())
    }
    fn same<T>(value: T) -> T {
        value
    }
    let column = |c: &model::Column| {
        macro_rules! column {
            ($values:expr, $kind:path, $into:expr) => {{
                let (levels, values) = split($values, $into);
                Column::with_levels(&c.name, levels, $kind(values))
            }};
        }
        match &c.values {
            Values::Boolean(v) => column!(v, Data::Boolean, same),
            Values::Int32(v) => column!(v, Data::Int32, same),
            Values::UInt32(v) => column!(v, Data::UInt32, u32::cast_signed),
            Values::Int64(v) => column!(v, Data::Int64, same),
            Values::UInt64(v) => column!(v, Data::UInt64, u64::cast_signed),
            Values::Double(v) => column!(v, Data::Double, same),
            Values::Text(v) => {
                Column::text(&c.name, v.iter().map(|t| t.as_deref().map(Into::into)))
            }
        }
    };
    table.columns().iter().map(column).collect()
}

/// The side table of these columns.
pub(super) fn to_side_table(columns: Vec<Column>) -> Result<SideTable, Fault> {
    fn join<T, U>(
        levels: Option<Vec<i16>>,
        values: Vec<T>,
        mut into: impl FnMut(T) -> Result<U, Fault>,
    ) -> Result<Vec<Option<U>>, Fault> {
        let Some(levels) = levels else {
            return values.into_iter().map(|v| into(v).map(Some)).collect();
        };
        let mut values = values.into_iter();
        let mut next = || values.next().ok_or(Fault::from("a value is missing"));
        levels
            .into_iter()
            .map(|level| match level {
                0 => Ok(None),
                _ => next().and_then(&mut into).map(Some),
            })
            .collect()
    }
    let text = |levels, values| {
        let mut shared = SharedTexts::default();
        join(levels, values, |v| shared.of(v)).map(Values::Text)
    };
    let columns: Result<Vec<model::Column>, Fault> = columns
        .into_iter()
        .map(|c| {
            let l = c.levels;
            let values = match c.data {
                Data::Boolean(v) => Values::Boolean(join(l, v, Ok)?),
                Data::Int32(v) => Values::Int32(join(l, v, Ok)?),
                Data::UInt32(v) => Values::UInt32(join(l, v, |v| Ok(v.cast_unsigned()))?),
                Data::Int64(v) => Values::Int64(join(l, v, Ok)?),
                Data::UInt64(v) => Values::UInt64(join(l, v, |v| Ok(v.cast_unsigned()))?),
                Data::Double(v) => Values::Double(join(l, v, Ok)?),
                Data::Text(v) => text(l, v)?,
            };
            Ok(model::Column {
                name: c.name,
                values,
            })
        })
        .collect();
    SideTable::new(columns?).map_err(|e| e.to_string().into())
}

/// Texts of a column as they are shown, each kept once.
#[derive(Default)]
struct SharedTexts(HashMap<Box<[u8]>, Arc<str>>);

impl SharedTexts {
    /// Texts that are looked for again. Where more differ, sharing them would save little.
    const MOST: usize = 1 << 12;

    fn of(&mut self, text: ByteArray) -> Result<Arc<str>, Fault> {
        if let Some(known) = self.0.get(text.data()) {
            return Ok(Arc::clone(known));
        }
        let shown = text
            .as_utf8()
            .map_err(|_| "a text is not UTF-8".to_owned())?;
        let shown: Arc<str> = printable(shown).into();
        if self.0.len() < Self::MOST {
            self.0.insert(text.data().into(), Arc::clone(&shown));
        }
        Ok(shown)
    }
}

/// The checksum of a table, in eight hexadecimal digits: CRC-32 of the number of rows (64
/// bits) and of each column: length of its name (32 bits) and the name; a byte 0 where
/// every row has a value, else a byte 1 and for each row a byte 1 where it has one and
/// 0 where not; the values that are there. Numbers are little endian, truth values a byte,
/// texts their length (32 bits) and UTF-8.
pub(super) fn checksum(rows: usize, columns: &[Column]) -> String {
    let mut hash = Hash::default();
    hash.take(&(rows as u64).to_le_bytes());
    for column in columns {
        hash.take(&(column.name.len() as u32).to_le_bytes());
        hash.take(column.name.as_bytes());
        match &column.levels {
            None => hash.take(&[0]),
            Some(levels) => {
                hash.take(&[1]);
                hash.take_all(levels, |level| [level as u8]);
            }
        }
        match &column.data {
            Data::Boolean(v) => hash.take_all(v, |v| [v.into()]),
            Data::Int32(v) | Data::UInt32(v) => hash.take_all(v, i32::to_le_bytes),
            Data::Int64(v) | Data::UInt64(v) => hash.take_all(v, i64::to_le_bytes),
            Data::Double(v) => hash.take_all(v, f64::to_le_bytes),
            Data::Text(v) => v.iter().for_each(|v| hash.take_text(v)),
        }
    }
    hash.finish()
}

/// Takes small pieces without the cost of a call for each.
#[derive(Default)]
struct Hash {
    hash: crc32fast::Hasher,
    waiting: Vec<u8>,
}

impl Hash {
    /// Bytes that are taken at once.
    const PIECE: usize = 1 << 14;

    #[inline]
    fn take(&mut self, bytes: &[u8]) {
        if self.waiting.len() + bytes.len() > Self::PIECE {
            self.flush();
        }
        self.waiting.extend_from_slice(bytes);
    }

    /// Takes values of `N` bytes each, many at a time.
    fn take_all<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.flush();
        let mut buffer = [0; Self::PIECE];
        for piece in values.chunks(Self::PIECE / N) {
            let places = buffer.as_chunks_mut().0;
            for (place, value) in places.iter_mut().zip(piece) {
                *place = bytes(*value);
            }
            self.hash.update(&buffer[..piece.len() * N]);
        }
    }

    fn flush(&mut self) {
        self.hash.update(&self.waiting);
        self.waiting.clear();
    }

    fn take_text(&mut self, text: &ByteArray) {
        self.take(&(text.len() as u32).to_le_bytes());
        self.take(text.data());
    }

    fn finish(mut self) -> String {
        self.flush();
        hexadecimal(self.hash.finalize())
    }
}

/// A checksum as it is written.
pub(super) fn hexadecimal(crc32: u32) -> String {
    format!("{crc32:08x}")
}

/// What a checksum has to be that is none, as the end of a sentence; `None` where it is one, right or wrong.
pub(super) fn form_of_checksum(stated: &str) -> Option<String> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_one = stated.len() == 8 && stated.bytes().all(is_digit);
    let shown: String = stated.chars().take(20).collect();
    (!is_one).then(|| {
        format!(
            "`{}` is no checksum, which has eight digits 0-9 and a-f",
            shown.escape_debug()
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    #[test]
    fn a_checksum_has_eight_digits_in_lower_case() {
        for right in ["00000000", "13eaa22a", "ffffffff"] {
            assert_eq!(form_of_checksum(right), None);
        }
        for wrong in [
            "",
            "13EAA22A",
            "13eaa22",
            "13eaa22aa",
            "0x13eaa2",
            "13eaa22g",
            "é3eaa22",
        ] {
            let told = form_of_checksum(wrong).unwrap();
            assert!(
                told.starts_with(&format!("`{wrong}` is no checksum")),
                "{told}"
            );
        }
        assert!(form_of_checksum(&"9".repeat(1_000)).unwrap().len() < 100);
    }

    /// Computed by Python's zlib from the words of docs/run-format.md.
    #[test]
    fn checksums_are_those_that_the_page_says() {
        let columns = [
            Column::whole("a", Data::Int64(vec![1, -2])),
            Column::whole("b", Data::UInt32(vec![3, -1])),
            Column::text("c", [None, Some("x".into())].into_iter()),
            Column::whole("d", Data::Double(vec![0.5, -1e300])),
            Column::whole("e", Data::Boolean(vec![true, false])),
        ];
        assert_eq!(checksum(2, &columns), "efb7488d");
    }

    #[test]
    fn what_counts_in_a_unit_of_its_own_is_no_number() {
        let of = |column: &str| {
            let schema = parse_message_type(&format!("message m {{ {column} }}")).unwrap();
            Kind::of(&SchemaDescriptor::new(Arc::new(schema)).column(0))
        };
        for (column, kind) in [
            ("REQUIRED INT64 a;", Kind::Int64),
            ("REQUIRED INT64 a (INT_64);", Kind::Int64),
            ("REQUIRED INT64 a (INTEGER(64,true));", Kind::Int64),
            ("REQUIRED INT64 a (UINT_64);", Kind::UInt64),
            ("REQUIRED INT32 a (INTEGER(8,true));", Kind::Int32),
            ("REQUIRED INT32 a (UINT_32);", Kind::UInt32),
            ("OPTIONAL DOUBLE a;", Kind::Double),
            ("REQUIRED BOOLEAN a;", Kind::Boolean),
            ("REQUIRED BYTE_ARRAY a (UTF8);", Kind::Text),
            ("REQUIRED BYTE_ARRAY a (STRING);", Kind::Text),
        ] {
            assert_eq!(of(column), Some(kind), "{column}");
        }
        for column in [
            "REQUIRED INT64 a (DECIMAL(18,3));",
            "REQUIRED INT64 a (TIMESTAMP(MICROS,true));",
            "REQUIRED INT64 a (TIMESTAMP_MILLIS);",
            "REQUIRED INT64 a (TIME(NANOS,false));",
            "REQUIRED INT32 a (DATE);",
            "REQUIRED INT32 a (TIME_MILLIS);",
            "OPTIONAL GROUP b { REQUIRED BYTE_ARRAY a (UTF8); }",
            "REQUIRED GROUP b { REQUIRED INT64 a; }",
            "REQUIRED BYTE_ARRAY a (JSON);",
            "REQUIRED BYTE_ARRAY a;",
        ] {
            assert_eq!(of(column), None, "{column}");
        }
    }
}
