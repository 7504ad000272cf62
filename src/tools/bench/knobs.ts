import { formatPercent } from '../../text/numbers.js';
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
/** Processes that use this share of all cores take them from each other. */
const CORES_BUSY = 0.9;
/** Of the server's event loop. */
const LOOP_BUSY = 0.9;

/** The device is the bottleneck. */
export function deviceKnobs({ provider, cores, intraOpThreads, precision, batch }: Findings): Knob[] {
  const isCpu = provider === 'cpu';
  const knobs: Knob[] = [];
  if (isCpu && intraOpThreads < cores) {
    const most = Math.min(cores, Math.max(2, 2 * intraOpThreads));
    knobs.push({
      key: 'runtime.intraOpThreads',
      why: `an INFER uses ${intraOpThreads} of ${cores} cores`,
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
      why: 'larger batches measured faster, but the policy does not use them (perhaps because of policy.maxExec)',
      command: '--vary policy.maxBatch=8,16,32',
    });
  } else if (batch.limit === 'measured' && batch.gain > WORTH) {
    knobs.push({
      key: 'batchSizes',
      why: `the last step in batch size gained ${formatPercent(batch.gain)}: add the next one to the models' config.yaml`,
      command: null,
    });
  }
  knobs.push(
    isCpu
      ? {
          key: 'escapement worker',
          why: 'each further machine adds the same throughput; models with fewer operations need less',
          command: null,
        }
      : { key: '--gpus', why: 'each further GPU adds the same throughput, up to that of IO', command: null },
  );
  return knobs;
}

/** IO is the bottleneck. */
export function ioKnobs({ protocol }: Findings): Knob[] {
  const other = protocol === 'http' ? 'grpc' : 'http';
  return [
    {
      key: '--protocol',
      why: `over ${other === 'grpc' ? 'gRPC' : 'HTTP'} a request may cost less; here tensors are sent as bytes, JSON costs far more`,
      command: `--protocol ${other}`,
    },
    {
      key: 'escapement controller',
      why: 'a controller is one process: split models or clients among several, each with its own workers',
      command: null,
    },
  ];
}

/** Why device and IO together do less than each alone, and what to try. */
interface Between {
  readonly reason: string;
  readonly knobs: Knob[];
}

type Rule = (findings: Findings, loss: number) => Between | null;

/**
 * Why both together do less by the share `loss`, and what to do, by the first rule that applies. Batches that are not
 * full cost the device time; if the device waits, the reason is another.
 */
export function betweenKnobs(findings: Findings, loss: number): Between {
  for (const rule of RULES) {
    const found = rule(findings, loss);
    if (found !== null) return found;
  }
  return slowInfers(findings);
}

const failures: Rule = ({ full, sloIsGiven }, loss) => {
  const { failedShare } = full.service;
  if (failedShare < EXPLAINED * loss) return null;
  return {
    reason: `${formatPercent(failedShare)} of its requests had no result: refused, or too late to start.`,
    knobs: [
      ...slo(sloIsGiven, 'a larger SLO lets requests wait for their batch'),
      {
        key: '--concurrency',
        why: 'with fewer concurrent requests, none waits for the others beyond its SLO',
        command: null,
      },
    ],
  };
};

const partBatches: Rule = ({ full: { service }, batch, sloIsGiven }) => {
  const { meanBatch, deviceBusy } = service;
  if (meanBatch >= FILLED * batch.full || deviceBusy < LANE_BUSY) return null;
  return {
    reason: `its batches hold ${meanBatch.toFixed(1)} requests; the device is fastest with ${batch.full.toFixed(1)}.`,
    knobs: [...slo(sloIsGiven, 'a larger SLO leaves time for batches to fill'), MORE_CLIENTS],
  };
};

const sharedCores: Rule = ({ full, cores, provider }) => {
  const { server, generator } = full.service;
  const used = generator.cores + server.cores;
  const others = full.otherCores;
  if (provider !== 'cpu' || used + others < CORES_BUSY * cores) return null;
  const shared = others < TAKEN * cores ? '' : ` and other programs ${others.toFixed(1)}`;
  return {
    reason: `server and clients use ${used.toFixed(1)} of ${cores} cores${shared}, so INFERs wait for cores.`,
    knobs: [
      {
        key: 'escapement worker',
        why: 'with workers or clients on another machine, the device has its cores to itself',
        command: null,
      },
      {
        key: 'runtime.intraOpThreads',
        why: 'with fewer threads, an INFER leaves cores to the frontend and the scheduler',
        command: null,
      },
    ],
  };
};

const busyLoop: Rule = (findings) => {
  const { server } = findings.full.service;
  if (server.busy < LOOP_BUSY) return null;
  return {
    reason: `the server's event loop is busy for ${formatPercent(server.busy)} of the time, with frontend, scheduler and results.`,
    knobs: ioKnobs(findings),
  };
};

const idleDevice: Rule = ({ full: { service }, batch }) => {
  const { meanBatch, deviceBusy } = service;
  if (deviceBusy >= LANE_BUSY) return null;
  return {
    reason: `the device is busy for ${formatPercent(deviceBusy)} of the time and waits for the rest.`,
    knobs: [
      {
        key: 'policy.scheduleAhead',
        why: 'work booked further ahead is there when the device becomes free',
        command: '--vary policy.scheduleAhead=auto,5ms,20ms,50ms',
      },
      ...(meanBatch >= FILLED * batch.full ? [] : [MORE_CLIENTS]),
    ],
  };
};

const RULES: readonly Rule[] = [failures, partBatches, sharedCores, busyLoop, idleDevice];

function slowInfers({ full, provider }: Findings): Between {
  return {
    reason: `the device is busy for ${formatPercent(full.service.deviceBusy)} of the time, and an INFER takes longer than by itself.`,
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
              why: 'with 1 no LOAD runs at the same time as an INFER',
              command: '--vary runtime.laneThreads=1,8',
            },
          ],
  };
}

const MORE_CLIENTS: Knob = {
  key: '--concurrency',
  why: 'more concurrent requests fill batches',
  command: null,
};

/** One that was chosen here has room for all that waits. */
function slo(isGiven: boolean, why: string): Knob[] {
  return isGiven ? [{ key: 'slo', why, command: '--set slo=5s' }] : [];
}
