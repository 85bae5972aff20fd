//! What is not the report of a run: comparisons, platforms, the papers' tables, claims, what
//! held up a program.

mod claims;
mod compare;
mod factors;
mod platforms;
mod program;
mod published;

pub use claims::{
    CLAIMS_JSON_VERSION, claim_json, claim_text, claims_json, claims_text, findings_text,
};
pub(crate) use compare::words;
pub use compare::{CompareView, compare_json, compare_text};
pub use factors::{factors_json, factors_text};
pub use platforms::{platforms_json, platforms_text};
pub use program::program_text;
pub use published::{published_json, published_list, published_list_json, published_table};
