//! Reproducible pseudo-random numbers.

/// `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, or 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        // The high half of a product: no remainder, hardly any bias.
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A normal F32 of either sign with a full significand, between 2⁻⁸ and 2⁸ in magnitude.
    pub fn float(&mut self) -> f32 {
        let bits = self.bits();
        let exponent = 119 + (bits >> 32) as u32 % 16;
        f32::from_bits((bits as u32 & 0x807f_ffff) | exponent << 23)
    }

    /// Puts the items into another order, all equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.below(end + 1);
            items.swap(end, other);
        }
    }
}
