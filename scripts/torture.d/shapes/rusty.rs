// torture: Rust, without its library.
#[no_mangle]
pub unsafe extern "C" fn NAME(p: *mut u64, size: usize) -> i32 {
    let mut n = size as u64;
    loop {
        *p = (*p).wrapping_mul(31).wrapping_add(n);
        if n & 7 == 0 {
            return if n >> 40 == 3 { 2 } else { 0 };
        }
        n -= 1;
    }
}
