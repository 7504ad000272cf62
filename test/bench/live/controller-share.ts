import { setTimeout } from 'node:timers/promises';
import { monotonicNs } from '../../../src/base/clock/clock.js';
import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { LocalLink } from '../../../src/live/controller/link/worker-link.js';
import { startMachine } from '../../../src/live/worker/local-machine.js';
import { startCluster } from '../../../src/serve/cluster.js';
import { simulatedModel } from '../../../src/serve/simulated-models.js';

/** What the controller itself adds to a request, µs: p50 and p99. */
interface ControllerShare {
  /** From taking a request to sending its INFER. */
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
const POLICY = {
  kind: 'clockwork',
  options: { scheduleAhead: 10 * NS_PER_MS, maxBatch: 8, maxExec: NS_PER_S },
};

/** One request at a time through the controller to a GPU that is simulated in real time. */
export async function measureControllerShare(requests: number): Promise<ControllerShare> {
  const machine = await startMachine({
    devices: [{ kind: 'simulated', timeScale: 1 }],
    models: [simulatedModel(MODEL, 1)],
    pages: 16,
    pageBytes: 1_000_000,
  });
  let sentNs = 0;
  let resultNs = 0;
  const noteSent = () => {
    sentNs = monotonicNs();
  };
  const noteResult = () => {
    resultNs = monotonicNs();
  };
  const cluster = await startCluster(
    { links: [new LocalLink(machine)], policy: POLICY, sloNs: NS_PER_S, admission: 'predict' },
    () => ({ times: { events: { sent: noteSent, ran: noteResult } } }),
  );
  const inNs: number[] = [];
  const outNs: number[] = [];
  const inputs = [new Uint8Array(MODEL.inputBytes)];
  for (let i = 0; i < requests; i++) {
    await setTimeout(20);
    const askedNs = monotonicNs();
    await new Promise<void>((resolve) => {
      cluster.controller.infer({ model: 0, user: 0, sloNs: NS_PER_S, inputs, done: () => resolve() });
    });
    // The first waits for a LOAD.
    if (i === 0) continue;
    outNs.push(monotonicNs() - resultNs);
    inNs.push(sentNs - askedNs);
  }
  await cluster.close();
  return {
    inUs: middleUs(inNs),
    outUs: middleUs(outNs),
    sumUs: middleUs(inNs.map((ns, i) => ns + outNs[i])),
  };
}

function middleUs(valuesNs: readonly number[]): readonly [number, number] {
  const sorted = valuesNs.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(share * sorted.length)] / 1000);
  return [at(0.5), at(0.99)];
}
