import type { Draw } from '../draw.js';
import type { Section } from './candidate.js';

/** Who sends requests: sections of the experiment, and what each workload section says of it. */
export interface DrawnSenders {
  readonly sections: Section;
  /** The workload sections with their senders. */
  readonly workload: readonly Section[];
}

const WEIGHTS = [1, 1, 2, 10, 1000] as const;

/** Classes, tenants, both or none; a section that names none sends as the first. */
export function drawSenders(draw: Draw, workload: readonly Section[], rateRps: number): DrawnSenders {
  const classes = draw.chance(0.3) ? drawClasses(draw) : [];
  const tenants = draw.chance(0.3) ? drawTenants(draw, rateRps) : [];
  const named = (key: string, list: readonly Section[]) =>
    draw.maybe(list.length === 0 ? 0 : 0.8, key, () => draw.pick(list).name);
  return {
    sections: {
      ...(classes.length === 0 ? {} : { classes }),
      ...(tenants.length === 0 ? {} : { tenants: { list: tenants } }),
    },
    workload: workload.map((section) => ({
      ...section,
      ...named('class', classes),
      ...named('tenant', tenants),
    })),
  };
}

/** Guarantees of all of them together leave at least a tenth of the GPU time. */
function drawClasses(draw: Draw): Section[] {
  const count = draw.int(1, 4);
  return Array.from({ length: count }, (_, i) => ({
    name: `class${i}`,
    ...draw.maybe(0.7, 'weight', () => draw.pick(WEIGHTS)),
    ...draw.maybe(0.4, 'share', () => `${draw.int(1, Math.floor(90 / count))}%`),
  }));
}

/** Limits from a small part of what comes to more than all of it. */
function drawTenants(draw: Draw, rateRps: number): Section[] {
  return draw.list(1, draw.chance(0.05) ? 60 : 4, (i) => ({
    name: `tenant${i}`,
    ...draw.maybe(0.5, 'rate', () => `${draw.real(0.02 * rateRps, 3 * rateRps)}/s`),
    ...draw.maybe(0.4, 'burst', () => draw.log(1, 1000)),
    ...draw.maybe(0.4, 'share', () => draw.pick(WEIGHTS)),
  }));
}

/** What inputs of a profile may be padded to: the shorter lengths, ascending, and the longest. */
export interface DrawnLengths {
  readonly longest: number;
  /** With the share of the time of the longest that an INFER takes. */
  readonly shorter: readonly { readonly length: number; readonly share: number }[];
}

export function drawLengths(draw: Draw): DrawnLengths {
  const longest = draw.log(2, 4096);
  const power = draw.pick([0, 0.5, 1, 2]);
  const lengths = new Set(draw.list(0, 6, () => draw.log(1, longest - 1)));
  const ascending = [...lengths].sort((a, b) => a - b);
  return { longest, shorter: ascending.map((length) => ({ length, share: (length / longest) ** power })) };
}

/** How long the inputs of a workload are, up to what its models take. */
export function drawInputs(draw: Draw, longest: number): Section {
  switch (draw.pick(['constant', 'uniform', 'lognormal', 'list'] as const)) {
    case 'constant':
      return { kind: 'constant', value: draw.log(1, longest) };
    case 'uniform': {
      const from = draw.log(1, longest);
      return { kind: 'uniform', from, to: draw.int(from, longest) };
    }
    case 'lognormal':
      return {
        kind: 'lognormal',
        median: draw.log(1, longest),
        sigma: draw.pick([0, 0.5, 1, 3]),
        max: draw.int(Math.ceil(longest / 2), longest),
      };
    default:
      return { kind: 'list', values: draw.list(1, 20, () => draw.log(1, longest)) };
  }
}
