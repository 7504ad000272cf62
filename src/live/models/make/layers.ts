import { stream } from '../../../base/random/streams.js';
import { toHalf } from '../../half.js';
import { OnnxGraph } from '../../onnx/onnx-graph.js';
import type { Precision } from '../precision.js';

interface ConvOptions {
  readonly from: number;
  readonly to: number;
  readonly kernel: number;
  readonly stride?: number;
  readonly groups?: number;
  /** Activation after the batch normalization. */
  readonly activation: 'relu' | 'relu6' | 'none';
  /** Factor of the batch normalization. Small at the end of a residual branch, or activations would grow. */
  readonly gain?: number;
}

/**
 * Layers of networks, with seeded random weights. Each tensor has its own random stream, by its name. Weights have the
 * variance that keeps activations from growing or fading with depth behind rectifiers (He et al., ICCV 2015). At FP16
 * they are those of FP32, rounded, and every layer computes in FP16; the model's input and output stay FP32.
 */
export class Layers {
  readonly graph: OnnxGraph;
  /** Number of trained parameters so far, as papers count them. */
  parameters = 0;

  constructor(
    name: string,
    private readonly seed: number,
    private readonly precision: Precision,
  ) {
    this.graph = new OnnxGraph(name);
  }

  /** FP32 input of the model; `shape` without the batch. */
  input(shape: readonly number[]): string {
    const input = this.graph.input('input', shape);
    return this.precision === 'fp16' ? this.graph.cast(input, 'FP16') : input;
  }

  /** A value in the precision of the layers. */
  computed(x: string): string {
    return this.graph.cast(x, this.precision === 'fp16' ? 'FP16' : 'FP32');
  }

  /** Convolution without bias, batch normalization, activation. */
  conv(name: string, x: string, options: ConvOptions): string {
    const { from, to, kernel, stride = 1, groups = 1, activation, gain = 1 } = options;
    const pad = (kernel - 1) / 2;
    const inputs = [x, this.random(`${name}.conv.weight`, [to, from / groups, kernel, kernel])];
    const convolved = this.graph.node('Conv', inputs, {
      kernel_shape: [kernel, kernel],
      strides: [stride, stride],
      pads: [pad, pad, pad, pad],
      group: groups,
    });
    const normalised = this.batchNorm(`${name}.bn`, convolved, to, gain);
    if (activation === 'relu') return this.graph.node('Relu', [normalised]);
    return activation === 'relu6' ? this.relu6(normalised) : normalised;
  }

  /** Fully connected layer; `output` names its output. */
  linear(name: string, x: string, from: number, to: number, output?: string): string {
    const weight = this.random(`${name}.weight`, [to, from]);
    const bias = this.constant(`${name}.bias`, to, 0);
    this.parameters += to;
    return this.graph.node('Gemm', [x, weight, bias], { transB: 1 }, output);
  }

  /** Fully connected layer over the last of any number of dimensions. */
  dense(name: string, x: string, from: number, to: number): string {
    const product = this.graph.node('MatMul', [x, this.random(`${name}.weight`, [from, to], from)]);
    this.parameters += to;
    return this.graph.node('Add', [product, this.constant(`${name}.bias`, to, 0)]);
  }

  /** Normalization over the last of three dimensions. */
  layerNorm(name: string, x: string, width: number): string {
    const inputs = [x, this.constant(`${name}.weight`, width, 1), this.constant(`${name}.bias`, width, 0)];
    this.parameters += 2 * width;
    return this.graph.node('LayerNormalization', inputs, { axis: 2, epsilon: { float: 1e-5 } });
  }

  /** A trained table of vectors. */
  table(name: string, rows: number, width: number): string {
    return this.random(name, [rows, width], width);
  }

  /** An untrained constant. */
  scalar(name: string, value: number): string {
    return this.weights(name, [], new Float32Array([value]));
  }

  /** Integer parameters of an operator: axes, a shape. */
  sizes(name: string, values: readonly number[]): string {
    return this.graph.weights(name, [values.length], BigInt64Array.from(values.map(BigInt)));
  }

  /** Fully connected layer, and the model's FP32 output. */
  logits(x: string, from: number, classes: number): void {
    if (this.precision === 'fp16') {
      this.graph.cast(this.linear('fc', x, from, classes), 'FP32', 'logits');
    } else {
      this.linear('fc', x, from, classes, 'logits');
    }
    this.graph.output('logits', [classes]);
  }

  private batchNorm(name: string, x: string, channels: number, gain: number): string {
    const inputs = [
      x,
      this.constant(`${name}.weight`, channels, gain),
      this.constant(`${name}.bias`, channels, 0),
      this.constant(`${name}.running_mean`, channels, 0),
      this.constant(`${name}.running_var`, channels, 1),
    ];
    this.parameters += 2 * channels;
    return this.graph.node('BatchNormalization', inputs, { epsilon: { float: 1e-5 } });
  }

  private relu6(x: string): string {
    if (!this.hasLimits) {
      this.scalar('zero', 0);
      this.scalar('six', 6);
      this.hasLimits = true;
    }
    return this.graph.node('Clip', [x, 'zero', 'six']);
  }

  private hasLimits = false;

  /** `inputs`: number of inputs of each output. */
  private random(name: string, shape: readonly number[], inputs?: number): string {
    const count = shape.reduce((product, size) => product * size, 1);
    const draw = stream(this.seed, name);
    // Uniform in ±bound has the variance bound² / 3, which is to be 2 / inputs.
    const bound = Math.sqrt(6 / (inputs ?? count / shape[0]));
    const values = new Float32Array(count);
    for (let i = 0; i < count; i++) values[i] = (2 * draw() - 1) * bound;
    this.parameters += count;
    return this.weights(name, shape, values);
  }

  private constant(name: string, size: number, value: number): string {
    return this.weights(name, [size], new Float32Array(size).fill(value));
  }

  private weights(name: string, shape: readonly number[], values: Float32Array<ArrayBuffer>): string {
    return this.graph.weights(name, shape, this.precision === 'fp16' ? halves(values) : values);
  }
}

function halves(values: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) bits[i] = toHalf(values[i]);
  return bits;
}
