//! Shapes of trees that GPU threads add in: MLX 0.32.2's reductions, products and scans on CUDA.
//!
//! A butterfly adds to each lane's sum that of the lane whose number differs in one bit, 16 first;
//! lanes that are not there are 0. All lanes end with the same bits.

use super::Tree;

/// Lanes of a warp.
const WARP: usize = 32;

/// Elements that a thread of a scan takes.
const SCANNED: usize = 4;

/// A shape of trees that threads add in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// A block of warps: each thread takes `each` neighbours of every round; a butterfly joins the
    /// lanes of each warp, and one more the warps.
    Threads {
        /// How many warps, up to 32; 0 is as 1.
        warps: usize,
        /// How many neighbours; 0 is as 1.
        each: usize,
        /// Whether a thread has a running sum for each of them, and adds these in turn at the end.
        apart: bool,
    },
    /// 32 chunks of neighbours, each added by 32 lanes in turn and a butterfly; then a butterfly
    /// over the chunks.
    TwoPasses,
    /// The last element of a running sum of `threads` threads of 4 neighbours: each adds its own
    /// in turn, a Hillis–Steele scan of the threads' sums gives what is before it in the warp, and
    /// another one what is before the warp; what is before the round is added first.
    Scan {
        /// How many threads take a round; 0 is as one warp.
        threads: usize,
    },
    /// The last element of a running sum by Hillis–Steele scans of 32 neighbours, each with what
    /// is before it.
    ChunkScan,
}

impl Device {
    /// The tree of this shape over `n` terms.
    pub fn tree(self, n: usize) -> Tree {
        let mut sums = Sums {
            next: n,
            merges: Vec::new(),
        };
        match self {
            Device::Threads { warps, each, apart } => {
                let (threads, each) = (warps.clamp(1, WARP) * WARP, each.max(1));
                let lanes: Vec<Part> = (0..threads)
                    .map(|thread| sums.thread(n, thread, threads, each, apart))
                    .collect();
                let warps = lanes.chunks(WARP).map(|warp| sums.butterfly(warp));
                let warps: Vec<Part> = warps.collect();
                sums.butterfly(&warps)
            }
            Device::TwoPasses => {
                let len = n.div_ceil(WARP).max(1);
                let chunks = (0..n).step_by(len).map(|start| {
                    let chunk = start..n.min(start + len);
                    let lane = |lane| chunk.clone().skip(lane).step_by(WARP);
                    let lanes: Vec<Part> = (0..WARP).map(|l| sums.run(lane(l))).collect();
                    sums.butterfly(&lanes)
                });
                let chunks: Vec<Part> = chunks.collect();
                sums.butterfly(&chunks)
            }
            Device::Scan { threads } => {
                let threads = threads.max(WARP).next_multiple_of(WARP);
                let round = threads * SCANNED;
                let mut before = None;
                for start in (0..n).step_by(round) {
                    before = sums.scanned(start, n.min(start + round) - 1, before);
                }
                before
            }
            Device::ChunkScan => {
                let mut before = None;
                for start in (0..n).step_by(WARP) {
                    let own = |_: &mut Sums, lane: usize| Some(start + lane);
                    let chunk = sums.inclusive(n.min(start + WARP) - 1 - start, WARP, &own);
                    before = sums.add(chunk, before);
                }
                before
            }
        };
        Tree::canonical(n, &sums.merges)
    }

    /// The shape of a tree, if it is one.
    pub(super) fn of(tree: &Tree) -> Option<Device> {
        let n = tree.leaves();
        if n < 3 || tree.fan_in() > 2 {
            return None;
        }
        // What is added to the first term, as long as it is single terms.
        let mut chain = Vec::new();
        let mut sum = 0;
        for (node, parts) in tree.merges().enumerate() {
            if parts[0] == sum && parts[1] < n {
                chain.push(parts[1]);
                sum = n + node;
            } else if parts[0] == sum {
                break;
            }
        }
        let run = chain
            .iter()
            .zip(1..)
            .take_while(|&(&term, next)| term == next);
        let run = 1 + run.count();
        // Threads that take their second round have the number of threads in it.
        let block = |second: Option<&usize>, each: usize, apart| {
            let threads = second.map_or(n.div_ceil(each), |second| second / each);
            let warps = threads.div_ceil(WARP);
            Device::Threads { warps, each, apart }
        };
        let together = block(chain.get(run - 1), run, false);
        let apart = [1, 2, 4, 8, 16].map(|each| block(chain.first(), each, true));
        let scans = (1..=WARP).rev().map(|warps| Device::Scan {
            threads: warps * WARP,
        });
        [together, Device::TwoPasses, Device::ChunkScan]
            .into_iter()
            .chain(apart)
            .chain(scans)
            .find(|device| device.tree(n) == *tree)
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const BUTTERFLY: &str = "XOR butterfly 16,8,4,2,1";
        const STEPS: &str = "Hillis–Steele 1,2,4,8,16";
        match *self {
            Device::Threads { warps, each, apart } => {
                if warps > 1 {
                    write!(f, "{warps} warps of ")?;
                }
                let own = if apart { " running sums each" } else { "" };
                write!(f, "{WARP} lanes of {each}{own}, {BUTTERFLY}")?;
                if warps > 1 {
                    f.write_str(", then over the warps")?;
                }
                Ok(())
            }
            Device::TwoPasses => write!(
                f,
                "32 chunks of 32 lanes, {BUTTERFLY}, then over the chunks"
            ),
            Device::Scan { threads } => {
                write!(f, "scan of {threads} threads of {SCANNED}, {STEPS}")
            }
            Device::ChunkScan => write!(f, "scan of chunks of {WARP}, {STEPS}"),
        }
    }
}

/// A term or a sum; `None` is 0.
type Part = Option<usize>;

/// Sums as they are made.
struct Sums {
    next: usize,
    merges: Vec<[usize; 2]>,
}

impl Sums {
    fn add(&mut self, a: Part, b: Part) -> Part {
        match (a, b) {
            (Some(a), Some(b)) => {
                self.merges.push([a, b]);
                self.next += 1;
                Some(self.next - 1)
            }
            (part, None) | (None, part) => part,
        }
    }

    fn run(&mut self, terms: impl Iterator<Item = usize>) -> Part {
        terms.fold(None, |sum, term| self.add(sum, Some(term)))
    }

    /// What a thread adds.
    fn thread(
        &mut self,
        n: usize,
        thread: usize,
        threads: usize,
        each: usize,
        apart: bool,
    ) -> Part {
        let rounds = (thread * each..n).step_by(threads * each);
        if !apart {
            return self.run(rounds.flat_map(|first| first..n.min(first + each)));
        }
        (0..each).fold(None, |sum, own| {
            let terms = rounds.clone().map(|first| first + own);
            let part = self.run(terms.filter(|&term| term < n));
            self.add(sum, part)
        })
    }

    /// Up to 32 lanes.
    fn butterfly(&mut self, lanes: &[Part]) -> Part {
        let mut lanes = lanes.to_vec();
        lanes.resize(WARP, None);
        let mut half = WARP / 2;
        while half > 0 {
            for i in 0..half {
                lanes[i] = self.add(lanes[i], lanes[i + half]);
            }
            half /= 2;
        }
        lanes[0]
    }

    /// The sum of lanes 0 to `lane` after the steps of a Hillis–Steele scan below `steps`.
    fn inclusive(
        &mut self,
        lane: usize,
        steps: usize,
        own: &dyn Fn(&mut Sums, usize) -> Part,
    ) -> Part {
        let step = steps / 2;
        if step == 0 {
            return own(self, lane);
        }
        let upper = self.inclusive(lane, step, own);
        if lane < step {
            return upper;
        }
        let lower = self.inclusive(lane - step, step, own);
        self.add(upper, lower)
    }

    /// The element `at` of a round that begins at `start`.
    fn scanned(&mut self, start: usize, at: usize, before: Part) -> Part {
        let thread = (at - start) / SCANNED;
        let (warp, lane) = (thread / WARP, thread % WARP);
        let first = |thread: usize| start + thread * SCANNED;
        let own = self.run(first(thread)..at + 1);
        let total = |sums: &mut Sums, thread: usize| sums.run(first(thread)..first(thread + 1));
        let of_warp = |sums: &mut Sums, warp: usize| {
            let lane = |sums: &mut Sums, lane: usize| total(sums, warp * WARP + lane);
            let others = sums.inclusive(WARP - 2, WARP, &lane);
            let last = lane(sums, WARP - 1);
            sums.add(others, last)
        };
        let lanes = |sums: &mut Sums, lane: usize| total(sums, warp * WARP + lane);
        let mut sum = self.add(own, before);
        if warp > 0 {
            let warps = self.inclusive(warp - 1, WARP, &of_warp);
            sum = self.add(sum, warps);
        }
        if lane > 0 {
            let lanes = self.inclusive(lane - 1, WARP, &lanes);
            sum = self.add(sum, lanes);
        }
        sum
    }
}
