import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Experiment } from '../../../src/config/experiment.js';
import type { ArrivalSource } from '../../../src/core/arrivals.js';
import type { ScheduledRun } from '../../../src/record/results.js';
import type { Engine } from '../../../src/run/engine.js';
import { run } from '../../../src/run/run.js';
import { SIMULATED } from '../../../src/run/simulated.js';
import { type ActionRecord, type AnswerRecord, type Arrival, keepRecords } from '../../sim/fixtures.js';

/** An experiment of the swarm has a few thousand requests: one with far more actions goes round in circles. */
const MOST_ACTIONS = 300_000;

/** A request as it came, before the scheduler saw it. */
export interface SentRequest extends Arrival {
  readonly user: number;
}

/** All that can be seen of a run from outside: what came, what was done, what was answered. */
export interface ObservedRun {
  readonly sent: readonly SentRequest[];
  readonly answers: readonly AnswerRecord[];
  readonly actions: readonly ActionRecord[];
  readonly result: ScheduledRun;
}

/** Runs an experiment. With `outDir`, which must exist, the logs and run.json are written there, as by the command line. */
export async function observe(experiment: Experiment, outDir?: string): Promise<ObservedRun> {
  const { actions, answers, observer } = keepRecords(MOST_ACTIONS);
  const sent: SentRequest[] = [];
  const engine: Engine = {
    kind: 'simulated',
    drive: (task) => SIMULATED.drive({ ...task, source: new WatchedSource(task.source, sent) }),
  };
  const { result } = await run(experiment, engine, { observer, ...(outDir === undefined ? {} : { outDir }) });
  if (outDir !== undefined) writeFileSync(join(outDir, 'run.json'), JSON.stringify(result));
  return { sent, answers, actions, result };
}

/** Notes each request that a source delivers. */
class WatchedSource implements ArrivalSource {
  readonly answered?: (user: number, nowNs: number) => void;

  constructor(
    private readonly source: ArrivalSource,
    private readonly sent: SentRequest[],
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

  get starved(): boolean {
    return this.source.starved === true;
  }

  advance(): void {
    const { timeNs, model, sloNs, user } = this.source;
    this.sent.push({ timeNs, model, sloNs, user });
    this.source.advance();
  }

  async refill(): Promise<void> {
    await this.source.refill?.();
  }
}
