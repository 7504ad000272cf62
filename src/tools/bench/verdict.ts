import type { Estimate } from '../../report/statistics.js';
import { formatFactor, formatPercent } from '../../text/numbers.js';
import { isAbove } from './difference.js';
import { rateText } from './figures.js';
import type { Findings, MeasuredStage } from './findings.js';
import { betweenKnobs, deviceKnobs, ioKnobs, type Knob } from './knobs.js';
import type { Service } from './stage.js';

/**
 * - `io`, `device`: the part with the lower throughput.
 * - `between`: together they do less than the slower of both.
 * - `generator`: the clients could not send more, so the server's limit is not known.
 * - `unclear`: the difference is within the noise.
 */
export type Bottleneck = 'io' | 'device' | 'between' | 'generator' | 'unclear';

export interface Verdict {
  readonly bottleneck: Bottleneck;
  readonly title: string;
  readonly reason: string;
  /** What to try next, the most promising first. */
  readonly knobs: readonly Knob[];
}

/** FULL may stay behind the narrower part by this share before something between them is to blame. */
const TOLERATED_LOSS = 0.1;
/** An event loop that is busy for this share of the time has no room left. */
const SATURATED = 0.9;

/**
 * The rules, in this order; differences within the noise are `unclear`:
 * 1. FULL is behind the slower of IO and SYNTHETIC, beyond the noise of both and by more than `TOLERATED_LOSS`: the
 *    bottleneck is between them; or the clients, if their process was saturated and busier than the server's.
 * 2. IO is slower, and the clients limited it: the server's limit is not known.
 * 3. The slower of both, if they differ beyond the noise.
 */
export function decide(findings: Findings): Verdict {
  const { io, synthetic, full } = findings;
  const ioIsNarrower = io.throughputRps.mean < synthetic.mean;
  const narrower = ioIsNarrower ? io.throughputRps : synthetic;
  const wider = ioIsNarrower ? synthetic : io.throughputRps;
  const reached = full.throughputRps.mean / narrower.mean;
  if (synthetic.n < 2) return unclear('One trial cannot show the noise', [MORE_TRIALS]);
  if (1 - reached > TOLERATED_LOSS) {
    if (isAbove(narrower, full.throughputRps)) {
      return generatorLimits(full.service)
        ? generator('FULL', full)
        : between(findings, narrower, ioIsNarrower);
    }
    const scatter = `FULL reaches ${formatPercent(reached)} of the slower part, which is within the noise of the trials`;
    return unclear(scatter, [MORE_TRIALS]);
  }
  if (ioIsNarrower && generatorLimits(io.service)) return generator('IO', io);
  if (!isAbove(wider, narrower)) {
    const alike = `IO and the device differ by no more than the noise; FULL reaches ${formatPercent(reached)} of the slower one`;
    return unclear(alike, [...deviceKnobs(findings), ...ioKnobs(findings)]);
  }
  const factor = formatFactor(wider.mean / narrower.mean);
  const fullText = `FULL reaches ${formatPercent(reached)} of it.`;
  if (!ioIsNarrower) {
    const atLeast = generatorLimits(io.service) ? 'at least ' : '';
    return {
      bottleneck: 'device',
      title: 'The device is the bottleneck',
      reason: `By itself it runs ${rateText(synthetic.mean)} requests/s; IO handles ${atLeast}${factor} as many. ${fullText}`,
      knobs: deviceKnobs(findings),
    };
  }
  return {
    bottleneck: 'io',
    title: 'IO is the bottleneck',
    reason: `It handles ${rateText(io.throughputRps.mean)} requests/s; by itself, the device runs ${factor} as many. ${fullText}`,
    knobs: ioKnobs(findings),
  };
}

/** Whether the process of the clients was at its end, and before the server was. */
export function generatorLimits({ generator: clients, server }: Service): boolean {
  return clients.busy >= SATURATED && clients.busy > server.busy;
}

function generator(stage: string, { throughputRps, service }: MeasuredStage): Verdict {
  const busy = formatPercent(service.generator.busy);
  return {
    bottleneck: 'generator',
    title: 'The load generator was the limit, not the server',
    reason:
      `In ${stage} its process was busy for ${busy} of the time and the server's for ` +
      `${formatPercent(service.server.busy)}: ${rateText(throughputRps.mean)} requests/s is a lower bound of what the server can do.`,
    knobs: [
      {
        key: 'escapement load',
        why: 'clients on another machine take no cores from the server',
        command: null,
      },
    ],
  };
}

function between(findings: Findings, narrower: Estimate, ioIsNarrower: boolean): Verdict {
  const { full } = findings;
  const loss = 1 - full.throughputRps.mean / narrower.mean;
  const { reason, knobs } = betweenKnobs(findings, loss);
  return {
    bottleneck: 'between',
    title: 'The bottleneck is between IO and the device',
    reason:
      `FULL does ${rateText(full.throughputRps.mean)} requests/s, ${formatPercent(loss)} less than ` +
      `${ioIsNarrower ? 'IO' : 'the device'} by itself: ${reason}`,
    knobs,
  };
}

const MORE_TRIALS: Knob = {
  key: '--trials',
  why: 'more and longer trials on an idle machine resolve smaller differences',
  command: '--trials 10 --duration 5s',
};

function unclear(reason: string, knobs: readonly Knob[]): Verdict {
  return {
    bottleneck: 'unclear',
    title: 'The bottleneck is not clear',
    reason: `${reason}.`,
    knobs,
  };
}
