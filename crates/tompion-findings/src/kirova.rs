//! Kirova 2019 against its own tables and figures.

mod bandwidth;
mod conclusions;
mod factors;
mod pairs;
mod reads;
mod sleeps;
mod sleeps_io;

pub use conclusions::{
    hypervisor_kinds, overhead_of, virtualbox_first, virtualbox_hundredfold, virtualbox_unfit,
};
pub use sleeps::text_figures;

use tompion_papers::claims::Evidence;

use super::book::Book;

/// The findings about this paper.
pub fn evidence() -> Evidence {
    let mut book = Book::new(
        "kirova-2019",
        &[
            "kirova-2019/table-1",
            "kirova-2019/table-2",
            "kirova-2019/text",
            "Kirova 2019, Equation (1) and the figures of sections 1, 2.1.1 and 3.3",
        ],
    );
    bandwidth::decide(&mut book);
    reads::decide(&mut book);
    factors::decide_reads(&mut book);
    pairs::decide_reads(&mut book);
    sleeps::decide(&mut book);
    sleeps_io::decide(&mut book);
    factors::decide_sleeps(&mut book);
    pairs::decide_sleeps(&mut book);
    conclusions::decide(&mut book);
    book.evidence()
}
