//! What parquet.thrift says of the structures in a file. The library goes by a field's number
//! alone: whoever looks at them before it must find each of the type given here, or the two
//! would read different things.

use super::thrift::{BINARY, DOUBLE, Fields, I16, I32, I64, Shape};

const NUMBER: Shape = Shape::Plain(I32);
const LONG: Shape = Shape::Plain(I64);
const BYTES: Shape = Shape::Plain(BINARY);
const REAL: Shape = Shape::Plain(DOUBLE);
const NOTHING: Shape = Shape::Struct(&[]);

/// How many elements a list of a column has at most. Those that programs write have as many as there
/// are levels, encodings or parts of a column's path; the library takes eight bytes and more for one that
/// the file has in a single byte.
const FEW: u64 = 64;

/// How many columns' order a file may tell, and a row group by how many it may be sorted.
const COLUMNS: u64 = 1 << 14;
const SORTED: u64 = 1 << 10;

const fn few(element: &'static Shape) -> Shape {
    Shape::List(FEW, element)
}

/// `FileMetaData`, but for version, schema, row groups and metadata by keys.
pub(super) const FILE: Fields = &[
    (3, LONG),
    (6, BYTES),
    (7, Shape::List(COLUMNS, &Shape::Struct(COLUMN_ORDER))),
    (8, Shape::Struct(ENCRYPTION)),
    (9, BYTES),
];

const KEYS: Shape = few(&Shape::Struct(KEY_VALUE));

/// `KeyValue`.
pub(super) const KEY_VALUE: Fields = &[(1, BYTES), (2, BYTES)];

const COLUMN_ORDER: Fields = &[(1, NOTHING), (2, NOTHING)];

const ENCRYPTION: Fields = &[(1, Shape::Struct(CIPHER)), (2, Shape::Struct(CIPHER))];
const CIPHER: Fields = &[(1, BYTES), (2, BYTES), (3, Shape::Truth)];

/// `RowGroup`.
pub(super) const ROW_GROUP: Fields = &[
    (1, Shape::List(COLUMNS, &Shape::Struct(CHUNK))),
    (2, LONG),
    (3, LONG),
    (4, Shape::List(SORTED, &Shape::Struct(SORTING))),
    (5, LONG),
    (6, LONG),
    (7, Shape::Plain(I16)),
];

const SORTING: Fields = &[(1, NUMBER), (2, Shape::Truth), (3, Shape::Truth)];

/// `ColumnChunk`.
pub(super) const CHUNK: Fields = &[
    (1, BYTES),
    (2, LONG),
    (3, Shape::Struct(COLUMN)),
    (4, LONG),
    (5, NUMBER),
    (6, LONG),
    (7, NUMBER),
    (8, Shape::Struct(CRYPTO)),
    (9, BYTES),
];

/// `ColumnCryptoMetaData`.
const CRYPTO: Fields = &[
    (1, NOTHING),
    (2, Shape::Struct(&[(1, few(&BYTES)), (2, BYTES)])),
];

/// `ColumnMetaData`.
const COLUMN: Fields = &[
    (1, NUMBER),
    (2, few(&NUMBER)),
    (3, few(&BYTES)),
    (4, NUMBER),
    (5, LONG),
    (6, LONG),
    (7, LONG),
    (8, KEYS),
    (9, LONG),
    (10, LONG),
    (11, LONG),
    (12, Shape::Struct(STATISTICS)),
    (
        13,
        few(&Shape::Struct(&[(1, NUMBER), (2, NUMBER), (3, NUMBER)])),
    ),
    (14, LONG),
    (15, NUMBER),
    (16, Shape::Struct(SIZES)),
    (17, Shape::Struct(PLACES)),
];

const STATISTICS: Fields = &[
    (1, BYTES),
    (2, BYTES),
    (3, LONG),
    (4, LONG),
    (5, BYTES),
    (6, BYTES),
    (7, Shape::Truth),
    (8, Shape::Truth),
    (9, LONG),
];

/// `SizeStatistics`.
const SIZES: Fields = &[(1, LONG), (2, few(&LONG)), (3, few(&LONG))];

/// `GeospatialStatistics`.
const PLACES: Fields = &[(1, Shape::Struct(BOX)), (2, few(&NUMBER))];
const BOX: Fields = &[
    (1, REAL),
    (2, REAL),
    (3, REAL),
    (4, REAL),
    (5, REAL),
    (6, REAL),
    (7, REAL),
    (8, REAL),
];

/// `PageHeader`.
pub(super) const PAGE: Fields = &[
    (1, NUMBER),
    (2, NUMBER),
    (3, NUMBER),
    (4, NUMBER),
    (5, Shape::Struct(DATA)),
    (6, NOTHING),
    (7, Shape::Struct(DICTIONARY)),
    (8, Shape::Struct(DATA_2)),
];

pub(super) const DATA: Fields = &[
    (1, NUMBER),
    (2, NUMBER),
    (3, NUMBER),
    (4, NUMBER),
    (5, Shape::Struct(STATISTICS)),
];

pub(super) const DICTIONARY: Fields = &[(1, NUMBER), (2, NUMBER), (3, Shape::Truth)];

pub(super) const DATA_2: Fields = &[
    (1, NUMBER),
    (2, NUMBER),
    (3, NUMBER),
    (4, NUMBER),
    (5, NUMBER),
    (6, NUMBER),
    (7, Shape::Truth),
    (8, Shape::Struct(STATISTICS)),
];
