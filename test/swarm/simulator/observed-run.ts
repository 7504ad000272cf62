import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Experiment } from '../../../src/config/experiment.js';
import type { ArrivalSource } from '../../../src/core/arrivals.js';
import { GPU_OFF, type GpuState } from '../../../src/core/fleet-observer.js';
import type { RunObserver } from '../../../src/core/observer.js';
import type { ScheduledRun } from '../../../src/record/results.js';
import { type Engine, run } from '../../../src/run/run.js';
import { SIMULATED } from '../../../src/run/simulated.js';
import { type ActionRecord, type AnswerRecord, type Arrival, keepRecords } from '../../sim/fixtures.js';

/** An experiment with more actions than this goes round in circles. */
const MOST_ACTIONS = 300_000;
const MOST_ACTIONS_PER_REQUEST = 20;

/** All that can be seen of a run from outside: what came, what was done, what was answered. */
export interface ObservedRun {
  readonly sent: readonly SentRequest[];
  /** In order of time; of requests that pipelines made of them, too. */
  readonly answers: readonly AnswerRecord[];
  readonly actions: readonly ActionRecord[];
  readonly result: ScheduledRun;
  /** GPUs that went, each with the number of actions that were decided before. */
  readonly gone: readonly { readonly gpu: number; readonly actions: number }[];
}

/**
 * Runs an experiment. With `outDir`, which must exist, the logs and run.json are written there, as by the command line.
 * `patienceOf`: how long the client of each request waits, by their order; default: for ever.
 */
export async function observe(
  experiment: Experiment,
  outDir?: string,
  patienceOf = (_nth: number) => Number.POSITIVE_INFINITY,
): Promise<ObservedRun> {
  const sent: SentRequest[] = [];
  const { actions, answers, observer, cancelled } = keepRecords(
    () => MOST_ACTIONS + MOST_ACTIONS_PER_REQUEST * Math.max(sent.length, answers.length),
  );
  let decided = 0;
  const gone: { gpu: number; actions: number }[] = [];
  const watching: RunObserver = {
    ...observer,
    cancelled: (requests, slot, nowNs) => void cancelled(requests, slot, nowNs),
    decided: () => void decided++,
  };
  const gpuChanged = (gpu: number, state: GpuState) => {
    if (state === GPU_OFF) gone.push({ gpu, actions: decided });
  };
  const engine: Engine = {
    kind: 'simulated',
    drive: (task) => {
      const source = new WatchedSource(task.source, (request) => void sent.push(request), patienceOf);
      const { scaling } = task;
      if (scaling === null) return SIMULATED.drive({ ...task, source });
      const { fleet } = scaling;
      const observers = [...fleet.observers, { gpuChanged }];
      return SIMULATED.drive({ ...task, source, scaling: { ...scaling, fleet: { ...fleet, observers } } });
    },
  };
  const { result } = await run(experiment, engine, {
    observer: watching,
    ...(outDir === undefined ? {} : { outDir }),
  });
  if (outDir !== undefined) writeFileSync(join(outDir, 'run.json'), JSON.stringify(result));
  return { sent, answers, actions, result, gone };
}

/** A request as it came, before the scheduler saw it. */
export interface SentRequest extends Arrival {
  readonly user: number;
  readonly requestClass: number;
  readonly tenant: number;
  readonly length: number;
}

/** Notes each request that a source delivers. */
export class WatchedSource implements ArrivalSource {
  readonly answered?: (user: number, nowNs: number) => void;
  private count = 0;

  constructor(
    private readonly source: ArrivalSource,
    private readonly sent: (request: SentRequest) => void,
    private readonly patienceOf = (_nth: number) => Number.POSITIVE_INFINITY,
  ) {
    if (source.answered !== undefined) this.answered = source.answered.bind(source);
  }

  get timeNs(): number {
    return this.source.timeNs;
  }

  get model(): number {
    return this.source.model;
  }

  get sloNs(): number {
    return this.source.sloNs;
  }

  get user(): number {
    return this.source.user;
  }

  get requestClass(): number {
    return this.source.requestClass ?? 0;
  }

  get tenant(): number {
    return this.source.tenant ?? 0;
  }

  get length(): number {
    return this.source.length ?? 0;
  }

  get patienceNs(): number {
    return this.patienceOf(this.count);
  }

  get starved(): boolean {
    return this.source.starved === true;
  }

  advance(): void {
    const { timeNs, model, sloNs, user, requestClass, tenant, length } = this;
    this.sent({ timeNs, model, sloNs, user, requestClass, tenant, length });
    this.count++;
    this.source.advance();
  }

  async refill(): Promise<void> {
    await this.source.refill?.();
  }
}
