import { formatPercent } from '../report/format.js';
import type { Findings } from './findings.js';

/** A setting to try next. */
export interface Knob {
  /** As in a file or on the command line. */
  readonly key: string;
  readonly why: string;
  /** Flags of this command that try it; null: it is not up to this command. */
  readonly command: string | null;
}

/** The last step to the batch size used must have brought this much, or a further one brings nothing. */
const WORTH = 0.05;
/** Others that use this share of the machine are worth a word. */
const TAKEN = 0.1;
/** Failures are the reason where they are so large a share of what is missing. */
const EXPLAINED = 0.25;
/** Batches with fewer requests than this share of a full one. */
const FILLED = 0.8;
/** An EXEC lane that is busy for this share of the time has work all the time. */
const LANE_BUSY = 0.85;
/** Processes that use this share of all processors take them from each other. */
const CORES_BUSY = 0.9;
/** Of the server's event loop. */
const LOOP_BUSY = 0.9;

/** The device is the narrowest part. */
export function deviceKnobs({ provider, cores, intraOpThreads, precision, batch }: Findings): Knob[] {
  const isCpu = provider === 'cpu';
  const knobs: Knob[] = [];
  if (isCpu && intraOpThreads < cores) {
    const most = Math.min(cores, Math.max(2, 2 * intraOpThreads));
    knobs.push({
      key: 'runtime.intraOpThreads',
      why: `an INFER uses ${intraOpThreads} of ${cores} processors`,
      command: `--vary runtime.intraOpThreads=${intraOpThreads},${most}`,
    });
  }
  if (!isCpu && precision === 'fp32') {
    knobs.push({
      key: 'runtime.precision',
      why: 'FP16 halves the bytes that the device moves',
      command: '--vary runtime.precision=fp32,fp16',
    });
  }
  if (batch.limit === 'policy') {
    knobs.push({
      key: 'policy.maxBatch',
      why: 'larger batches were measured to be faster, and the policy does not use them (policy.maxExec may be why)',
      command: '--vary policy.maxBatch=8,16,32',
    });
  } else if (batch.limit === 'measured' && batch.gain > WORTH) {
    knobs.push({
      key: 'batchSizes',
      why: `the last step in batch size brought ${formatPercent(batch.gain)}: add the next one in the models' config.yaml`,
      command: null,
    });
  }
  knobs.push(
    isCpu
      ? {
          key: 'escapement worker',
          why: 'another machine adds as much again; models with fewer operations need less',
          command: null,
        }
      : { key: '--gpus', why: 'each GPU adds as much again until IO is reached', command: null },
  );
  return knobs;
}

/** IO is the narrowest part. */
export function ioKnobs({ protocol }: Findings): Knob[] {
  const other = protocol === 'http' ? 'grpc' : 'http';
  return [
    {
      key: '--protocol',
      why: `over ${other === 'grpc' ? 'gRPC' : 'HTTP'} a request may cost less; tensors go as bytes here, and as JSON cost far more`,
      command: `--protocol ${other}`,
    },
    {
      key: 'escapement controller',
      why: 'a controller is one process: deal models or clients to several, each with workers of its own',
      command: null,
    },
  ];
}

/**
 * Neither: why together they do less by the share `loss`, and what to do, by the first rule that applies. Batches that
 * do not fill cost the device time: one that waits has another reason.
 */
export function betweenKnobs(findings: Findings, loss: number): { reason: string; knobs: Knob[] } {
  const { full, batch, cores, provider, sloIsGiven } = findings;
  const { failedShare, meanBatch, deviceBusy, server, generator } = full.service;
  // One that was chosen here has room for all that waits.
  const slo = (why: string): Knob[] => (sloIsGiven ? [{ key: 'slo', why, command: '--set slo=5s' }] : []);
  const fills = meanBatch >= FILLED * batch.full;
  const clients = { key: '--clients', why: 'more requests at the same time fill batches', command: null };
  if (failedShare >= EXPLAINED * loss) {
    return {
      reason: `${formatPercent(failedShare)} of its requests had no result, refused or too late to start.`,
      knobs: [
        ...slo('a larger objective lets requests wait for their batch'),
        {
          key: 'policy.latestDelta',
          why: 'plans survive hiccups of a busy machine',
          command: '--set policy.latestDelta=1s',
        },
      ],
    };
  }
  if (!fills && deviceBusy >= LANE_BUSY) {
    return {
      reason: `its batches hold ${meanBatch.toFixed(1)} requests, ${batch.full.toFixed(1)} at the device's best.`,
      knobs: [...slo('a larger objective leaves time for batches to fill'), clients],
    };
  }
  const used = generator.cores + server.cores;
  const others = full.otherCores;
  if (provider === 'cpu' && used + others >= CORES_BUSY * cores) {
    const shared = others < TAKEN * cores ? '' : ` and other programs ${others.toFixed(1)}`;
    return {
      reason: `server and clients use ${used.toFixed(1)} of ${cores} processors${shared}, so that INFERs wait for theirs.`,
      knobs: [
        {
          key: 'escapement worker',
          why: 'on another machine, or clients there, the device keeps its processors to itself',
          command: null,
        },
        {
          key: 'runtime.intraOpThreads',
          why: 'fewer threads of an INFER leave processors to the door and the scheduler',
          command: null,
        },
      ],
    };
  }
  if (server.busy >= LOOP_BUSY) {
    return {
      reason: `the server's event loop is busy for ${formatPercent(server.busy)} of the time, with door, scheduler and results.`,
      knobs: ioKnobs(findings),
    };
  }
  if (deviceBusy < LANE_BUSY) {
    return {
      reason: `the device is busy for ${formatPercent(deviceBusy)} of the time and waits for the rest.`,
      knobs: [
        {
          key: 'policy.scheduleAhead',
          why: 'work that is booked further ahead is there when the device gets free',
          command: '--vary policy.scheduleAhead=5ms,10ms,20ms,50ms',
        },
        ...(fills ? [] : [clients]),
      ],
    };
  }
  return {
    reason: `the device is busy for ${formatPercent(deviceBusy)} of the time, and an INFER takes longer than by itself.`,
    knobs:
      provider === 'cpu'
        ? [
            {
              key: 'escapement load',
              why: 'clients on another machine leave caches and memory to the device',
              command: null,
            },
          ]
        : [
            {
              key: 'runtime.laneThreads',
              why: 'with 1 no LOAD runs beside an INFER',
              command: '--vary runtime.laneThreads=1,8',
            },
          ],
  };
}
