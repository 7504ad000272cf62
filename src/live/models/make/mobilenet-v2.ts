import type { Layers } from './layers.js';

/** MobileNetV2 at width 1 (Sandler et al., CVPR 2018): 3.50 million parameters. */
export function mobilenetV2(layers: Layers, imageSize: number, classes: number): void {
  const { graph } = layers;
  const image = layers.input([3, imageSize, imageSize]);
  let x = layers.conv('stem', image, { from: 3, to: 32, kernel: 3, stride: 2, activation: 'relu6' });
  let from = 32;
  STAGES.forEach(([expansion, to, repeats, stride], stage) => {
    for (let i = 0; i < repeats; i++) {
      x = invertedResidual(layers, `layer${stage + 1}.${i}`, x, {
        from,
        to,
        expansion,
        stride: i === 0 ? stride : 1,
      });
      from = to;
    }
  });
  x = layers.conv('head', x, { from, to: FEATURES, kernel: 1, activation: 'relu6' });
  const pooled = graph.node('Flatten', [graph.node('GlobalAveragePool', [x])]);
  layers.logits(pooled, FEATURES, classes);
}

/** Expansion, channels, repeats and stride of the first repeat (table 2 of the paper). */
const STAGES = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const;

const FEATURES = 1280;

/** No rectifier halves the variance between a block's output and the next block: its gain has to. */
const LINEAR_GAIN = Math.SQRT1_2;
const BRANCH_GAIN = 0.2;

interface BlockShape {
  readonly from: number;
  readonly to: number;
  readonly expansion: number;
  readonly stride: number;
}

function invertedResidual(layers: Layers, name: string, x: string, shape: BlockShape): string {
  const { from, to, expansion, stride } = shape;
  const hidden = from * expansion;
  const residual = from === to && stride === 1;
  const expanded =
    expansion === 1
      ? x
      : layers.conv(`${name}.expand`, x, { from, to: hidden, kernel: 1, activation: 'relu6' });
  const filtered = layers.conv(`${name}.depthwise`, expanded, {
    from: hidden,
    to: hidden,
    kernel: 3,
    stride,
    groups: hidden,
    activation: 'relu6',
  });
  const projected = layers.conv(`${name}.project`, filtered, {
    from: hidden,
    to,
    kernel: 1,
    activation: 'none',
    gain: residual ? BRANCH_GAIN : LINEAR_GAIN,
  });
  return residual ? layers.graph.node('Add', [x, projected]) : projected;
}
