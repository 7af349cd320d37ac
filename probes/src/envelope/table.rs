//! Every result that some order of additions gives: how it is found.
//!
//! One table over the partial sums: the values of a sum are `round(a + b)` for all values `a` and
//! `b` of all pairs of parts, and parts are shared by all trees above them. The number of pairs
//! is `3ⁿ/2`, so what is done for a pair is all that counts. A sum's least and greatest value are
//! those of its parts added, since rounding keeps order; all values are multiples of some power
//! of two; so between the ends there is a known number of places, and values are marks on them.
//! A pair whose own ends enclose marked places only is passed over, and a sum whose places are
//! all marked is done.
//!
//! That needs an order that additions keep. Where terms are infinite, sums overflow or bits lie
//! below 2⁻¹²⁶, values are collected and sorted instead.

use super::{
    Term,
    arithmetic::{self, Fusion, Start, nearest_bf16},
    error::EnvelopeError,
    exact::{MOST_ADDITIONS, MOST_VALUES, Rules},
    leaves::Family,
    marks::{Marks, Ruler, Word, Words},
};

/// The most places between the ends of a sum that are marked one by one.
const MOST_PLACES: f64 = (1 << 17) as f64;

/// All NaN are one.
pub(super) fn canonical(x: f32) -> f32 {
    if x.is_nan() { f32::NAN } else { x }
}

/// Ascending, no bits twice.
pub(super) fn tidy(values: &mut Vec<f32>) {
    values.sort_unstable_by(f32::total_cmp);
    values.dedup_by_key(|x| x.to_bits());
}

/// Rounding of a partial sum that is not NaN.
pub(super) trait Round: Copy {
    /// The distance of neighbours between 1 and 2.
    const STEP: f32;
    fn round(self, x: f32) -> f32;
}

#[derive(Clone, Copy)]
pub(super) struct ToF32;

impl Round for ToF32 {
    const STEP: f32 = f32::EPSILON;

    #[inline(always)]
    fn round(self, x: f32) -> f32 {
        x
    }
}

#[derive(Clone, Copy)]
pub(super) struct ToBf16;

impl Round for ToBf16 {
    const STEP: f32 = 1.0 / 128.0;

    #[inline(always)]
    fn round(self, x: f32) -> f32 {
        nearest_bf16(x)
    }
}

/// A sum's least value and its greatest one's opposite, side by side: both are the lesser of
/// sums. No value that counts, where the sum takes part in no addition that is not fused.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct Ends([f32; 2]);

const NO_ENDS: Ends = Ends([f32::INFINITY; 2]);

pub(super) struct Table<'a, F, R> {
    rules: &'a Rules,
    terms: &'a [Term],
    family: F,
    round: R,
    /// Terms that may be fused, as factors.
    products: Vec<Option<(f32, f32)>>,
    ends: Vec<Ends>,
    /// A power of two that all values of a sum and of its parts are multiples of.
    units: Vec<f32>,
    /// Where in `values` the values of a sum are, ascending.
    sets: Vec<[u32; 2]>,
    values: Vec<f32>,
    /// Marked places, or collected values, of the sum at hand.
    places: Vec<u64>,
    collected: Vec<f32>,
    additions: u64,
}

impl<'a, F: Family, R: Round> Table<'a, F, R> {
    pub(super) fn new(rules: &'a Rules, terms: &'a [Term], family: F, round: R) -> Self {
        let product = |term: &Term| match *term {
            Term::Product(a, b) if rules.fusion != Fusion::Never => Some((a, b)),
            _ => None,
        };
        Table {
            rules,
            terms,
            family,
            round,
            products: terms.iter().map(product).collect(),
            ends: vec![NO_ENDS; family.size()],
            units: vec![f32::INFINITY; family.size()],
            sets: vec![[0; 2]; family.size()],
            values: Vec::with_capacity(4 * family.size()),
            places: Vec::new(),
            collected: Vec::new(),
            additions: 0,
        }
    }

    /// The values of the sum of all terms, before their last rounding.
    pub(super) fn solve(mut self) -> Result<Vec<f32>, EnvelopeError> {
        let ordered = self.is_ordered();
        for sum in self.family.sums() {
            let first = self.values.len() as u32;
            match self.family.leaf(sum) {
                Some(term) => self.leaf(sum, term),
                None if ordered => self.mark(sum)?,
                None => self.collect(sum)?,
            }
            if self.values.len() > MOST_VALUES {
                return Err(EnvelopeError::TooManyValues(MOST_VALUES));
            }
            self.sets[sum] = [first, self.values.len() as u32];
        }
        let whole = self.set(self.family.whole());
        // A sum of one term is that term, on the accumulator's grid.
        Ok(whole
            .iter()
            .map(|&x| arithmetic::partial(self.rules.rounding, x))
            .collect())
    }

    /// Whether no sum can overflow and every bit of every sum is a normal number, so that values
    /// can be compared and counted.
    fn is_ordered(&self) -> bool {
        let exact = |term: &Term| term.exact();
        let total: f64 = self.terms.iter().map(exact).map(f64::abs).sum();
        // No rounding adds more than one part in 2⁸, and no term goes through more than 300.
        let fits = total < f64::from(f32::MAX) / 4.0;
        let normal = |x: f64| x == 0.0 || unit(x) >= f64::from(f32::MIN_POSITIVE);
        let bits = |(term, product): (&Term, &Option<(f32, f32)>)| {
            normal(term.rounded(self.rules.rounding).into())
                && (product.is_none() || normal(term.exact()))
        };
        fits && self.terms.len() < 300 && self.terms.iter().zip(&self.products).all(bits)
    }

    fn set(&self, sum: usize) -> &[f32] {
        let [first, end] = self.sets[sum];
        &self.values[first as usize..end as usize]
    }

    /// Whether the sum is a product that no addition takes rounded. A running sum that begins
    /// with +0 has it fused with that, which rounds it.
    fn only_fused(&self, sum: usize) -> bool {
        let always = self.rules.fusion == Fusion::Always && self.rules.start == Start::Term;
        let leaf = self.family.leaf(sum);
        always && leaf.is_some_and(|term| self.products[term].is_some())
    }

    fn leaf(&mut self, sum: usize, term: usize) {
        let x = self.terms[term].rounded(self.rules.rounding);
        let begun = arithmetic::partial(self.rules.rounding, x);
        let (mut low, mut high) = (x, x);
        if self.rules.start == Start::Zero && begun != x && !x.is_nan() {
            (low, high) = if begun < x { (begun, x) } else { (x, begun) };
            self.values.push(low);
        }
        self.values.push(high);
        if !self.only_fused(sum) {
            self.ends[sum] = Ends([low, -high]);
        }
        let mut smallest = unit(low.into()).min(unit(high.into()));
        if self.products[term].is_some() {
            smallest = smallest.min(unit(self.terms[term].exact()));
        }
        self.units[sum] = smallest as f32;
    }

    /// A term that is fused with the sum of the others, as factors; and those others' sum.
    fn fusions(&self, sum: usize) -> impl Iterator<Item = ((f32, f32), usize)> {
        let ends = self.family.ends(sum);
        ends.filter_map(|(term, others)| Some((self.products[term]?, others)))
    }

    fn fused(&self, (a, b): (f32, f32), c: f32) -> f32 {
        arithmetic::fused(self.rules.rounding, a, b, c)
    }

    /// The least and the greatest value of a sum of several terms.
    fn least_and_greatest(&self, sum: usize) -> (f32, f32) {
        let mut least = [f32::INFINITY; 2];
        for (a, b) in self.family.splits(sum) {
            let (Ends(a), Ends(b)) = (self.ends[a], self.ends[b]);
            for i in 0..2 {
                let end = a[i] + b[i];
                least[i] = if end < least[i] { end } else { least[i] };
            }
        }
        let (mut low, mut high) = (self.round.round(least[0]), self.round.round(-least[1]));
        for (product, others) in self.fusions(sum) {
            let (from, to) = self.fused_ends(product, others);
            low = if from < low { from } else { low };
            high = if to > high { to } else { high };
        }
        // Of zeros only a sum of nothing but −0 is negative, and it has no other value.
        (low, if high == low { low } else { high + 0.0 })
    }

    fn fused_ends(&self, product: (f32, f32), others: usize) -> (f32, f32) {
        let [first, end] = self.sets[others];
        let (low, high) = (self.values[first as usize], self.values[end as usize - 1]);
        (self.fused(product, low), self.fused(product, high))
    }

    /// The values of a sum of several terms, by marks on places.
    fn mark(&mut self, sum: usize) -> Result<(), EnvelopeError> {
        let (low, high) = self.least_and_greatest(sum);
        self.ends[sum] = Ends([low, -high]);
        if let Some((a, b)) = self.family.splits(sum).next() {
            self.units[sum] = self.units[a].min(self.units[b]);
        }
        // Between numbers of one sign no two values are closer than the smaller one's neighbours.
        let step = if (low < 0.0) == (high < 0.0) {
            let nearer = low.abs().min(high.abs());
            f32::from_bits(nearer.to_bits() & 0x7f80_0000) * R::STEP
        } else {
            0.0
        };
        let place = self.units[sum].max(step);
        let steps = (f64::from(high) - f64::from(low)) / f64::from(place);
        if low == high {
            self.values.push(low);
        } else if steps == 1.0 {
            self.values.extend([low, high]);
        } else if steps < MOST_PLACES {
            let last = steps as usize;
            let ruler = Ruler {
                low,
                place,
                scale: place.recip(),
            };
            if last < 64 {
                let mut word = Word::new(last);
                self.fill(sum, ruler, &mut word)?;
                self.read(ruler, &[word.marks]);
            } else {
                let mut words = Words::new(std::mem::take(&mut self.places), last);
                self.fill(sum, ruler, &mut words)?;
                self.read(ruler, &words.marks);
                self.places = words.marks;
            }
        } else {
            self.collect(sum)?;
        }
        Ok(())
    }

    /// Marks the places of all values of a sum of several terms.
    fn fill(
        &mut self,
        sum: usize,
        ruler: Ruler,
        marks: &mut impl Marks,
    ) -> Result<(), EnvelopeError> {
        let mut additions = self.additions;
        for (a, b) in self.family.splits(sum) {
            let (Ends(from), Ends(to)) = (self.ends[a], self.ends[b]);
            let low = self.round.round(from[0] + to[0]);
            let high = self.round.round(-(from[1] + to[1]));
            // An addition that there is not has its ends the wrong way round.
            if low > high || marks.all_between(ruler.index(low), ruler.index(high)) {
                continue;
            }
            let (a, b) = (self.set(a), self.set(b));
            additions += spent(a.len() * b.len(), additions)?;
            for &x in a {
                for &y in b {
                    marks.mark(ruler.index(self.round.round(x + y)));
                }
            }
            if marks.full() {
                break;
            }
        }
        for (product, others) in self.fusions(sum) {
            let (low, high) = self.fused_ends(product, others);
            if !marks.all_between(ruler.index(low), ruler.index(high)) {
                let others = self.set(others);
                additions += spent(others.len(), additions)?;
                for &x in others {
                    marks.mark(ruler.index(self.fused(product, x)));
                }
            }
        }
        self.additions = additions;
        Ok(())
    }

    /// Takes over the values of marked places.
    fn read(&mut self, ruler: Ruler, marks: &[u64]) {
        for (i, &word) in marks.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let place = 64 * i + left.trailing_zeros() as usize;
                self.values.push(ruler.value(place));
                left &= left - 1;
            }
        }
    }

    /// The values of a sum of several terms, one by one.
    fn collect(&mut self, sum: usize) -> Result<(), EnvelopeError> {
        let mut found = std::mem::take(&mut self.collected);
        found.clear();
        let rounding = self.rules.rounding;
        let mut additions = self.additions;
        for (a, b) in self.family.splits(sum) {
            if self.only_fused(a) || self.only_fused(b) {
                continue;
            }
            let (a, b) = (self.set(a), self.set(b));
            additions += spent(a.len() * b.len(), additions)?;
            for &x in a {
                let sums = b.iter().map(|&y| arithmetic::partial(rounding, x + y));
                found.extend(sums.map(canonical));
            }
            crowded(&mut found)?;
        }
        for (product, others) in self.fusions(sum) {
            let sums = self.set(others).iter().map(|&x| self.fused(product, x));
            found.extend(sums.map(canonical));
            crowded(&mut found)?;
        }
        tidy(&mut found);
        self.values.extend_from_slice(&found);
        self.collected = found;
        self.additions = additions;
        Ok(())
    }
}

/// As many additions, if so many more may be made.
fn spent(count: usize, before: u64) -> Result<u64, EnvelopeError> {
    let count = count as u64;
    if before + count > MOST_ADDITIONS {
        return Err(EnvelopeError::TooManyAdditions(MOST_ADDITIONS));
    }
    Ok(count)
}

/// Collected values are tidied when there are many.
fn crowded(values: &mut Vec<f32>) -> Result<(), EnvelopeError> {
    if values.len() > MOST_VALUES / 4 {
        tidy(values);
    }
    if values.len() > MOST_VALUES / 8 {
        return Err(EnvelopeError::TooManyValues(MOST_VALUES));
    }
    Ok(())
}

/// The least power of two that a number has a bit of; infinite for 0.
fn unit(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY;
    }
    let bits = x.to_bits();
    let zeros = bits.trailing_zeros().min(52);
    // The significand's bits are worth 2^-52 to 2^-1 of the leading one.
    let exponent = (bits >> 52 & 0x7ff) as i64 - 52 + i64::from(zeros);
    if exponent > 0 {
        f64::from_bits((exponent as u64) << 52)
    } else {
        0.0
    }
}
