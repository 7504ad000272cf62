import type { Section } from './candidate.js';
import type { Draw } from './draw.js';

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
    ...draw.maybe(0.4, 'burst', () => draw.skewed(1, 1000)),
    ...draw.maybe(0.4, 'share', () => draw.pick(WEIGHTS)),
  }));
}
