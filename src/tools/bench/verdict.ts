import { type Estimate, studentT95 } from '../../report/statistics.js';
import { formatFactor, formatPercent } from '../../text/numbers.js';
import type { Protocol } from './child/messages.js';
import { rateText } from './figures.js';
import type { Knob, Service, Verdict } from './result.js';
import type { BatchRoom } from './subject.js';

/** What the stages of one run showed, and what the rules need to know of the machine. */
export interface Findings {
  readonly io: MeasuredStage;
  readonly synthetic: Estimate;
  readonly full: MeasuredStage;
  readonly batch: BatchRoom;
  readonly provider: string;
  /** Processors of the machine. */
  readonly cores: number;
  readonly intraOpThreads: number;
  readonly precision: string;
  readonly protocol: Protocol;
  /** The SLO is the user's. */
  readonly sloIsGiven: boolean;
}

interface MeasuredStage {
  readonly throughputRps: Estimate;
  readonly service: Service;
  /** Processors that were at work for others meanwhile. */
  readonly otherCores: number;
}

function knob(key: string, why: string, command: string | null = null): Knob {
  return { key, why, command };
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
  const percent = formatPercent(reached);
  const factor = formatFactor(wider.mean / narrower.mean);
  if (synthetic.n < 2) return unclear('One trial cannot show the noise.');
  if (1 - reached > TOLERATED_LOSS) {
    if (!isAbove(narrower, full.throughputRps))
      return unclear(`FULL reaches ${percent} of the slower part, which is within the noise of the trials.`);
    if (generatorLimits(full.service)) return generator('FULL', full);
    const { reason, knobs } = cause(findings, 1 - reached);
    return {
      bottleneck: 'between',
      title: 'The bottleneck is between IO and the device',
      reason:
        `FULL does ${rateText(full.throughputRps.mean)} requests/s, ${formatPercent(1 - reached)} less than ` +
        `${ioIsNarrower ? 'IO' : 'the device'} by itself: ${reason}.`,
      knobs,
    };
  }
  if (ioIsNarrower && generatorLimits(io.service)) return generator('IO', io);
  if (!isAbove(wider, narrower)) {
    return unclear(
      `IO and the device differ by no more than the noise; FULL reaches ${percent} of the slower one.`,
      [...deviceKnobs(findings), ...ioKnobs(findings)],
    );
  }
  if (ioIsNarrower) {
    return {
      bottleneck: 'io',
      title: 'IO is the bottleneck',
      reason: `It handles ${rateText(io.throughputRps.mean)} requests/s; by itself, the device runs ${factor} as many. FULL reaches ${percent} of it.`,
      knobs: ioKnobs(findings),
    };
  }
  const atLeast = generatorLimits(io.service) ? 'at least ' : '';
  return {
    bottleneck: 'device',
    title: 'The device is the bottleneck',
    reason: `By itself it runs ${rateText(synthetic.mean)} requests/s; IO handles ${atLeast}${factor} as many. FULL reaches ${percent} of it.`,
    knobs: deviceKnobs(findings),
  };
}

/** The process of the clients was at its end, and before the server was. */
export function generatorLimits({ generator: clients, server }: Service): boolean {
  return clients.busy >= SATURATED && clients.busy > server.busy;
}

function generator(stage: string, { throughputRps, service }: MeasuredStage): Verdict {
  return {
    bottleneck: 'generator',
    title: 'The load generator was the limit, not the server',
    reason:
      `In ${stage} its process was busy for ${formatPercent(service.generator.busy)} of the time and the server's for ` +
      `${formatPercent(service.server.busy)}: ${rateText(throughputRps.mean)} requests/s is a lower bound of what the server can do.`,
    knobs: [knob('escapement load', 'clients on another machine take no cores from the server')],
  };
}

const MORE_TRIALS = knob(
  '--trials',
  'more and longer trials on an idle machine resolve smaller differences',
  '--trials 10 --duration 5s',
);

function unclear(reason: string, knobs: readonly Knob[] = [MORE_TRIALS]): Verdict {
  return { bottleneck: 'unclear', title: 'The bottleneck is not clear', reason, knobs };
}

/** The last step to the batch size used must have brought this much, or a further one brings nothing. */
const WORTH = 0.05;

function deviceKnobs({ provider, cores, intraOpThreads, precision, batch }: Findings): Knob[] {
  const isCpu = provider === 'cpu';
  const more = Math.min(cores, Math.max(2, 2 * intraOpThreads));
  const step = formatPercent(batch.gain);
  const knobs: [boolean, Knob][] = [
    [
      isCpu && intraOpThreads < cores,
      knob(
        'runtime.intraOpThreads',
        `an INFER uses ${intraOpThreads} of ${cores} cores`,
        `--vary runtime.intraOpThreads=${intraOpThreads},${more}`,
      ),
    ],
    [
      !isCpu && precision === 'fp32',
      knob(
        'runtime.precision',
        'FP16 halves the bytes that the device moves',
        '--vary runtime.precision=fp32,fp16',
      ),
    ],
    [
      batch.limit === 'policy',
      knob(
        'policy.maxBatch',
        'larger batches measured faster, but the policy (or its maxExec) does not use them',
        '--vary policy.maxBatch=8,16,32',
      ),
    ],
    [
      batch.limit === 'measured' && batch.gain > WORTH,
      knob(
        'batchSizes',
        `the last step in batch size gained ${step}: add the next one to the models' config.yaml`,
      ),
    ],
    [isCpu, knob('escapement worker', 'each further machine adds the same throughput')],
    [!isCpu, knob('--gpus', 'each further GPU adds the same throughput, up to that of IO')],
  ];
  return chosen(knobs);
}

function ioKnobs({ protocol }: Findings): Knob[] {
  const other = protocol === 'http' ? 'grpc' : 'http';
  return [
    knob(
      '--protocol',
      `over ${other === 'grpc' ? 'gRPC' : 'HTTP'} a request may cost less`,
      `--protocol ${other}`,
    ),
    knob('escapement controller', 'a controller is one process: split models or clients among several'),
  ];
}

/** Failures are the reason where they are so large a share of what is missing. */
const EXPLAINED = 0.25;
/** Batches with fewer requests than this share of a full one. */
const FILLED = 0.8;
/** An EXEC lane that is busy for this share of the time has work all the time. */
const LANE_BUSY = 0.85;
/** Processes that use this share of all cores take them from each other. */
const CORES_BUSY = 0.9;
/** Others that use this share of the machine are worth a word. */
const TAKEN = 0.1;

/**
 * Why both together do less by the share `loss`, and what to try, by the first rule that applies. Batches that are not
 * full cost the device time; if the device waits, the reason is another.
 */
function cause(findings: Findings, loss: number): { readonly reason: string; readonly knobs: Knob[] } {
  const { full, batch, cores, provider, sloIsGiven } = findings;
  const { failedShare, meanBatch, deviceBusy, server, generator: clients } = full.service;
  const isCpu = provider === 'cpu';
  const fills = meanBatch >= FILLED * batch.full;
  const used = clients.cores + server.cores;
  const others = full.otherCores < TAKEN * cores ? '' : ` and other programs ${full.otherCores.toFixed(1)}`;
  // One that was chosen here has room for all that waits.
  const slo = (why: string): [boolean, Knob] => [sloIsGiven, knob('slo', why, '--set slo=5s')];
  const moreClients = knob('--concurrency', 'more concurrent requests fill batches');
  if (failedShare >= EXPLAINED * loss) {
    const fewer = knob('--concurrency', 'with fewer concurrent requests, none waits beyond its SLO');
    return {
      reason: `${formatPercent(failedShare)} of its requests had no result: refused, or too late to start`,
      knobs: chosen([slo('a larger SLO lets requests wait for their batch'), [true, fewer]]),
    };
  }
  if (!fills && deviceBusy >= LANE_BUSY) {
    return {
      reason: `its batches hold ${meanBatch.toFixed(1)} requests; the device is fastest with ${batch.full.toFixed(1)}`,
      knobs: chosen([slo('a larger SLO leaves time for batches to fill'), [true, moreClients]]),
    };
  }
  if (isCpu && used + full.otherCores >= CORES_BUSY * cores) {
    return {
      reason: `server and clients use ${used.toFixed(1)} of ${cores} cores${others}, so INFERs wait for cores`,
      knobs: [
        knob(
          'escapement worker',
          'with workers or clients on another machine, the device has its cores to itself',
        ),
        knob('runtime.intraOpThreads', 'with fewer threads, an INFER leaves cores to frontend and scheduler'),
      ],
    };
  }
  const busy = `the device is busy for ${formatPercent(deviceBusy)} of the time`;
  if (server.busy >= SATURATED)
    return {
      reason: `the server's event loop is busy for ${formatPercent(server.busy)} of the time`,
      knobs: ioKnobs(findings),
    };
  if (deviceBusy < LANE_BUSY) {
    const ahead = knob(
      'policy.scheduleAhead',
      'work booked further ahead is there when the device becomes free',
      '--vary policy.scheduleAhead=auto,5ms,20ms,50ms',
    );
    return {
      reason: `${busy} and waits for the rest`,
      knobs: chosen([
        [true, ahead],
        [!fills, moreClients],
      ]),
    };
  }
  const apart = knob('escapement load', 'clients on another machine leave caches and memory to the device');
  const lanes = knob(
    'runtime.laneThreads',
    'with 1 no LOAD runs at the same time as an INFER',
    '--vary runtime.laneThreads=1,8',
  );
  return { reason: `${busy}, and an INFER takes longer than by itself`, knobs: [isCpu ? apart : lanes] };
}

function chosen(knobs: readonly (readonly [boolean, Knob])[]): Knob[] {
  return knobs.filter(([applies]) => applies).map(([, one]) => one);
}

/**
 * The mean of `a` is larger than that of `b` beyond the noise: the 95 % confidence interval of their difference (Welch,
 * degrees of freedom by Satterthwaite, rounded down) is above 0. One repetition says nothing about the spread.
 */
export function isAbove(a: Estimate, b: Estimate): boolean {
  if (a.n < 2 || b.n < 2) return false;
  const [va, vb] = [a.sd ** 2 / a.n, b.sd ** 2 / b.n];
  if (va + vb === 0) return a.mean > b.mean;
  const degrees = (va + vb) ** 2 / (va ** 2 / (a.n - 1) + vb ** 2 / (b.n - 1));
  return a.mean - b.mean > studentT95(Math.max(1, Math.floor(degrees))) * Math.sqrt(va + vb);
}

/** Index of the largest, if it is above every other beyond the noise of both; null: no value is surely the best. */
export function surelyBest(estimates: readonly Estimate[]): number | null {
  if (estimates.length < 2) return null;
  const best = estimates.reduce((top, { mean }, i) => (mean > estimates[top].mean ? i : top), 0);
  return estimates.every((other, i) => i === best || isAbove(estimates[best], other)) ? best : null;
}
