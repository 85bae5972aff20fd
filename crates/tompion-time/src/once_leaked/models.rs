//! Threads that come at the same time, in every order of turns: `make loom`.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::*;

/// A value whose readers must come after whoever made it, and that counts how many there are.
struct Value {
    number: UnsafeCell<u32>,
    _alive: Arc<()>,
}

#[test]
fn all_get_one_value_that_is_whole() {
    loom::model(|| {
        let cell = Arc::new(OnceLeaked::new());
        cell.0.made();
        let alive = Arc::new(());
        let get = |cell: &OnceLeaked<Value>, n| {
            let value = cell.get_or_make(|| Value {
                number: UnsafeCell::new(n),
                _alive: alive.clone(),
            });
            // SAFETY: nobody writes it once it was made.
            value.number.with(|number| unsafe { *number })
        };
        let others = [1, 2].map(|n| {
            let (cell, alive) = (cell.clone(), alive.clone());
            thread::spawn(move || {
                let value = cell.get_or_make(|| Value {
                    number: UnsafeCell::new(n),
                    _alive: alive,
                });
                // SAFETY: as above.
                value.number.with(|number| unsafe { *number })
            })
        });
        let mine = get(&cell, 0);
        let theirs = others.map(|other| other.join().unwrap());
        assert_eq!(theirs, [mine; 2]);
        // The one that stays, and `alive`.
        assert_eq!(Arc::strong_count(&alive), 2);
        // SAFETY: the value that was leaked; no thread is left that could read it.
        drop(unsafe { Box::from_raw(cell.0.load(Ordering::Acquire)) });
    });
}
