import type { Precision } from '../precision.js';
import type { Architecture } from './architectures.js';
import { encoder, encoderSettings } from './encoder.js';
import { Layers } from './layers.js';
import { mobilenetV2 } from './mobilenet-v2.js';
import { resnet18, resnet50 } from './resnet.js';

const MAKERS: Readonly<Record<Architecture, (layers: Layers, input: number, classes: number) => void>> = {
  resnet18,
  resnet50,
  'mobilenet-v2': mobilenetV2,
  mlp,
  encoder,
};

export interface MakeOptions {
  /** Image size in pixels; for `mlp` the number of features, for `encoder` the tokens of the longest text. */
  readonly input: number;
  readonly seed: number;
  /** Number of outputs. */
  readonly classes: number;
  readonly precision?: Precision;
}

export interface MadeModel {
  /** The model as an ONNX file. */
  readonly onnx: Uint8Array<ArrayBuffer>;
  readonly parameters: number;
  /** Text of the config.yaml needed to serve it; null: none. */
  readonly settings: string | null;
}

/**
 * A real architecture with seeded random weights: it takes as long as the trained one, and its answers are meaningless.
 * Input is `input`, an FP32 image (3 × size × size) or the features, in batches of any size, and output FP32 `logits`;
 * for `encoder` see there. At FP16 it is the same model with rounded weights that computes in FP16 in between.
 *
 * @example
 * const { onnx } = makeModel('resnet18', { input: 224, seed: 1, classes: 1000 });
 */
export function makeModel(
  architecture: Architecture,
  { input, seed, classes, precision = 'fp32' }: MakeOptions,
): MadeModel {
  const layers = new Layers(architecture, seed, precision);
  MAKERS[architecture](layers, input, classes);
  const settings = architecture === 'encoder' ? encoderSettings(input) : null;
  return { onnx: layers.graph.encode(), parameters: layers.parameters, settings };
}

/** A perceptron with two hidden layers: so small that the overhead around it shows. */
function mlp(layers: Layers, features: number, classes: number): void {
  const { graph } = layers;
  let x = layers.input([features]);
  let from = features;
  for (const [i, width] of HIDDEN.entries()) {
    x = graph.node('Relu', [layers.linear(`hidden${i + 1}`, x, from, width)]);
    from = width;
  }
  layers.logits(x, from, classes);
}

const HIDDEN = [512, 512];
