//! Subsampling convolution and projection: two convolutions that halve time and frequency, each
//! with a cumulative norm and a ReLU, then a linear layer to the encoder's width
//! (`Gemma3nAudioSubSampleConvProjection`).
//!
//! mlx-vlm keeps activations as `[B,C,T,F]` between the convolutions and transposes to
//! `[B,T,F,C]` before each convolution and before flattening. Here they stay `[B,T,F,C]`: each
//! transpose is followed by its inverse, with only elementwise ops and padding between, so every
//! value and every order of summation is the same.

use super::Model;
use crate::{
    DType,
    config::{FREQUENCY_PADDING, SscpConv},
    graph::{GraphError, Op, ValueId},
};

const NAME: &str = "audio_tower.subsample_conv_projection";

impl Model<'_> {
    /// `mel` `[B,T,features]` to `[B,S,D]`. `own` `[1]` I32: how many of the frames are the
    /// batch's, if not all.
    pub(super) fn subsample(
        &mut self,
        mel: ValueId,
        own: Option<ValueId>,
    ) -> Result<ValueId, GraphError> {
        let b = &mut self.builder;
        b.enter_stage("mel_cast");
        let mel = b.astype(mel, self.profile.mel())?;
        b.boundary("mel_cast", mel, "The features in the profile's dtype.")?;
        let mut x = b.apply(Op::ExpandDims { axes: vec![3] }, &[mel])?;
        for (i, conv) in self.config.convs.iter().enumerate() {
            x = self.conv_block(i, conv, x, own.filter(|_| i == 0))?;
        }
        self.input_projection(x)
    }

    /// `[B,T,F,C]` to `[B,T',F',C']` (`Gemma3nAudioSSCPConvBlock`).
    ///
    /// The reference pads the second convolution's input with zeros behind the last frame the
    /// first one gives. In a bucket more frames follow there, which normalised are no zeros: so
    /// given `own`, frames made of none of the batch's become zero.
    fn conv_block(
        &mut self,
        i: usize,
        conv: &SscpConv,
        x: ValueId,
        own: Option<ValueId>,
    ) -> Result<ValueId, GraphError> {
        let stage = format!("sscp_conv_{i}");
        let [time, frequency] = conv.kernel;
        let weight = self.weight(
            &format!("{NAME}.conv_{i}.conv.weight"),
            &[conv.channels, time, frequency, conv.inputs],
        )?;
        self.builder.enter_stage(stage.as_str());
        let padding = [
            (1, 0, conv.time_padding()),
            (2, FREQUENCY_PADDING, FREQUENCY_PADDING),
        ];
        let padded = self.builder.pad(x, &padding, 0.0)?;
        let convolved = self.conv2d(padded, weight, conv)?;
        self.builder.boundary(
            format!("{stage}.convolution"),
            convolved,
            "The convolution, channels last, before the norm.",
        )?;
        let normed = self.cumulative_norm(
            &format!("{stage}.norm"),
            &format!("{NAME}.conv_{i}.norm.weight"),
            convolved,
        )?;
        // nn.relu is maximum(x, 0), in this order.
        let mut rectified = self.builder.binary_scalar(Op::Maximum, normed, 0.0)?;
        if let Some(own) = own {
            rectified = self.cut_off(conv, rectified, own)?;
        }
        self.builder
            .boundary(stage, rectified, "The block's result, after the ReLU.")
    }

    /// `x` `[B,T',F',C]` with zeros where a frame's first input frame is not the batch's.
    fn cut_off(
        &mut self,
        conv: &SscpConv,
        x: ValueId,
        own: ValueId,
    ) -> Result<ValueId, GraphError> {
        let b = &mut self.builder;
        let frames = b.shape(x)[1];
        let first = b.arange(0.0, conv.stride[0] as f64, frames, DType::I32);
        let behind = b.binary(Op::GreaterEqual, first, own)?;
        let behind = b.reshape(behind, [1, frames, 1, 1])?;
        let zero = b.scalar(0.0, b.dtype(x));
        b.select(behind, zero, x)
    }

    /// `mx.conv2d` without padding, in the common dtype of features and weight.
    fn conv2d(
        &mut self,
        x: ValueId,
        weight: ValueId,
        conv: &SscpConv,
    ) -> Result<ValueId, GraphError> {
        let op = Op::Convolution {
            strides: conv.stride.to_vec(),
            low: vec![0, 0],
            high: vec![0, 0],
            kernel_dilation: vec![1, 1],
            input_dilation: vec![1, 1],
            groups: 1,
            flip: false,
        };
        self.builder.apply(op, &[x, weight])
    }

    /// `[B,S,F,C]`, flattened with the bins outside and the channels inside, to `[B,S,D]`.
    fn input_projection(&mut self, x: ValueId) -> Result<ValueId, GraphError> {
        let (width, hidden) = (self.config.flattened(), self.config.hidden);
        let weight = self.weight(
            &format!("{NAME}.input_proj_linear.weight"),
            &[hidden, width],
        )?;
        let b = &mut self.builder;
        b.enter_stage("input_projection");
        let lead = b.shape(x).dims()[..2].to_vec();
        let flat = b.reshape(x, [lead[0], lead[1], width])?;
        let projected = b.linear(flat, weight)?;
        b.boundary(
            "input_projection",
            projected,
            "Bins and channels of a frame projected to the conformer's width.",
        )
    }
}
