import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Controller } from '../../../src/core/controller.js';
import type { JournalHeader } from '../../../src/live/journal/journal-header.js';
import { JournalWriter } from '../../../src/live/journal/journal-writer.js';
import type { OutcomeList } from '../../../src/live/journal/outcome-list.js';
import { POLICIES } from '../../../src/policies/registry.js';
import { Simulator } from '../../../src/sim/simulator.js';
import { createPolicy, ListSource, MS, poisson, resnets } from '../../sim/fixtures.js';

export function journalPath(name = 'run.journal'): string {
  return join(mkdtempSync(join(tmpdir(), 'escapement-journal-')), name);
}

/** 6 models on 2 GPUs that hold 3 each. */
export function header(kind: string, over: Partial<JournalHeader> = {}): JournalHeader {
  const policy = POLICIES.find((entry) => entry.kind === kind);
  if (policy === undefined) throw new Error(`no policy ${kind}`);
  const defaults = Object.entries(policy.options).flatMap(([name, option]) =>
    option.default === undefined ? [] : [[name, option.default] as const],
  );
  return {
    models: resnets(6),
    spareModels: 0,
    spareBatch: 1,
    gpus: 2,
    spareGpus: 0,
    pages: 22,
    oneLane: false,
    policy: { kind, options: Object.fromEntries(defaults) },
    defaultSloNs: 25 * MS,
    admission: 'none',
    missedWindow: 'fail',
    ...over,
  };
}

/** Replays a journal with the policy that it names. */
export const replayPolicy: (
  header: JournalHeader,
  context: Parameters<ReturnType<typeof createPolicy>>[0],
) => ReturnType<ReturnType<typeof createPolicy>> = ({ policy }, context) =>
  createPolicy(policy.kind, policy.options)(context);

/** A controller whose requests may belong to a trace. */
export type Journaled = Controller & { offer(...args: Parameters<JournalWriter['offer']>): number };

/** Lets `journal` write down whatever enters `controller`. */
export function journaled(controller: Controller, journal: JournalWriter): Journaled {
  const { offer, cancel, result, gpuDown, gpuUp, step } = controller;
  return Object.assign(controller, {
    offer(...args: Parameters<JournalWriter['offer']>) {
      journal.offer(...args);
      const [model, arrivalNs, sloNs, user] = args;
      return offer.call(controller, model, arrivalNs, sloNs, user);
    },
    cancel(...args: Parameters<Controller['cancel']>) {
      journal.cancel(...args);
      cancel.apply(controller, args);
    },
    result(...args: Parameters<Controller['result']>) {
      journal.result(...args);
      result.apply(controller, args);
    },
    gpuDown(...args: Parameters<Controller['gpuDown']>) {
      journal.gpuDown(...args);
      gpuDown.apply(controller, args);
    },
    gpuUp(gpu: number, present: readonly number[], kind = 0) {
      journal.gpuUp(gpu, present, kind);
      gpuUp.call(controller, gpu, present, kind);
    },
    step(...args: Parameters<Controller['step']>) {
      journal.step(...args);
      step.apply(controller, args);
    },
  });
}

export interface Recording {
  readonly path: string;
  readonly header: JournalHeader;
  readonly digest: string;
  readonly requests: number;
}

/** Simulates two seconds of overload with noisy GPUs and a jittery network, and writes the journal. */
export async function record(
  head: JournalHeader,
  {
    path = journalPath(),
    outcomes,
    patienceOf,
  }: { path?: string; outcomes?: OutcomeList; patienceOf?: (nth: number) => number } = {},
): Promise<Recording> {
  const journal = new JournalWriter(path, head, (error) => {
    throw error;
  });
  const slosNs = [15 * MS, 25 * MS, 100 * MS];
  const { models, gpus, pages, oneLane, defaultSloNs, admission, missedWindow, policy } = head;
  const simulator = new Simulator({
    models,
    gpus,
    pages,
    oneLane,
    defaultSloNs,
    admission,
    missedWindow,
    createPolicy: createPolicy(policy.kind, policy.options),
    source: new ListSource(
      poisson({ seed: 5, rateRps: 700, durationNs: 2000 * MS, models: 6, slosNs }),
      patienceOf,
    ),
    seed: 5,
    noise: { exec: 0.05, load: 0.1, stragglers: 0.01, stragglerFactor: 5 },
    network: { delayNs: 100_000, jitterNs: 50_000 },
    ...(outcomes === undefined ? {} : { observer: outcomes }),
  });
  outcomes?.started(head, simulator.controller);
  journaled(simulator.controller, journal);
  await simulator.run();
  const { digest } = simulator.controller;
  await journal.close(digest);
  return { path: journal.path, header: head, digest, requests: simulator.arrivals };
}
