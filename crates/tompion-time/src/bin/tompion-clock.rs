//! Prints what the clock says of itself: `cargo run -p tompion-time [POLICY]`. No example, since
//! cargo would first compile what the tests need.

use tompion_time::{Clock, Policy};

fn main() {
    let policy = match std::env::args().nth(1).as_deref().unwrap_or("auto").parse() {
        Ok(policy) => policy,
        Err(why) => {
            eprintln!("tompion-clock: {why}");
            std::process::exit(1);
        }
    };
    let _: Policy = policy;
    println!("{}", Clock::init(policy));
}
