import type { Layers } from './layers.js';

/** A perceptron with two hidden layers: a model so small that everything around it shows. */
export function mlp(layers: Layers, features: number, classes: number): void {
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
