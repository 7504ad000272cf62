import type { Layers } from './layers.js';

/** ResNet-18 (He et al., CVPR 2016): 11.69 million parameters. */
export function resnet18(layers: Layers, imageSize: number, classes: number): void {
  resnet(layers, imageSize, classes, [2, 2, 2, 2], BASIC);
}

/** ResNet-50 with the stride in the 3 × 3 convolution, as is common today: 25.56 million parameters. */
export function resnet50(layers: Layers, imageSize: number, classes: number): void {
  resnet(layers, imageSize, classes, [3, 4, 6, 3], BOTTLENECK);
}

/** A kind of residual branch. */
interface Block {
  /** Output channels per channel of the stage's width. */
  readonly expansion: number;
  add(layers: Layers, name: string, x: string, from: number, width: number, stride: number): string;
}

/** Weight of a residual branch in the sum: some sixteen of them then double the variance. */
const BRANCH_GAIN = 0.2;

const BASIC: Block = {
  expansion: 1,
  add: (layers, name, x, from, to, stride) => {
    const y = layers.conv(`${name}.1`, x, { from, to, kernel: 3, stride, activation: 'relu' });
    return layers.conv(`${name}.2`, y, { from: to, to, kernel: 3, activation: 'none', gain: BRANCH_GAIN });
  },
};

const BOTTLENECK: Block = {
  expansion: 4,
  add: (layers, name, x, from, width, stride) => {
    const y = layers.conv(`${name}.1`, x, { from, to: width, kernel: 1, activation: 'relu' });
    const z = layers.conv(`${name}.2`, y, { from: width, to: width, kernel: 3, stride, activation: 'relu' });
    const to = width * 4;
    return layers.conv(`${name}.3`, z, { from: width, to, kernel: 1, activation: 'none', gain: BRANCH_GAIN });
  },
};

function resnet(
  layers: Layers,
  imageSize: number,
  classes: number,
  depths: readonly number[],
  block: Block,
): void {
  const { graph } = layers;
  const image = layers.input([3, imageSize, imageSize]);
  const stem = layers.conv('stem', image, { from: 3, to: 64, kernel: 7, stride: 2, activation: 'relu' });
  let x = graph.node('MaxPool', [stem], { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] });
  let from = 64;
  depths.forEach((depth, stage) => {
    const width = 64 * 2 ** stage;
    const to = width * block.expansion;
    for (let i = 0; i < depth; i++) {
      const name = `layer${stage + 1}.${i}`;
      const stride = stage > 0 && i === 0 ? 2 : 1;
      const branch = block.add(layers, name, x, from, width, stride);
      const shortcut =
        from === to && stride === 1
          ? x
          : layers.conv(`${name}.shortcut`, x, { from, to, kernel: 1, stride, activation: 'none' });
      x = graph.node('Relu', [graph.node('Add', [branch, shortcut])]);
      from = to;
    }
  });
  const pooled = graph.node('Flatten', [graph.node('GlobalAveragePool', [x])]);
  layers.logits(pooled, from, classes);
}
