//! Constant tables that kernels look values up in.
//!
//! All are ARM optimized-routines' (see NOTICE), by the bits of their entries.

use super::Scalar;

/// A constant table. Values: [`Table::bits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// `powf`: reciprocals of the centres of 16 intervals (F64).
    PowReciprocal,
    /// `powf`: base-2 logarithms of those centres (F64).
    PowLogarithm,
    /// `powf`: bits of `2^(i/32)` less `i << 47` (I64).
    Exp2,
    /// `logf`: reciprocals of the centres of 16 intervals (F64).
    LogReciprocal,
    /// `logf`: natural logarithms of those centres (F64).
    LogLogarithm,
    /// `sinf`, `cosf`: 4/π to 192 bits, 32 bits an entry, 8 bits further each (I64).
    FourOverPi,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 6] = [
        Table::PowReciprocal,
        Table::PowLogarithm,
        Table::Exp2,
        Table::LogReciprocal,
        Table::LogLogarithm,
        Table::FourOverPi,
    ];

    /// The type of its entries.
    pub const fn scalar(self) -> Scalar {
        match self {
            Table::Exp2 | Table::FourOverPi => Scalar::I64,
            _ => Scalar::F64,
        }
    }

    /// Its entries, by their bits.
    pub const fn bits(self) -> &'static [u64] {
        match self {
            // The intervals are the same.
            Table::PowReciprocal | Table::LogReciprocal => &RECIPROCAL,
            Table::PowLogarithm => &BASE_2_LOGARITHM,
            Table::Exp2 => &EXP2,
            Table::LogLogarithm => &NATURAL_LOGARITHM,
            Table::FourOverPi => &FOUR_OVER_PI,
        }
    }
}

/// `invc` of `math/powf_log2_data.c` and of `math/logf_data.c`.
const RECIPROCAL: [u64; 16] = [
    0x3FF6_61EC_79F8_F3BE,
    0x3FF5_71ED_4AAF_883D,
    0x3FF4_9539_F0F0_10B0,
    0x3FF3_C995_B0B8_0385,
    0x3FF3_0D19_0C88_64A5,
    0x3FF2_5E22_7B0B_8EA0,
    0x3FF1_BB4A_4A1A_343F,
    0x3FF1_2358_F08A_E5BA,
    0x3FF0_953F_4199_00A7,
    0x3FF0_0000_0000_0000,
    0x3FEE_608C_FD9A_47AC,
    0x3FEC_A4B3_1F02_6AA0,
    0x3FEB_2036_576A_FCE6,
    0x3FE9_C2D1_63A1_AA2D,
    0x3FE8_86E6_0378_41ED,
    0x3FE7_67DC_F553_4862,
];

/// `logc` of `math/powf_log2_data.c`.
const BASE_2_LOGARITHM: [u64; 16] = [
    0xBFDE_FEC6_5B96_3019,
    0xBFDB_0B68_32D4_FCA4,
    0xBFD7_418B_0A1F_B77B,
    0xBFD3_9DE9_1A6D_CF7B,
    0xBFD0_1D9B_F3F2_B631,
    0xBFC9_7C1D_1B3B_7AF0,
    0xBFC2_F9E3_93AF_3C9F,
    0xBFB9_60CB_BF78_8D5C,
    0xBFAA_6F9D_B647_5FCE,
    0x0000_0000_0000_0000,
    0x3FB3_38CA_9F24_F53D,
    0x3FC4_76A9_5438_91BA,
    0x3FCE_840B_4AC4_E4D2,
    0x3FD4_0645_F0C6_651C,
    0x3FD8_8E9C_2C1B_9FF8,
    0x3FDC_E0A4_4EB1_7BCC,
];

/// `logc` of `math/logf_data.c`.
const NATURAL_LOGARITHM: [u64; 16] = [
    0xBFD5_7BF7_808C_AADE,
    0xBFD2_BEF0_A7C0_6DDB,
    0xBFD0_1EAE_7F51_3A67,
    0xBFCB_31D8_A682_24E9,
    0xBFC6_574F_0AC0_7758,
    0xBFC1_AA2B_C79C_8100,
    0xBFBA_4E76_CE8C_0E5E,
    0xBFB1_973C_5A61_1CCC,
    0xBFA2_52F4_38E1_0C1E,
    0x0000_0000_0000_0000,
    0x3FAA_A5AA_5DF2_5984,
    0x3FBC_5E53_AA36_2EB4,
    0x3FC5_26E5_7720_DB08,
    0x3FCB_C286_0D22_4770,
    0x3FD1_058B_C8A0_7EE1,
    0x3FD4_0430_57B6_EE09,
];

/// `tab` of `math/exp2f_data.c`, N = 32.
const EXP2: [u64; 32] = [
    0x3FF0_0000_0000_0000,
    0x3FEF_D9B0_D315_8574,
    0x3FEF_B558_6CF9_890F,
    0x3FEF_9301_D012_5B51,
    0x3FEF_72B8_3C7D_517B,
    0x3FEF_5487_3168_B9AA,
    0x3FEF_387A_6E75_6238,
    0x3FEF_1E9D_F51F_DEE1,
    0x3FEF_06FE_0A31_B715,
    0x3FEE_F1A7_373A_A9CB,
    0x3FEE_DEA6_4C12_3422,
    0x3FEE_CE08_6061_892D,
    0x3FEE_BFDA_D536_2A27,
    0x3FEE_B42B_569D_4F82,
    0x3FEE_AB07_DD48_5429,
    0x3FEE_A47E_B03A_5585,
    0x3FEE_A09E_667F_3BCD,
    0x3FEE_9F75_E8EC_5F74,
    0x3FEE_A114_73EB_0187,
    0x3FEE_A589_994C_CE13,
    0x3FEE_ACE5_422A_A0DB,
    0x3FEE_B737_B0CD_C5E5,
    0x3FEE_C491_82A3_F090,
    0x3FEE_D503_B23E_255D,
    0x3FEE_E89F_995A_D3AD,
    0x3FEE_FF76_F2FB_5E47,
    0x3FEF_199B_DD85_529C,
    0x3FEF_3720_DCEF_9069,
    0x3FEF_5818_DCFB_A487,
    0x3FEF_7C97_337B_9B5F,
    0x3FEF_A4AF_A2A4_90DA,
    0x3FEF_D076_5B6E_4540,
];

/// `__inv_pio4` of `math/sincosf_data.c`.
const FOUR_OVER_PI: [u64; 24] = [
    0x0000_0000_0000_00A2,
    0x0000_0000_0000_A2F9,
    0x0000_0000_00A2_F983,
    0x0000_0000_A2F9_836E,
    0x0000_0000_F983_6E4E,
    0x0000_0000_836E_4E44,
    0x0000_0000_6E4E_4415,
    0x0000_0000_4E44_1529,
    0x0000_0000_4415_29FC,
    0x0000_0000_1529_FC27,
    0x0000_0000_29FC_2757,
    0x0000_0000_FC27_57D1,
    0x0000_0000_2757_D1F5,
    0x0000_0000_57D1_F534,
    0x0000_0000_D1F5_34DD,
    0x0000_0000_F534_DDC0,
    0x0000_0000_34DD_C0DB,
    0x0000_0000_DDC0_DB62,
    0x0000_0000_C0DB_6295,
    0x0000_0000_DB62_9599,
    0x0000_0000_6295_993C,
    0x0000_0000_9599_3C43,
    0x0000_0000_993C_4390,
    0x0000_0000_3C43_9041,
];
