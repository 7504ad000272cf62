import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import type { History, HistoryEvent } from '../history/history.js';
import type { Scenario } from '../scenario/scenario.js';

const CONTROLLER = 'controller-0#1';
const WORKER = 'worker-0#1';
const CLOCK = { originNs: NS_PER_S, driftPpm: 0 };

/** One controller, one worker with one GPU, one model of 2 of 5 pages; nothing goes wrong. */
export const EXAMPLE_SCENARIO: Scenario = {
  seed: 1,
  cluster: {
    machines: [{ name: 'worker-0', gpus: 1, clock: CLOCK }],
    controllers: [{ name: 'controller-0', isStandby: false, startNs: 0, hasJournal: false, clock: CLOCK }],
    joining: 'listed',
    policy: { kind: 'fifo', options: {} },
    admission: 'none',
    models: [
      {
        name: 'm',
        pages: 2,
        loadNs: 3 * NS_PER_MS,
        batchSizes: [1],
        execNs: [NS_PER_MS],
        inputBytes: 4,
        outputBytes: 8,
      },
    ],
    control: 'all',
    defaultSloNs: NS_PER_S,
    pages: 5,
    delayNs: NS_PER_MS,
    jitterNs: 0,
  },
  workload: { clients: [], changes: [] },
  faults: [],
  loadNs: NS_PER_S,
  recoverNs: NS_PER_S,
};

/** A request that is loaded for, executed and answered, then a quiet moment. Times are ms. */
const EXAMPLE_EVENTS: readonly HistoryEvent[] = [
  at(0, { kind: 'started', process: WORKER }),
  at(0, { kind: 'executorStarted', process: WORKER, gpus: [0] }),
  at(1, { kind: 'started', process: CONTROLLER }),
  at(2, { kind: 'streamOpened', stream: 1, controller: CONTROLLER, worker: WORKER }),
  at(3, { kind: 'leaseSaid', stream: 1, term: 1, driver: 'c' }),
  at(4, { kind: 'stateSaid', stream: 1 }),
  at(10, { kind: 'asked', request: 1, client: 'a', process: CONTROLLER, model: 'm', sloNs: 50 * NS_PER_MS }),
  at(11, { kind: 'actionsArrived', stream: 1, actions: [1, 2] }),
  at(11, began(1, 'LOAD', 0, 11)),
  at(14, { kind: 'ended', process: WORKER, gpu: 0, action: 1, isOk: true }),
  at(15, began(2, 'INFER', 1, 15)),
  at(16, { kind: 'ended', process: WORKER, gpu: 0, action: 2, isOk: true }),
  at(16, { kind: 'resultsSent', stream: 1, actions: [1, 2] }),
  at(18, { kind: 'answered', request: 1, outcome: 'ok', error: '', outputBytes: [8], numbers: [[2]] }),
  at(2000, {
    kind: 'snapshot',
    process: CONTROLLER,
    isReady: true,
    drives: true,
    gpus: [{ worker: 'worker-0', gpu: 0, warm: ['m'], freePages: 3 }],
    requests: 0,
    actions: 0,
    metrics: 'escapement_requests_total{outcome="ok"} 1\n',
  }),
];

/** The example, changed: `edit` gets each event and returns what is in its place. */
export function exampleHistory(
  edit: (event: HistoryEvent) => readonly HistoryEvent[] = (event) => [event],
  scenario: Partial<Scenario> = {},
): History {
  return {
    scenario: { ...EXAMPLE_SCENARIO, ...scenario },
    events: EXAMPLE_EVENTS.flatMap(edit),
    journals: [],
  };
}

/** An event at a time in ms. */
export function at(ms: number, event: WithoutTime<HistoryEvent>): HistoryEvent {
  return { atNs: ms * NS_PER_MS, ...event } as HistoryEvent;
}

type WithoutTime<T> = T extends unknown ? Omit<T, 'atNs'> : never;

/** In a window of 5 ms; the worker's clock is a second ahead. */
function began(action: number, what: 'LOAD' | 'INFER', count: number, ms: number): WithoutTime<HistoryEvent> {
  const localNs = NS_PER_S + ms * NS_PER_MS;
  const window = { localNs, earliestNs: localNs - NS_PER_MS, latestNs: localNs + 4 * NS_PER_MS };
  return { kind: 'began', process: WORKER, gpu: 0, action, what, model: 'm', pages: 2, count, ...window };
}
