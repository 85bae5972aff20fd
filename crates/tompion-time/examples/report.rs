//! Prints what the clock says of itself: `cargo run --example report [POLICY]`.

use tompion_time::{Clock, Policy};

fn main() {
    let policy = match std::env::args().nth(1).as_deref().unwrap_or("auto").parse() {
        Ok(policy) => policy,
        Err(why) => {
            eprintln!("report: {why}");
            std::process::exit(1);
        }
    };
    let _: Policy = policy;
    println!("{}", Clock::init(policy));
}
