//! All unsafe code of these tests: allocations counted, system calls refused, frames sent raw.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts what each thread allocates.
struct Counting;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Of a thread that ends, whose count is gone, nobody asks.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread has allocated or freed so far.
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// Has the kernel refuse `setsockopt` of these options of SOL_SOCKET with ENOPROTOOPT, as gVisor
/// does, for the calling thread and for good.
pub fn refuse_socket_options(options: &[i32]) -> io::Result<()> {
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    // `struct seccomp_data`: the call's number at 0, its arguments from 16 on.
    let mut program = vec![
        step(LOAD, 0, 0, 0),
        step(EQUAL, libc::SYS_setsockopt as u32, 1, 0),
        step(RETURN, ALLOW, 0, 0),
        step(LOAD, 24, 0, 0),
        step(EQUAL, libc::SOL_SOCKET as u32, 1, 0),
        step(RETURN, ALLOW, 0, 0),
        step(LOAD, 32, 0, 0),
    ];
    for option in options {
        program.push(step(EQUAL, *option as u32, 0, 1));
        program.push(step(RETURN, ERRNO | libc::ENOPROTOOPT as u32, 0, 0));
    }
    program.push(step(RETURN, ALLOW, 0, 0));
    let handed = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: prctl takes numbers, and a program that lives until it returns.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const handed,
            ) == 0
    };
    match done {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

/// Sends one Ethernet frame by a device.
pub fn send_frame(interface: u32, frame: &[u8]) -> io::Result<()> {
    // SAFETY: plain system calls; the address and the frame live until they return.
    unsafe {
        let file = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface as i32;
        let sent = libc::sendto(
            file,
            frame.as_ptr().cast(),
            frame.len(),
            0,
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as u32,
        );
        let error = io::Error::last_os_error();
        libc::close(file);
        match sent {
            -1 => Err(error),
            _ => Ok(()),
        }
    }
}
