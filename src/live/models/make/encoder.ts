import type { Layers } from './layers.js';

/**
 * A transformer encoder for texts, of the size of BERT-Tiny (Turc et al., arXiv:1908.08962): 4.38 million parameters,
 * nearly all of them in its token table. It takes INT64 `input_ids` and `attention_mask`, each `[batch, sequence]` with
 * at most `longest` tokens, and returns `tokens`, a vector for each token, and `logits` of their mean. A mask of 0
 * marks padding: a text's result does not depend on it, nor on other texts of the batch.
 */
export function encoder(layers: Layers, longest: number, classes: number): void {
  const { graph } = layers;
  const ids = graph.input('input_ids', ['sequence'], 'INT64');
  const mask = layers.computed(graph.input('attention_mask', ['sequence'], 'INT64'));
  const one = layers.scalar('one', 1);
  // Far below any score, so that its softmax is 0, and within the range of FP16.
  const absent = graph.node('Mul', [graph.node('Sub', [mask, one]), layers.scalar('far', 1e4)]);
  const masked = graph.node('Unsqueeze', [absent, layers.sizes('score_axes', [1, 2])]);
  const text: Text = { layers, masked, one };

  let x = embedded(layers, ids, longest);
  for (let i = 0; i < DEPTH; i++) {
    const attended = attention(text, `layer${i}.attention`, x);
    x = layers.layerNorm(`layer${i}.attention.norm`, graph.node('Add', [x, attended]), WIDTH);
    const fed = feedForward(text, `layer${i}`, x);
    x = layers.layerNorm(`layer${i}.norm`, graph.node('Add', [x, fed]), WIDTH);
  }
  graph.cast(x, 'FP32', 'tokens');
  graph.output('tokens', ['sequence', WIDTH]);
  layers.logits(meanOf(text, x, mask), WIDTH, classes);
}

/** config.yaml of the encoder: padded lengths of texts, up to the longest, and the fill. */
export function encoderSettings(longest: number): string {
  const buckets: number[] = [];
  for (let length = SHORTEST_BUCKET; length < longest; length *= 2) buckets.push(length);
  return [
    '# Texts are padded to one of these lengths, with tokens that the mask leaves out.',
    `buckets: [${[...buckets, longest].join(', ')}]`,
    'fill: { input_ids: 0, attention_mask: 0 }',
    '',
  ].join('\n');
}

/** Shorter texts take hardly less time. */
const SHORTEST_BUCKET = 16;
const DEPTH = 2;
const WIDTH = 128;
const HEADS = 2;
const HIDDEN = 512;
const VOCABULARY = 30_522;

/** Inputs common to all layers. */
interface Text {
  readonly layers: Layers;
  /** Added to scores: 0 for tokens, far below for padding. */
  readonly masked: string;
  readonly one: string;
}

function embedded(layers: Layers, ids: string, longest: number): string {
  const { graph } = layers;
  const vectors = graph.node('Gather', [layers.table('embedding.tokens', VOCABULARY, WIDTH), ids]);
  const [start, axis] = [layers.sizes('first', [0]), layers.sizes('row_axis', [0])];
  const length = graph.node('Shape', [ids], { start: 1, end: 2 });
  const table = layers.table('embedding.positions', longest, WIDTH);
  const positions = graph.node('Slice', [table, start, length, axis]);
  return layers.layerNorm('embedding.norm', graph.node('Add', [vectors, positions]), WIDTH);
}

function attention({ layers, masked }: Text, name: string, x: string): string {
  const { graph } = layers;
  // Sizes of 0 are kept: batch and sequence.
  const byHead = layers.sizes(`${name}.by_head`, [0, 0, HEADS, WIDTH / HEADS]);
  const part = (role: string, perm: readonly number[]) => {
    const vectors = layers.dense(`${name}.${role}`, x, WIDTH, WIDTH);
    return graph.node('Transpose', [graph.node('Reshape', [vectors, byHead])], { perm });
  };
  const product = graph.node('MatMul', [part('query', [0, 2, 1, 3]), part('key', [0, 2, 3, 1])]);
  const scale = layers.scalar(`${name}.scale`, Math.sqrt(WIDTH / HEADS));
  const scores = graph.node('Add', [graph.node('Div', [product, scale]), masked]);
  const shares = graph.node('Softmax', [scores], { axis: 3 });
  const mixed = graph.node('MatMul', [shares, part('value', [0, 2, 1, 3])]);
  const together = graph.node('Transpose', [mixed], { perm: [0, 2, 1, 3] });
  const joined = layers.sizes(`${name}.joined`, [0, 0, WIDTH]);
  return layers.dense(`${name}.output`, graph.node('Reshape', [together, joined]), WIDTH, WIDTH);
}

/** Two layers with GELU (Hendrycks and Gimpel, arXiv:1606.08415) in between. */
function feedForward({ layers, one }: Text, name: string, x: string): string {
  const { graph } = layers;
  const hidden = layers.dense(`${name}.hidden`, x, WIDTH, HIDDEN);
  const erf = graph.node('Erf', [graph.node('Div', [hidden, layers.scalar(`${name}.root`, Math.SQRT2)])]);
  const share = graph.node('Mul', [hidden, graph.node('Add', [erf, one])]);
  const activated = graph.node('Mul', [share, layers.scalar(`${name}.half`, 0.5)]);
  return layers.dense(`${name}.output`, activated, HIDDEN, WIDTH);
}

/** Mean vector of a text's tokens. */
function meanOf({ layers, one }: Text, x: string, mask: string): string {
  const { graph } = layers;
  const sequence = layers.sizes('sequence_axis', [1]);
  const weights = graph.node('Unsqueeze', [mask, layers.sizes('vector_axis', [2])]);
  const sum = graph.node('ReduceSum', [graph.node('Mul', [x, weights]), sequence], { keepdims: 0 });
  const count = graph.node('ReduceSum', [weights, sequence], { keepdims: 0 });
  // A row without tokens is all padding.
  return graph.node('Div', [sum, graph.node('Max', [count, one])]);
}
