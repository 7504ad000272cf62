import { formatFactor, formatPercent } from '../report/format.js';
import type { Estimate } from '../report/statistics.js';
import { isAbove } from './difference.js';
import { rateText } from './figures.js';
import type { Findings, MeasuredStage } from './findings.js';
import { betweenKnobs, deviceKnobs, ioKnobs, type Knob } from './knobs.js';
import type { Service } from './stage.js';

/**
 * - `io`, `device`: the part that lets fewer requests through.
 * - `between`: together they do less than the narrower of both.
 * - `generator`: the clients could not send more, so the server's limit is not known.
 * - `unclear`: the noise hides which.
 */
export type Narrowest = 'io' | 'device' | 'between' | 'generator' | 'unclear';

export interface Verdict {
  readonly narrowest: Narrowest;
  readonly title: string;
  readonly reason: string;
  /** What to try next, the most promising first. */
  readonly knobs: readonly Knob[];
}

/** FULL may stay behind the narrower part by this share before something between them is to blame. */
export const TOLERATED_LOSS = 0.1;
/** An event loop that is busy for this share of the time has no room left. */
export const SATURATED = 0.9;

/**
 * The rules, in this order; what the noise hides is `unclear`:
 * 1. FULL is behind the narrower of IO and SYNTHETIC, beyond the noise of both and by more than `TOLERATED_LOSS`:
 *    what lies between is to blame; or the clients, where their process was saturated and busier than the server's.
 * 2. IO is narrower, and the clients were what limited it: the server's limit is not known.
 * 3. The narrower of both, if they differ beyond the noise.
 */
export function decide(findings: Findings): Verdict {
  const { io, synthetic, full } = findings;
  const ioIsNarrower = io.requestsPerS.mean < synthetic.mean;
  const narrower = ioIsNarrower ? io.requestsPerS : synthetic;
  const wider = ioIsNarrower ? synthetic : io.requestsPerS;
  const reached = full.requestsPerS.mean / narrower.mean;
  if (synthetic.n < 2) return unclear('One trial tells nothing of the noise', [MORE_TRIALS]);
  if (1 - reached > TOLERATED_LOSS) {
    if (isAbove(narrower, full.requestsPerS)) {
      return generatorLimits(full.service)
        ? generator('FULL', full)
        : between(findings, narrower, ioIsNarrower);
    }
    const scatter = `FULL reaches ${formatPercent(reached)} of the narrower part, and the trials scatter as much`;
    return unclear(scatter, [MORE_TRIALS]);
  }
  if (ioIsNarrower && generatorLimits(io.service)) return generator('IO', io);
  if (!isAbove(wider, narrower)) {
    const alike = `IO and device differ by no more than the noise; FULL reaches ${formatPercent(reached)} of the narrower`;
    return unclear(alike, [...deviceKnobs(findings), ...ioKnobs(findings)]);
  }
  const factor = formatFactor(wider.mean / narrower.mean);
  const fullText = `FULL reaches ${formatPercent(reached)} of it.`;
  if (!ioIsNarrower) {
    const atLeast = generatorLimits(io.service) ? 'at least ' : '';
    return {
      narrowest: 'device',
      title: 'The device is the narrowest part',
      reason: `It runs ${rateText(synthetic.mean)} requests/s by itself; IO lets ${atLeast}${factor} as many through. ${fullText}`,
      knobs: deviceKnobs(findings),
    };
  }
  return {
    narrowest: 'io',
    title: 'IO is the narrowest part',
    reason: `It lets ${rateText(io.requestsPerS.mean)} requests/s through; the device runs ${factor} as many by itself. ${fullText}`,
    knobs: ioKnobs(findings),
  };
}

/** Whether the process of the clients was at its end, and before the server was. */
export function generatorLimits({ generator: clients, server }: Service): boolean {
  return clients.busy >= SATURATED && clients.busy > server.busy;
}

function generator(stage: string, { requestsPerS, service }: MeasuredStage): Verdict {
  const busy = formatPercent(service.generator.busy);
  return {
    narrowest: 'generator',
    title: 'The load generator was the limit, not the server',
    reason:
      `In ${stage} its process was busy for ${busy} of the time and the server's for ` +
      `${formatPercent(service.server.busy)}: ${rateText(requestsPerS.mean)} requests/s are the least that the server can do.`,
    knobs: [
      {
        key: 'escapement load',
        why: 'clients on another machine take no processor from the server',
        command: null,
      },
    ],
  };
}

function between(findings: Findings, narrower: Estimate, ioIsNarrower: boolean): Verdict {
  const { full } = findings;
  const loss = 1 - full.requestsPerS.mean / narrower.mean;
  const { reason, knobs } = betweenKnobs(findings, loss);
  return {
    narrowest: 'between',
    title: 'What lies between IO and the device is the narrowest part',
    reason:
      `FULL does ${rateText(full.requestsPerS.mean)} requests/s, ${formatPercent(loss)} less than ` +
      `${ioIsNarrower ? 'IO' : 'the device'} by itself: ${reason}`,
    knobs,
  };
}

const MORE_TRIALS: Knob = {
  key: '--trials',
  why: 'more and longer trials, with nothing else running, show smaller differences',
  command: '--trials 10 --seconds 5',
};

function unclear(reason: string, knobs: readonly Knob[]): Verdict {
  return {
    narrowest: 'unclear',
    title: 'Which part is the narrowest is not clear',
    reason: `${reason}.`,
    knobs,
  };
}
