import type { Section } from './candidate.js';
import type { Draw } from './draw.js';

/** What inputs of a profile may be padded to: the shorter lengths, ascending, and the longest. */
export interface DrawnLengths {
  readonly longest: number;
  /** With the share of the time of the longest that an INFER takes. */
  readonly shorter: readonly { readonly length: number; readonly share: number }[];
}

export function drawLengths(draw: Draw): DrawnLengths {
  const longest = draw.skewed(2, 4096);
  const power = draw.pick([0, 0.5, 1, 2]);
  const lengths = new Set(draw.list(0, 6, () => draw.skewed(1, longest - 1)));
  const ascending = [...lengths].sort((a, b) => a - b);
  return { longest, shorter: ascending.map((length) => ({ length, share: (length / longest) ** power })) };
}

/** How long the inputs of a workload are, up to what its models take. */
export function drawInputs(draw: Draw, longest: number): Section {
  switch (draw.pick(['constant', 'uniform', 'lognormal', 'list'] as const)) {
    case 'constant':
      return { kind: 'constant', value: draw.skewed(1, longest) };
    case 'uniform': {
      const from = draw.skewed(1, longest);
      return { kind: 'uniform', from, to: draw.int(from, longest) };
    }
    case 'lognormal':
      return {
        kind: 'lognormal',
        median: draw.skewed(1, longest),
        sigma: draw.pick([0, 0.5, 1, 3]),
        max: draw.int(Math.ceil(longest / 2), longest),
      };
    default:
      return { kind: 'list', values: draw.list(1, 20, () => draw.skewed(1, longest)) };
  }
}
