//! The first process of a guest; built static, it is `/init` in the initramfs.
#![forbid(unsafe_code)]

fn main() {
    tompion_guest::run_as_init()
}
