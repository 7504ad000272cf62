import type { Draw } from '../draw.js';
import type { Section } from './candidate.js';
import { type DrawnModels, ns } from './draw-models.js';
import { drawInputs } from './draw-senders.js';

const US = 1000;
const MS = 1e6;
const NS_PER_S = 1e9;
/** Many runs are short, in others queues grow long, caches turn over many times, and estimates have time to drift. */
export type ExperimentSize = 'short' | 'long';

/** By size: about how many requests there are, and how long it takes at most. */
const SIZES: Readonly<Record<ExperimentSize, SizeLimits>> = {
  short: { least: 5, most: 3000, longestNs: 600 * NS_PER_S },
  long: { least: 3000, most: 100_000, longestNs: 3600 * NS_PER_S },
};

interface SizeLimits {
  readonly least: number;
  readonly most: number;
  readonly longestNs: number;
}

/** Sections that run at the same time, and the files that they name. */
export interface DrawnWorkload {
  readonly sections: readonly Section[];
  readonly files: Readonly<Record<string, string>>;
  /** About when the last section ends. */
  readonly lengthNs: number;
  /** About how many requests come a second. */
  readonly rateRps: number;
}

interface Flow {
  readonly draw: Draw;
  readonly models: DrawnModels;
  readonly gpus: number;
  readonly rateRps: number;
  readonly lengthNs: number;
  readonly mostRequests: number;
}

/** Up to four sections of all kinds, from nearly idle to far beyond what the GPUs can do. */
export function drawWorkload(
  draw: Draw,
  {
    models,
    gpus,
    size,
  }: { readonly models: DrawnModels; readonly gpus: number; readonly size: ExperimentSize },
): DrawnWorkload {
  const files: Record<string, string> = {};
  const sections: Section[] = [];
  const capacityRps = (gpus * NS_PER_S) / models.costNs;
  const rateRps = Math.min(1e6, Math.max(0.1, capacityRps * draw.real(0.05, 5)));
  const { least, most: mostRequests, longestNs } = SIZES[size];
  const requests = draw.log(least, mostRequests);
  const lengthNs = Math.ceil(Math.min((requests / rateRps) * NS_PER_S, longestNs));
  const count = draw.pick([1, 1, 2, 3, 4]);
  for (let i = 0; i < count; i++) {
    const flow = { draw, models, gpus, rateRps: rateRps / count, lengthNs, mostRequests };
    sections.push({ ...drawKind(flow, files, i), ...common(flow, i) });
  }
  return { sections, files, lengthNs, rateRps };
}

function common({ draw, models, lengthNs }: Flow, index: number): Section {
  return {
    slo: ns(drawSlo(draw, models)),
    ...(models.longest === null ? {} : { length: drawInputs(draw, models.longest) }),
    ...draw.maybe(0.2, 'name', () => `section ${index}`),
    ...draw.maybe(0.25, 'models', () => draw.pick(models.patterns)),
    ...draw.maybe(0.15, 'start', () => ns(draw.int(1, lengthNs))),
  };
}

function drawSlo(draw: Draw, { costNs }: DrawnModels): number {
  if (draw.chance(0.03)) return draw.pick([1, 1000, 10 * NS_PER_S]);
  return draw.real(0.5 * costNs, 300 * costNs);
}

function drawKind(flow: Flow, files: Record<string, string>, index: number): Section {
  const { draw, rateRps, lengthNs } = flow;
  const duration = ns(lengthNs);
  const rate = `${rateRps}/s`;
  const spread = draw.maybe(0.5, 'popularity', () => popularity(draw));
  switch (
    draw.pick([
      'poisson',
      'poisson',
      'fixed',
      'gamma',
      'on-off',
      'ramp',
      'closed-loop',
      'azure-like',
      'arrivals',
    ])
  ) {
    case 'fixed':
      return { kind: 'fixed', ...volume(flow), ...spread };
    case 'gamma':
      return { kind: 'gamma', ...volume(flow), cv: draw.pick([0.1, 0.5, 2, 5]), ...spread };
    case 'on-off': {
      const [on, off] = [ns(lengthNs / draw.int(2, 20)), ns(lengthNs / draw.int(2, 20))];
      return {
        kind: 'on-off',
        onRate: rate,
        ...draw.maybe(0.3, 'offRate', () => rate),
        on,
        off,
        duration,
        ...spread,
      };
    }
    case 'ramp': {
      const [from, to] = draw.chance(0.5) ? ['0/s', rate] : [rate, '0/s'];
      return { kind: 'ramp', from, to, duration, ...spread };
    }
    case 'closed-loop':
      return { ...closedLoop(flow), ...spread };
    case 'azure-like': {
      const minutes = draw.int(1, 6);
      const functions = draw.log(1, 60);
      return {
        kind: 'azure-like',
        functions,
        minutes,
        rate,
        interval: ns(lengthNs / minutes),
        ...assign(draw),
      };
    }
    case 'arrivals': {
      const path = `arrivals${index}.csv`;
      files[path] = arrivals(flow);
      return { kind: 'arrivals', path };
    }
    default:
      return { kind: 'poisson', ...volume(flow), ...spread };
  }
}

/** How much arrives and for how long. Mostly a rate: a load is of what full batches could do, far more requests a second. */
function volume({ draw, models, gpus, rateRps, lengthNs, mostRequests }: Flow): Section {
  if (draw.chance(0.85)) return { rate: `${rateRps}/s`, duration: ns(lengthNs) };
  const load = draw.log(5, 300);
  const mostNs = (mostRequests * models.cheapestNs) / (gpus * (load / 100));
  return { load: `${load}%`, duration: ns(Math.min(lengthNs, mostNs)) };
}

function popularity(draw: Draw): Section {
  return draw.chance(0.3) ? { kind: 'uniform' } : { kind: 'zipf', s: draw.pick([0, 0.9, 1, 2]) };
}

function assign(draw: Draw): Section {
  return draw.maybe(0.4, 'assign', () => 'stripe');
}

/** Clients that are refused at once ask again after their pause: it limits how many requests there are. */
function closedLoop({ draw, lengthNs, mostRequests }: Flow): Section {
  const clients = draw.log(1, 60);
  const concurrency = draw.pick([1, 1, 2, 8]);
  const thinkNs = draw.chance(0.2) ? 0 : draw.log(100 * US, 50 * MS);
  const mostNs = (Math.max(US, thinkNs) * mostRequests) / (clients * concurrency);
  const think = thinkNs === 0 ? {} : { think: ns(thinkNs) };
  return { kind: 'closed-loop', clients, concurrency, ...think, duration: ns(Math.min(lengthNs, mostNs)) };
}

/** Rows of a file: often several in one instant, each with its own SLO. */
function arrivals({ draw, models, rateRps, lengthNs }: Flow): string {
  const count = Math.max(1, Math.min(500, Math.round((rateRps * lengthNs) / NS_PER_S)));
  const sloNs = drawSlo(draw, models);
  const { longest } = models;
  // Those of the rows come before that of the section.
  const hasLengths = longest !== null && draw.chance(0.5);
  const lengthOf = () => (hasLengths ? `,${draw.log(1, longest)}` : '');
  let timeNs = draw.int(0, lengthNs);
  const rows = Array.from({ length: count }, () => {
    if (draw.chance(0.6)) timeNs += draw.int(0, Math.round((2 * NS_PER_S) / rateRps));
    return `${timeNs},0,${Math.max(1, Math.round(sloNs * draw.pick([0.1, 1, 1, 10])))}${lengthOf()}`;
  });
  return `arrival_ns,model_id,slo_ns${hasLengths ? ',length' : ''}\n${rows.join('\n')}\n`;
}
