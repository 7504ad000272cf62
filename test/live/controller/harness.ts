import { expect, vi } from 'vitest';
import { Clock } from '../../../src/base/clock/clock.js';
import { NS_PER_S } from '../../../src/base/units.js';
import { createPolicyOf } from '../../../src/config/create-policy.js';
import { ACTION_NAMES } from '../../../src/core/action.js';
import type { Admission } from '../../../src/core/admission.js';
import { OUTCOME_NAMES } from '../../../src/core/request.js';
import { Fleet } from '../../../src/live/controller/fleet.js';
import type { FleetWorker } from '../../../src/live/controller/fleet-worker.js';
import { LiveController } from '../../../src/live/controller/live-controller.js';
import { fanOutEvents } from '../../../src/live/controller/live-events.js';
import { JournalWriter } from '../../../src/live/journal/journal-writer.js';
import { replayJournal } from '../../../src/live/journal/replay.js';
import type { InferenceAnswer } from '../../../src/live/service.js';
import { MS } from '../../sim/fixtures.js';
import { header, journalPath, replayPolicy } from '../journal/fixtures.js';
import type { FakeWorker } from './fake-worker.js';

/** Time stands still between the steps of a test; files are written in real time. */
const FAKED = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
  'hrtime',
] as const;

export interface LiveOptions {
  readonly workers: readonly FakeWorker[];
  readonly policy?: string;
  readonly sloMs?: number;
  readonly admission?: Admission;
  readonly hangNs?: number;
  /** Default: all. */
  readonly minWorkers?: number;
  /** Workers that may come by themselves; with `early` they do before there is a cluster. */
  readonly dynamic?: readonly FakeWorker[];
  readonly early?: boolean;
  readonly maxGpus?: number;
}

/** A request and what became of it. */
export interface Asked {
  readonly inputs: readonly Uint8Array[];
  readonly answers: InferenceAnswer[];
}

/** Adds a worker as if it had registered. */
export function addTo(fleet: Fleet, worker: FakeWorker): FleetWorker {
  const { name: address } = worker;
  return fleet.add({ address, instance: address, host: 'test' }, () => worker);
}

/** A live controller over workers and a clock that the test plays. */
export class LiveHarness {
  readonly asked: Asked[] = [];

  constructor(
    readonly controller: LiveController,
    /** What the controller said of its workers, GPUs and devices. */
    readonly said: readonly string[],
    /** Actions and outcomes as observers see them. */
    readonly seen: readonly string[],
    readonly fleet: Fleet,
    private readonly sloMs: number,
  ) {}

  /** Asks for one inference; its number is in the inputs. `passedMs`: how long ago it came. */
  ask(model = 0, sloMs = this.sloMs, passedMs = 0): Asked {
    const number = this.asked.length;
    const inputs = [new Uint8Array([number, number + 1, 7]), new Uint8Array([number * 3, 1])];
    const asked: Asked = { inputs, answers: [] };
    this.asked.push(asked);
    let inCall = true;
    this.controller.infer({
      model,
      user: 0,
      sloNs: sloMs * MS,
      arrivalNs: this.controller.nowNs() - passedMs * MS,
      inputs,
      done: (answer) => {
        expect(inCall, 'a request is not answered from within the call').toBe(false);
        asked.answers.push(answer);
      },
    });
    inCall = false;
    return asked;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  /** Outcomes so far, '-' for none. */
  get outcomes(): string[] {
    return this.asked.map(
      ({ answers }) => answers.map(({ outcome }) => OUTCOME_NAMES[outcome]).join() || '-',
    );
  }
}

/**
 * Plays `scenario` with a controller over the workers, then closes it. Every request must have exactly one answer
 * then, and its journal must replay to the same digest.
 */
export async function withController(
  {
    workers,
    policy = 'clockwork',
    sloMs = 100,
    admission = 'none',
    hangNs = 10 * NS_PER_S,
    minWorkers,
    dynamic = [],
    early = false,
    maxGpus,
  }: LiveOptions,
  scenario: (run: LiveHarness) => Promise<void>,
): Promise<void> {
  vi.useFakeTimers({ toFake: [...FAKED] });
  const path = journalPath();
  const clock = new Clock();
  const fleet = new Fleet(workers, maxGpus ?? null);
  if (early) for (const worker of dynamic) addTo(fleet, worker);
  const said: string[] = [];
  const seen: string[] = [];
  let digest = '';
  let run: LiveHarness;
  let journal: JournalWriter;
  try {
    const cluster = await fleet.assemble(() => clock.nowNs(), {
      timeoutNs: NS_PER_S,
      ...(minWorkers === undefined ? {} : { minWorkers }),
    });
    const { spec } = cluster;
    const head = header(policy, {
      ...spec,
      oneLane: spec.oneLane ?? false,
      defaultSloNs: sloMs * MS,
      admission,
      missedWindow: 'retry',
    });
    journal = new JournalWriter(path, head, (error) => {
      throw error;
    });
    const controller = new LiveController({
      fleet,
      cluster,
      clock,
      createPolicy: createPolicyOf({ kind: head.policy.kind, options: head.policy.options }),
      defaultSloNs: sloMs * MS,
      admission,
      observer: {
        decided: ({ kind }) => seen.push(ACTION_NAMES[kind]),
        answered: (_requests, _slot, outcome) => seen.push(OUTCOME_NAMES[outcome]),
        completed: () => {},
      },
      journal,
      hangNs,
      events: fanOutEvents([
        {
          gpuDown: (gpu, reason) => said.push(`GPU ${gpu} down: ${reason}`),
          gpuUp: (gpu) => said.push(`GPU ${gpu} up`),
          workerLeft: (name) => said.push(`${name} has left`),
          worker: (name, up, what, asAsked = false) =>
            said.push(`${name} ${up ? 'is used' : 'is not used'}: ${what}${asAsked ? ' (as asked)' : ''}`),
          standsBy: (isIt) => said.push(isIt ? 'stands by' : 'drives'),
          deviceError: (gpu, model, error) => said.push(`GPU ${gpu} failed at ${model}: ${error}`),
        },
      ]),
    });
    run = new LiveHarness(controller, said, seen, fleet, sloMs);
    await run.pass(1);
    await scenario(run);
    await controller.close();
    await run.pass(1);
    digest = controller.core.digest;
  } finally {
    vi.useRealTimers();
  }
  await journal.close(digest);
  expect(run.asked.map(({ answers }) => answers.length)).toEqual(run.asked.map(() => 1));
  expect(workers.map(({ closed }) => closed)).toEqual(workers.map(() => true));
  const replay = await replayJournal(path, { createPolicy: replayPolicy });
  expect(replay).toMatchObject({ digest, recordedDigest: digest, truncated: false });
}
