import { describe, expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { SHUTTING_DOWN, STANDS_BY, WORKER_LOST } from '../../../src/live/service.js';
import type { HistoryEvent } from '../history/history.js';
import type { Scenario } from '../scenario/scenario.js';
import { checkHistory, titleOf } from './checks.js';
import { at, EXAMPLE_SCENARIO, exampleHistory } from './example.js';
import { PROBE } from './recovery.js';

type Kind = HistoryEvent['kind'];
type Edit = (event: HistoryEvent) => readonly HistoryEvent[];

/** What is found, or the check that finds nothing; how the example is changed, and its scenario. */
type Case = [string, Edit, object?];

function replace<K extends Kind>(
  kind: K,
  by: (event: Extract<HistoryEvent, { readonly kind: K }>) => readonly HistoryEvent[],
): Edit {
  return (event) =>
    event.kind === kind ? by(event as Extract<HistoryEvent, { readonly kind: K }>) : [event];
}

const change = <K extends Kind>(kind: K, changed: object): Edit =>
  replace(kind, (event) => [{ ...event, ...changed } as HistoryEvent]);
const before = (kind: Kind, ...events: readonly HistoryEvent[]) =>
  replace(kind, (event) => [...events, event]);
const after = (kind: Kind, ...events: readonly HistoryEvent[]) =>
  replace(kind, (event) => [event, ...events]);
const twice = (kind: Kind) => replace(kind, (event) => [event, event]);
const same: Edit = (event) => [event];

const CONTROLLER = { process: 'controller-0#1' } as const;
const WORKER = { process: 'worker-0#1' } as const;
const BETWEEN = { controller: 'controller-0#1', worker: 'worker-0#1' } as const;
const NOTHING = { outputBytes: [], numbers: [] } as const;
const unloaded = (ms: number) => at(ms, { kind: 'unloaded', ...WORKER, gpu: 0, model: 'm' });
const logged = (ms: number, level: 'info' | 'warn', line: string) =>
  at(ms, { kind: 'logged', ...CONTROLLER, level, line });
const opened = (ms: number, stream: number) => at(ms, { kind: 'streamOpened', stream, ...BETWEEN });
const failing = (error: string, ms = 18) =>
  at(ms, { kind: 'answered', request: 1, outcome: 'error', error, ...NOTHING });
const fails = (error: string, ms?: number) => replace('answered', () => [failing(error, ms)]);
const stops = at(80, { kind: 'asked to stop', ...CONTROLLER });
const crashed = at(17, { kind: 'crashed', ...CONTROLLER, why: 'the plan' });
const closed = [
  at(12, { kind: 'asked to stop', ...CONTROLLER }),
  at(20, { kind: 'frontendEnded', ...CONTROLLER }),
] as const;

const { cluster } = EXAMPLE_SCENARIO;
const inCluster = (more: object): Partial<Scenario> => ({ cluster: { ...cluster, ...more } });
const withFaults = (...faults: readonly object[]) => ({ faults });
const crash = { kind: 'crash', atNs: 12 * NS_PER_MS, process: 'worker-0', forNs: NS_PER_S } as const;
const deviceFails = (actions: number, gpu = 0) => ({ ...crash, kind: 'deviceFails', gpu, actions });
const jump = (machine: string, atNs: number) =>
  withFaults({ kind: 'clockJump', atNs, machine, byNs: NS_PER_S });
const two = inCluster({
  controllers: [...cluster.controllers, { ...cluster.controllers[0], name: 'controller-1' }],
});

/** Further requests of the second tenant, one a millisecond. */
const sending = (count: number, error = '') =>
  after(
    'answered',
    ...Array.from({ length: count }, (_, i) => [
      at(30 + i, {
        ...{ kind: 'asked', request: 10 + i, client: 'a', ...CONTROLLER, model: 'm' },
        ...{ sloNs: 50 * NS_PER_MS, tenant: 1 },
      }),
      at(30 + i, {
        ...{ kind: 'answered', request: 10 + i, error, outcome: error === '' ? 'ok' : 'rejected' },
        ...{ outputBytes: [8], numbers: [[11 + i]] },
      }),
    ]).flat(),
  );
const any = { name: 'any', rateRps: null, burst: 1, share: 1 };
const slow = inCluster({ tenants: [any, { name: 'slow', rateRps: 1, burst: 2, share: 1 }] });
const OVER_RATE = 'the tenant t0 is over its rate of 5/s with bursts of 2: it may send again in 5 ms';
const OVER_SHARE = 'the tenant t0 is over its share of 50 % while the server is overloaded';

const counts = (text: string) =>
  replace('snapshot', (event) => [{ ...event, metrics: event.metrics + text }]);
const counted = (sender: string, name: string, ok: number) =>
  counts(`escapement_${sender}_requests_total{${sender}="${name}",outcome="ok"} ${ok}\n`);
const classes = inCluster({ classes: ['a', 'b'].map((name) => ({ name, weight: 1, share: 0 })) });
const needs = (gpus: number) => counts(`escapement_gpus_needed{kind="simulated"} ${gpus}\n`);
const scaled = inCluster({ scaler: { kind: 'reactive', intervalNs: NS_PER_S, startNs: 0, more: 1 } });

const windowsSent = (pastNs: number, aheadNs = 0) =>
  after('streamOpened', at(6000, { kind: 'windowsSent', stream: 1, pastNs, aheadNs }));
const shifted = (byNs: number) => replace('began', (event) => [{ ...event, localNs: event.localNs + byNs }]);
const atLoad = (edit: (event: HistoryEvent) => readonly HistoryEvent[], other = same) =>
  replace('began', (event) => (event.what === 'LOAD' ? edit(event) : other(event)));
const takenNoMore = (ms: number) =>
  replace('asked', (event) => [
    logged(10, 'info', 'SIGTERM: no new requests'),
    { ...event, atNs: ms * NS_PER_MS, sloNs: NS_PER_S },
  ]);
const answeredAt = (ms: number) => change('answered', { atNs: ms * NS_PER_MS });
const takenBy = replace('leaseSaid', (event) => [event, { ...event, term: 2, driver: 'd' }]);
const up = logged(50, 'info', 'worker worker-0:7000 is up');
const lost = withFaults({ ...crash, atNs: 100 * NS_PER_MS, forNs: NS_PER_MS });

describe('checks find', () => {
  it.each<Case>([
    [
      'one answer: request 1 for m, asked of controller-0#1 at 0.010000 s, has no answer',
      replace('answered', () => []),
    ],
    ['metrics: controller-0#1 counts 1 requests as ok, and its clients got 0', replace('answered', () => [])],
    ['one answer: request 1 is answered again: ok, after ok', twice('answered')],
    [
      'one answer: request 1 is answered again: ok, after its connection was cut',
      before('answered', crashed),
    ],
    ['one answer', replace('answered', () => closed)],
    ['it is taken by a server that says it takes none', takenNoMore(70)],
    [
      'in time: request 1 of controller-0#1 is answered "ok" after 53.000 ms, with an SLO of 50.000 ms',
      answeredAt(63),
    ],
    [
      'allowed answers: request 1 for m of controller-0: it is answered "error" for an unknown reason',
      fails('who knows'),
    ],
    ['allowed answers', fails(SHUTTING_DOWN)],
    ['allowed answers', fails(WORKER_LOST)],
    // It has time to be tried elsewhere.
    ['allowed answers', fails(WORKER_LOST), withFaults(crash)],
    ['allowed answers', fails('no worker is up'), withFaults(deviceFails(2))],
    ['allowed answers', fails('no worker is up'), withFaults(deviceFails(2), deviceFails(1, 1))],
    // A server that ends answers what it has for ten seconds.
    ['allowed answers', replace('answered', () => [stops, failing(SHUTTING_DOWN, 90)])],
    ['allowed answers', fails(STANDS_BY)],
    ['allowed answers', fails(STANDS_BY, 6000), two],
    [
      'allowed answers: request 1 for m of controller-0: its outputs have 4 bytes, not 8',
      change('answered', { outputBytes: [4] }),
    ],
    [
      'executed: request 1 for m is answered "ok", the 1th for m, and devices have executed 0',
      replace('ended', (event) => [{ ...event, isOk: event.action !== 2 }]),
    ],
    [
      'rates: slow gets more through controller-0#1 than 1 requests a second and a burst of 2 allow',
      sending(4),
      slow,
    ],
    [
      'rates: request 10 of slow is refused for its rate, the 1th of a burst of 2',
      sending(1, OVER_RATE),
      slow,
    ],
    ['allowed answers', sending(1, OVER_RATE), inCluster({ tenants: [any, { ...any, name: 'other' }] })],
    ['allowed answers', sending(1, OVER_SHARE), inCluster({ tenants: [any] })],
    [
      'metrics: controller-0#1 counts 0 requests of a as ok, and its clients got 1',
      counted('class', 'b', 1),
      classes,
    ],
    [
      'metrics: controller-0#1 counts 1 requests of b as ok, and its clients got 0',
      counted('class', 'b', 1),
      classes,
    ],
    ['metrics', counted('tenant', 't', 2), inCluster({ tenants: [{ ...any, name: 't' }] })],
    ['metrics', needs(0), scaled],
    [
      'metrics: controller-0#1 needs 3 GPUs of kind simulated, of which there may be 1 to 2',
      needs(3),
      scaled,
    ],
    [
      'clocks: controller-0#1 sends worker-0#1 an action whose window ended 1100000000 ns before',
      windowsSent(1.1 * NS_PER_S),
    ],
    ['clocks', windowsSent(-NS_PER_S, 12 * NS_PER_S)],
    ['clocks', windowsSent(1.1 * NS_PER_S), jump('worker-0', NS_PER_S / 2)],
    [
      'windows: INFER 2 of worker-0#1, GPU 0, begins 1000000 ns after the end of its window',
      shifted(5 * NS_PER_MS),
    ],
    ['windows: LOAD 1 of worker-0#1, GPU 0, begins 1000000 ns before its window', shifted(-2 * NS_PER_MS)],
    ['windows: INFER 2 of worker-0#1, GPU 0, begins while INFER 2 runs', twice('began')],
    ['one driver: worker-0#1 begins INFER 2 for the second time', twice('began')],
    [
      'one driver: worker-0#1 begins INFER 2, which its driver did not order: controller-1#1 drives it',
      atLoad(same, (event) => [
        at(14, { kind: 'streamOpened', stream: 2, ...BETWEEN, controller: 'controller-1#1' }),
        at(14, { kind: 'stateSaid', stream: 2 }),
        event,
      ]),
    ],
    [
      'one driver: worker-0#1 sends controller-0#1 a result of action 2, which it did not order or has had already',
      replace('resultsSent', (event) => [event, { ...event, actions: [2] }]),
    ],
    [
      'one driver: worker-0#1 is taken from d (term 2) by c (term 1)',
      replace('leaseSaid', (event) => [{ ...event, term: 2, driver: 'd' }, event]),
    ],
    ['one driver: worker-0#1 is taken from c (term 1) by d (term 2), without a reason for that', takenBy],
    [
      'weights: controller-0#1 believes that GPU 0 of worker-0 holds [m], and it holds []',
      after('answered', unloaded(20)),
    ],
    [
      'weights: m is unloaded on worker-0#1, GPU 0, while INFER 2 of it runs',
      atLoad(same, (event) => [event, unloaded(15)]),
    ],
    [
      'weights: controller-0#1 counts 1 free pages on GPU 0 of worker-0, and there are 3',
      replace('snapshot', (event) => [
        { ...event, gpus: event.gpus.map((gpu) => ({ ...gpu, freePages: 1 })) },
      ]),
    ],
    ['weights: INFER 2 begins on worker-0#1, GPU 0, which does not hold m', atLoad(() => [])],
    [
      'weights: LOAD 1 of m begins on worker-0#1, GPU 0: it would hold 2 of 1 pages',
      same,
      inCluster({ pages: 1 }),
    ],
    ['recovery: no controller drives workers', change('snapshot', { drives: false })],
    ['recovery: controller-0#1 does not use GPU 0 of worker-0', change('snapshot', { gpus: [] })],
    ['recovery: controller-0#1 drives workers, and is not ready', change('snapshot', { isReady: false })],
    ['recovery: controller-0#1: 2 requests are still without an answer', change('snapshot', { requests: 2 })],
    ['recovery: controller-0#1: 1 actions are still without a result', change('snapshot', { actions: 1 })],
    [
      'recovery: controller-0#1 has more than one connection with worker-0#1',
      after('stateSaid', opened(5, 2)),
    ],
    [
      'recovery: controller-0#1 goes on with a connection with worker-0#1 on which a message was damaged',
      after('stateSaid', at(5, { kind: 'damaged', stream: 1 })),
    ],
    [
      'recovery: controller-0#1 connects with worker-0#1 when all should work again',
      after('snapshot', opened(2001, 3)),
    ],
    [
      'recovery: m is not served when all should work again: timeout',
      after(
        'snapshot',
        at(2001, { kind: 'asked', request: 2, client: PROBE, ...CONTROLLER, model: 'm', sloNs: NS_PER_S }),
        at(2002, { kind: 'answered', request: 2, outcome: 'timeout', error: '', ...NOTHING }),
      ),
    ],
    [
      'logs: controller-0#1 logs "again" 3 times within a minute',
      before('snapshot', ...[20, 21, 22].map((ms) => logged(ms, 'warn', 'again'))),
    ],
    [
      'logs: worker-0#1 died: Error: no',
      before('snapshot', at(20, { kind: 'died', ...WORKER, why: 'Error: no' })),
    ],
    [
      'logs: worker-0#1 ended with status 1 without a reason',
      before('snapshot', at(20, { kind: 'exited', ...WORKER, why: 'status 1' })),
    ],
    ['logs: worker-0 was lost by "crash" at', before('snapshot', up), lost],
  ])('%s: %#', async (expected, edit, scenario = {}) => {
    expect(await titles(edit, scenario)).toContainEqual(expect.stringContaining(expected));
  });
});

describe('where nothing is wrong, nothing is found by', () => {
  it.each<Case>([
    ['', same],
    // No answer is expected of a process that was killed.
    ['one answer', replace('answered', () => [crashed])],
    ['one answer', replace('answered', () => closed.slice(1))],
    [
      'one answer',
      replace('answered', () => closed),
      withFaults({ ...crash, kind: 'threadDies', process: 'controller-0', thread: 'frontend' }),
    ],
    ['', takenNoMore(50)],
    ['in time', answeredAt(61)],
    [
      '',
      replace('answered', (event) => [
        at(20, { kind: 'frozen', ...CONTROLLER }),
        at(60, { kind: 'thawed', ...CONTROLLER }),
        { ...event, atNs: 63 * NS_PER_MS },
      ]),
    ],
    // A GPU is given up for three failures, whichever faults made them.
    ['allowed', fails('no worker is up'), withFaults(deviceFails(2), crash)],
    ['allowed', fails('no worker is up'), withFaults(deviceFails(2), deviceFails(1))],
    ['allowed', replace('answered', () => [stops, failing(SHUTTING_DOWN, 10_080)])],
    ['allowed', fails(STANDS_BY), two],
    ['rates', sending(3), slow],
    ['rates', sending(4), { ...slow, ...jump('controller-0', NS_PER_MS) }],
    ['allowed', sending(1, OVER_SHARE), slow],
    ['', counted('class', 'a', 1), classes],
    ['', needs(2), scaled],
    ['clocks', windowsSent(0.9 * NS_PER_S)],
    ['clocks', windowsSent(1.1 * NS_PER_S), jump('worker-0', 2 * NS_PER_S)],
    ['', takenBy, withFaults({ ...crash, process: 'controller-0', atNs: NS_PER_MS, forNs: 1 })],
    [
      '',
      replace('leaseSaid', (event) => [
        ...[event, { ...event, driver: '' }, { ...event, term: 2, driver: 'd' }],
        { ...event, term: 2, driver: 'e' },
      ]),
    ],
    ['', same, lost],
    [
      '',
      before('snapshot', up, logged(200, 'warn', 'worker worker-0:7000 is down: Connection dropped')),
      lost,
    ],
  ])('%s: %#', async (check, edit, scenario = {}) => {
    expect((await titles(edit, scenario)).filter((title) => title.startsWith(check))).toEqual([]);
  });
});

async function titles(edit: Edit, scenario: object): Promise<string[]> {
  return (await checkHistory(exampleHistory(edit, scenario))).map(titleOf);
}
