import { setTimeout } from 'node:timers/promises';
import { NS_PER_MS, NS_PER_S } from '../../core/units.js';
import { createPolicyOf } from '../../experiment/create-policy.js';
import { Clock, monotonicNs } from '../../live/clock.js';
import { Fleet } from '../../live/controller/fleet.js';
import { LiveController } from '../../live/controller/live-controller.js';
import { NO_EVENTS } from '../../live/controller/live-events.js';
import { startMachine } from '../../live/machine/local-machine.js';
import { LocalWorker } from '../../live/transport/local-worker.js';
import type { WorkerLink } from '../../live/worker-link.js';
import { simulatedModel } from '../../serving/simulated-models.js';

/** What the controller itself adds to a request, µs: p50 and p99. */
export interface ControllerShare {
  /** From taking a request to handing its INFER to the link. */
  readonly inUs: readonly [number, number];
  /** From getting the result to giving the answer. */
  readonly outUs: readonly [number, number];
  readonly sumUs: readonly [number, number];
}

const MODEL = {
  name: 'small',
  weightsBytes: 1_000_000,
  pages: 1,
  loadNs: NS_PER_MS,
  batchSizes: [1, 2, 4, 8],
  execNs: [2, 3, 4, 6].map((ms) => ms * NS_PER_MS),
  inputBytes: 49_152,
  outputBytes: 4000,
};

/** One request at a time through controller and link to a GPU that is simulated in real time. */
export async function measureControllerShare(requests: number): Promise<ControllerShare> {
  const machine = await startMachine({
    devices: [{ kind: 'simulated', timeScale: 1 }],
    models: [simulatedModel(MODEL, 1)],
    pages: 16,
    pageBytes: 1_000_000,
  });
  const clock = new Clock();
  const link = new ObservedLink(new LocalWorker(machine));
  const fleet = new Fleet([link]);
  const cluster = await fleet.assemble(() => clock.nowNs(), 10 * NS_PER_S);
  const nothing = () => {};
  const controller = new LiveController({
    fleet,
    cluster,
    clock,
    createPolicy: createPolicyOf({
      kind: 'clockwork',
      options: { scheduleAhead: 10 * NS_PER_MS, maxBatch: 8, maxExec: NS_PER_S },
    }),
    defaultSloNs: NS_PER_S,
    admission: 'predict',
    observer: { answered: nothing, completed: nothing },
    events: NO_EVENTS,
    journal: null,
    hangNs: 10 * NS_PER_S,
  });
  const inNs: number[] = [];
  const outNs: number[] = [];
  const inputs = [new Uint8Array(MODEL.inputBytes)];
  for (let i = 0; i < requests; i++) {
    await setTimeout(20);
    const askedNs = monotonicNs();
    await new Promise<void>((resolve) => {
      controller.infer({ model: 0, user: 0, sloNs: NS_PER_S, inputs, done: () => resolve() });
    });
    // The first waits for a LOAD.
    if (i === 0) continue;
    outNs.push(monotonicNs() - link.resultNs);
    inNs.push(link.sentNs - askedNs);
  }
  await controller.close();
  await machine.close();
  return {
    inUs: middleUs(inNs),
    outUs: middleUs(outNs),
    sumUs: middleUs(inNs.map((ns, i) => ns + outNs[i])),
  };
}

/** A link that notes when it was last given actions and when it last gave results. */
class ObservedLink implements WorkerLink {
  readonly name: string;
  sentNs = 0;
  resultNs = 0;

  constructor(private readonly link: WorkerLink) {
    this.name = link.name;
  }

  start(...[events, nowNs]: Parameters<WorkerLink['start']>): void {
    this.link.start(
      {
        up: (description, state) => events.up(description, state),
        down: (reason, gpu) => events.down(reason, gpu),
        results: (results) => {
          this.resultNs = monotonicNs();
          events.results(results);
        },
      },
      nowNs,
    );
  }

  send(...[actions]: Parameters<WorkerLink['send']>): void {
    this.link.send(actions);
    this.sentNs = monotonicNs();
  }

  restart(reason: string): void {
    this.link.restart(reason);
  }

  startProfile(): void {
    this.link.startProfile();
  }

  stopProfile(): ReturnType<WorkerLink['stopProfile']> {
    return this.link.stopProfile();
  }

  close(): Promise<void> {
    return this.link.close();
  }
}

function middleUs(valuesNs: readonly number[]): readonly [number, number] {
  const sorted = valuesNs.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(share * sorted.length)] / 1000);
  return [at(0.5), at(0.99)];
}
