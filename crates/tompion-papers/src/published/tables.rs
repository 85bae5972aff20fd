//! All tables of published figures.

use std::sync::LazyLock;

use crate::published::{Table, file};

static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    // The tests parse the same texts, so a broken file never leaves the workshop.
    let read = |text| file::parse(text).unwrap_or_else(|e| panic!("embedded table: {e}"));
    file::TEXTS.iter().map(|text| read(text)).collect()
});

/// All tables, those of the oldest paper first.
pub fn tables() -> &'static [Table] {
    &TABLES
}

/// The table of that name, such as `kirova-2019/table-1`.
pub fn table(id: &str) -> Option<&'static Table> {
    tables().iter().find(|t| t.id == id)
}

/// The table of that name, or all tables of the paper of that name.
pub fn tables_of(name: &str) -> Vec<&'static Table> {
    tables()
        .iter()
        .filter(|t| t.id == name || t.paper == name)
        .collect()
}
