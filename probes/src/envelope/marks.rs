//! Places between a sum's least and its greatest value, and marks on those that it takes.

/// Places between the ends of a sum.
#[derive(Clone, Copy)]
pub(super) struct Ruler {
    /// The first place.
    pub low: f32,
    /// How far apart they are: a power of two.
    pub place: f32,
    /// Its reciprocal.
    pub scale: f32,
}

impl Ruler {
    /// The place of a value, which must be one of the sum's. Nothing is rounded: difference and
    /// quotient are whole numbers below 2²³, of places and of ones.
    #[inline(always)]
    pub fn index(self, value: f32) -> usize {
        const ONES: f32 = (1 << 23) as f32;
        (((value - self.low) * self.scale + ONES).to_bits() & 0x007f_ffff) as usize
    }

    /// The value at a place.
    pub fn value(self, index: usize) -> f32 {
        index as f32 * self.place + self.low
    }
}

/// Marks on places.
pub(super) trait Marks {
    fn mark(&mut self, place: usize);
    /// Whether all places from one to another are marked, both included.
    fn all_between(&self, first: usize, last: usize) -> bool;
    fn full(&self) -> bool;
}

/// Up to 64 places.
pub(super) struct Word {
    /// The marks, from the lowest bit on.
    pub marks: u64,
    all: u64,
}

impl Word {
    /// Places up to `last`, of which the ends are marked.
    pub fn new(last: usize) -> Word {
        Word {
            marks: 1 | 1 << last,
            all: u64::MAX >> (63 - last),
        }
    }
}

impl Marks for Word {
    #[inline(always)]
    fn mark(&mut self, place: usize) {
        self.marks |= 1 << (place & 63);
    }

    #[inline(always)]
    fn all_between(&self, first: usize, last: usize) -> bool {
        let between = (u64::MAX >> ((63 - last.wrapping_sub(first)) & 63)) << (first & 63);
        self.marks & between == between
    }

    fn full(&self) -> bool {
        self.marks == self.all
    }
}

/// Any number of places.
pub(super) struct Words {
    /// The marks, from the lowest bit of the first word on.
    pub marks: Vec<u64>,
    unmarked: usize,
}

impl Words {
    /// Places up to `last`; the vector is used again.
    pub fn new(mut marks: Vec<u64>, last: usize) -> Words {
        marks.clear();
        marks.resize(last / 64 + 1, 0);
        let unmarked = last + 1;
        Words { marks, unmarked }
    }
}

impl Marks for Words {
    #[inline(always)]
    fn mark(&mut self, place: usize) {
        let word = &mut self.marks[place / 64];
        let before = *word;
        *word |= 1 << (place % 64);
        self.unmarked -= usize::from(before != *word);
    }

    #[inline(always)]
    fn all_between(&self, first: usize, last: usize) -> bool {
        let (head, tail) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        let words = &self.marks[first / 64..=last / 64];
        match words {
            [one] => one & (head & tail) == head & tail,
            [one, between @ .., other] => {
                one & head == head
                    && other & tail == tail
                    && between.iter().all(|&word| word == u64::MAX)
            }
            [] => true,
        }
    }

    fn full(&self) -> bool {
        self.unmarked == 0
    }
}
