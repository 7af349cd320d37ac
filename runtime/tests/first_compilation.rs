//! The first compilations of a process, all at once. Alone in its program: it is about what
//! nothing has set up yet.

use runtime::{CompileOptions, Compiler, Native, Target};
use std::sync::Barrier;

const COPY: &str = "func.func @copy(%x: tensor<1xf32>) -> tensor<1xf32> {
  return %x : tensor<1xf32>
}";

#[test]
fn the_first_compilations_may_begin_at_once() {
    const THREADS: usize = 4;
    let compiler = Compiler::new(&Native::locate().unwrap());
    let options = CompileOptions::new(Target::HostAll);
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                assert!(!compiler.compile(COPY, &options).unwrap().is_empty());
            });
        }
    });
}
