import { expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { SHUTTING_DOWN, STANDS_BY, WORKER_LOST } from '../../../src/live/service.js';
import type { History, HistoryEvent } from '../history/history.js';
import { checkHistory, titleOf } from './checks.js';
import { at, EXAMPLE_SCENARIO, exampleHistory } from './example.js';
import { PROBE } from './recovery.js';

it('finds nothing in a run that is right', async () => {
  expect(await titles(exampleHistory())).toEqual([]);
});

it('finds requests without an answer, and those with two', async () => {
  expect(await titles(exampleHistory(without('answered')))).toEqual([
    'one answer: request 1 for m, asked of controller-0#1 at 0.010000 s, has no answer (at 2.000000 s)',
    'metrics: controller-0#1 counts 1 requests as ok, and its clients got 0 (at 2.000000 s)',
  ]);
  const twice = exampleHistory((event) => (event.kind === 'answered' ? [event, event] : [event]));
  expect(await titles(twice)).toContain(
    'one answer: request 1 is answered again: ok, after ok (at 0.018000 s)',
  );
});

it('expects no answer of a process that was killed, and none after that', async () => {
  const crash = at(17, { kind: 'crashed', process: 'controller-0#1', why: 'the plan' });
  const killed = exampleHistory((event) => (event.kind === 'answered' ? [crash] : [event]));
  expect(await titles(killed)).not.toContainEqual(expect.stringContaining('one answer'));
  const after = exampleHistory((event) => (event.kind === 'answered' ? [crash, event] : [event]));
  expect(await titles(after)).toContain(
    'one answer: request 1 is answered again: ok, after its connection was cut (at 0.018000 s)',
  );
});

it('expects answers of a server that shuts down before its frontend closes', async () => {
  const process = 'controller-0#1';
  const closed = at(20, { kind: 'frontendEnded', process });
  const about = async (events: readonly HistoryEvent[], scenario = {}) =>
    (
      await titles(
        exampleHistory(
          replace('answered', () => events),
          scenario,
        ),
      )
    ).filter((line) => line.startsWith('one answer'));
  expect(await about([closed])).toEqual([]);
  const stopped = [at(12, { kind: 'asked to stop', process }), closed];
  expect(await about(stopped)).toHaveLength(1);
  const dies = { kind: 'threadDies', atNs: NS_PER_MS, process: 'controller-0', thread: 'frontend' } as const;
  expect(await about(stopped, { faults: [dies] })).toEqual([]);
});

it('finds requests that a server takes although it says that it takes none', async () => {
  const says = at(10, {
    ...{ kind: 'logged', process: 'controller-0#1', level: 'info' },
    line: 'SIGTERM: no new requests',
  });
  const askedAt = (ms: number) =>
    replace('asked', (event) => [says, { ...event, atNs: ms * NS_PER_MS, sloNs: NS_PER_S }]);
  expect(await titles(exampleHistory(askedAt(70)))).toContainEqual(
    expect.stringContaining('it is taken by a server that says it takes none'),
  );
  expect(await titles(exampleHistory(askedAt(50)))).not.toContainEqual(expect.stringContaining('takes none'));
});

it('finds late answers that say in time, unless the process was frozen meanwhile', async () => {
  const moveTo = (ms: number) => replace('answered', (event) => [{ ...event, atNs: ms * NS_PER_MS }]);
  expect(await titles(exampleHistory(moveTo(61)))).not.toContainEqual(expect.stringContaining('in time'));
  const late =
    'in time: request 1 of controller-0#1 is answered "ok" after 53.000 ms, with an SLO of 50.000 ms';
  expect(await titles(exampleHistory(moveTo(63)))).toContain(`${late} (at 0.063000 s)`);
  const frozen = replace('answered', (event) => [
    at(20, { kind: 'frozen', process: 'controller-0#1' }),
    at(60, { kind: 'thawed', process: 'controller-0#1' }),
    { ...event, atNs: 63 * NS_PER_MS },
  ]);
  expect(await titles(exampleHistory(frozen))).toEqual([]);
});

it('finds failures without a reason', async () => {
  const failing = (error: string) =>
    replace('answered', (event) => [
      { ...event, outcome: 'error', error, outputBytes: [], numbers: [] } as HistoryEvent,
    ]);
  const about = async (error: string, scenario = {}) =>
    (await titles(exampleHistory(failing(error), scenario))).filter((line) => line.startsWith('allowed'));
  const start = 'allowed answers: request 1 for m of controller-0: it is answered "error"';
  expect(await about('who knows')).toEqual([`${start} for an unknown reason: "who knows" (at 0.018000 s)`]);
  expect(await about(SHUTTING_DOWN)).toHaveLength(1);
  expect(await about(WORKER_LOST)).toHaveLength(1);
  const crash = { kind: 'crash', atNs: 12 * NS_PER_MS, process: 'worker-0', forNs: NS_PER_S };
  // It has time to be tried elsewhere.
  expect(await about(WORKER_LOST, { faults: [crash] })).toHaveLength(1);
  // A GPU is given up for three failures, whichever faults made them.
  const fails = (actions: number) => ({ ...crash, kind: 'deviceFails', gpu: 0, actions });
  expect(await about('no worker is up', { faults: [fails(2), crash] })).toHaveLength(0);
  expect(await about('no worker is up', { faults: [fails(2)] })).toHaveLength(1);
  expect(await about('no worker is up', { faults: [fails(2), fails(1)] })).toHaveLength(0);
  expect(await about('no worker is up', { faults: [fails(2), { ...fails(1), gpu: 1 }] })).toHaveLength(1);
});

it('finds requests that were given up though the server or the driver went on', async () => {
  const about = async (events: readonly HistoryEvent[], scenario = {}) => {
    const replaced = replace('answered', () => events);
    return (await titles(exampleHistory(replaced, scenario))).filter((line) => line.startsWith('allowed'));
  };
  const failed = (ms: number, error: string) =>
    at(ms, { kind: 'answered', request: 1, outcome: 'error', error, outputBytes: [], numbers: [] });
  const stop = at(80, { kind: 'asked to stop', process: 'controller-0#1' });
  // A server that ends answers what it has for ten seconds.
  expect(await about([stop, failed(90, SHUTTING_DOWN)])).toHaveLength(1);
  expect(await about([stop, failed(10_080, SHUTTING_DOWN)])).toEqual([]);
  expect(await about([failed(18, STANDS_BY)])).toHaveLength(1);
  const [controller] = EXAMPLE_SCENARIO.cluster.controllers;
  const two = {
    ...EXAMPLE_SCENARIO.cluster,
    controllers: [controller, { ...controller, name: 'controller-1' }],
  };
  expect(await about([failed(18, STANDS_BY)], { cluster: two })).toEqual([]);
  expect(await about([failed(6000, STANDS_BY)], { cluster: two })).toHaveLength(1);
});

it('finds tenants beyond their rate, and those that are refused within it', async () => {
  const tenants = [
    { name: 'any', rateRps: null, burst: 1, share: 1 },
    { name: 'slow', rateRps: 1, burst: 2, share: 1 },
  ];
  const cluster = { ...EXAMPLE_SCENARIO.cluster, tenants };
  const about = async (count: number, error: string, scenario: object = {}) => {
    const events = replace('answered', (event) => [
      event,
      ...Array.from({ length: count }, (_, i) => [
        at(30 + i, { ...asked(10 + i), tenant: 1 }),
        at(30 + i, {
          ...{ kind: 'answered' as const, request: 10 + i, error, outcome: error === '' ? 'ok' : 'rejected' },
          ...{ outputBytes: [8], numbers: [[11 + i]] },
        }),
      ]).flat(),
    ]);
    const found = await titles(exampleHistory(events, { cluster, ...scenario }));
    return found.filter((title) => /^(?:rates|allowed)/.test(title));
  };
  const refused = 'the tenant t0 is over its rate of 5/s with bursts of 2: it may send again in 5 ms';
  expect(await about(3, '')).toEqual([]);
  expect(await about(4, '')).toEqual([
    'rates: slow gets more through controller-0#1 than 1 requests a second and a burst of 2 allow (at 0.033000 s)',
  ]);
  const jump = { kind: 'clockJump', atNs: NS_PER_MS, machine: 'controller-0', byNs: NS_PER_S };
  expect(await about(4, '', { faults: [jump] })).toEqual([]);
  expect(await about(1, refused)).toEqual([
    'rates: request 10 of slow is refused for its rate, the 1th of a burst of 2 (at 0.030000 s)',
  ]);
  const free = { ...cluster, tenants: [tenants[0], { ...tenants[0], name: 'other' }] };
  expect(await about(1, refused, { cluster: free })).toHaveLength(1);
  expect(await about(1, 'the tenant t0 is over its share of 50 % while the server is overloaded')).toEqual(
    [],
  );
  const one = { ...cluster, tenants: tenants.slice(0, 1) };
  expect(
    await about(1, 'the tenant t0 is over its share of 50 % while the server is overloaded', {
      cluster: one,
    }),
  ).toHaveLength(1);
});

it('finds metrics of classes and tenants that are not what they got, and numbers of GPUs that may not be', async () => {
  const count = (sender: string, name: string, ok: number) =>
    `escapement_${sender}_requests_total{${sender}="${name}",outcome="ok"} ${ok}\n`;
  const about = (extra: string, cluster: object) =>
    titles(
      exampleHistory(
        replace('snapshot', (event) => [{ ...event, metrics: event.metrics + extra }]),
        { cluster: { ...EXAMPLE_SCENARIO.cluster, ...cluster } },
      ),
    );
  const classes = ['a', 'b'].map((name) => ({ name, weight: 1, share: 0 }));
  expect(await about(count('class', 'a', 1), { classes })).toEqual([]);
  expect(await about(count('class', 'b', 1), { classes })).toEqual([
    'metrics: controller-0#1 counts 0 requests of a as ok, and its clients got 1 (at 2.000000 s)',
    'metrics: controller-0#1 counts 1 requests of b as ok, and its clients got 0 (at 2.000000 s)',
  ]);
  const tenants = [{ name: 't', rateRps: null, burst: 1, share: 1 }];
  expect(await about(count('tenant', 't', 2), { tenants })).toHaveLength(1);
  const scaler = { kind: 'reactive', intervalNs: NS_PER_S, startNs: 0, more: 1 };
  const needs = (gpus: number) => about(`escapement_gpus_needed{kind="simulated"} ${gpus}\n`, { scaler });
  expect(await needs(2)).toEqual([]);
  expect(await needs(0)).toHaveLength(1);
  expect(await needs(3)).toEqual([
    'metrics: controller-0#1 needs 3 GPUs of kind simulated, of which there may be 1 to 2 (at 2.000000 s)',
  ]);
});

it('finds windows in another clock than that of the worker', async () => {
  const about = async (pastNs: number | null, aheadNs: number | null, scenario = {}) => {
    const sent = at(6000, { kind: 'windowsSent', stream: 1, pastNs, aheadNs });
    const edit = replace('streamOpened', (event) => [event, sent]);
    const found = await titles(exampleHistory(edit, scenario));
    return found.filter((title) => title.startsWith('clocks'));
  };
  expect(await about(null, null)).toEqual([]);
  expect(await about(0.9 * NS_PER_S, 0)).toEqual([]);
  expect(await about(1.1 * NS_PER_S, 0)).toEqual([
    'clocks: controller-0#1 sends worker-0#1 an action whose window ended 1100000000 ns before, by the clock of the worker (at 6.000000 s)',
  ]);
  expect(await about(-NS_PER_S, 12 * NS_PER_S)).toHaveLength(1);
  const jump = (atNs: number) => ({
    faults: [{ kind: 'clockJump', atNs, machine: 'worker-0', byNs: NS_PER_S }],
  });
  expect(await about(1.1 * NS_PER_S, 0, jump(2 * NS_PER_S))).toEqual([]);
  expect(await about(1.1 * NS_PER_S, 0, jump(NS_PER_S / 2))).toHaveLength(1);
});

it('finds outputs of the wrong size, and requests that were not executed', async () => {
  const short = replace('answered', (event) => [{ ...event, outputBytes: [4] } as HistoryEvent]);
  expect(await titles(exampleHistory(short))).toEqual([
    'allowed answers: request 1 for m of controller-0: its outputs have 4 bytes, not 8 (at 0.018000 s)',
  ]);
  const failed = replace('ended', (event) => [{ ...event, isOk: event.action !== 2 }]);
  expect(await titles(exampleHistory(failed))).toEqual([
    'executed: request 1 for m is answered "ok", the 1th for m, and devices have executed 0 (at 0.018000 s)',
  ]);
});

it('finds actions outside their windows, two in a lane, and twice the same', async () => {
  const shifted = (byNs: number) =>
    replace('began', (event) => [{ ...event, localNs: event.localNs + byNs }]);
  expect(await titles(exampleHistory(shifted(5 * NS_PER_MS)))).toContain(
    'windows: INFER 2 of worker-0#1, GPU 0, begins 1000000 ns after the end of its window (at 0.015000 s)',
  );
  expect(await titles(exampleHistory(shifted(-2 * NS_PER_MS)))).toContain(
    'windows: LOAD 1 of worker-0#1, GPU 0, begins 1000000 ns before its window (at 0.011000 s)',
  );
  const twice = replace('began', (event) => (event.what === 'INFER' ? [event, event] : [event]));
  expect(await titles(exampleHistory(twice))).toEqual([
    'windows: INFER 2 of worker-0#1, GPU 0, begins while INFER 2 runs (at 0.015000 s)',
    'one driver: worker-0#1 begins INFER 2 for the second time (at 0.015000 s)',
  ]);
});

it('finds actions of a controller that is no longer the driver, and results for another', async () => {
  const taken = replace('began', (event) =>
    event.what === 'LOAD'
      ? [event]
      : [
          at(14, { kind: 'streamOpened', stream: 2, controller: 'controller-1#1', worker: 'worker-0#1' }),
          at(14, { kind: 'stateSaid', stream: 2 }),
          event,
        ],
  );
  expect(await titles(exampleHistory(taken))).toEqual([
    'one driver: worker-0#1 begins INFER 2, which its driver did not order: controller-1#1 drives it (at 0.015000 s)',
  ]);
  const again = replace('resultsSent', (event) => [event, { ...event, actions: [2] }]);
  expect(await titles(exampleHistory(again))).toEqual([
    'one driver: worker-0#1 sends controller-0#1 a result of action 2, which it did not order or has had already (at 0.016000 s)',
  ]);
  const older = replace('leaseSaid', (event) => [{ ...event, term: 2, driver: 'd' }, event]);
  expect(await titles(exampleHistory(older))).toEqual([
    'one driver: worker-0#1 is taken from d (term 2) by c (term 1) (at 0.003000 s)',
  ]);
  const taker = replace('leaseSaid', (event) => [event, { ...event, term: 2, driver: 'd' }]);
  expect(await titles(exampleHistory(taker))).toEqual([
    'one driver: worker-0#1 is taken from c (term 1) by d (term 2), without a reason for that (at 0.003000 s)',
  ]);
  const restarted = { atNs: NS_PER_MS, kind: 'crash', process: 'controller-0', forNs: 1 } as const;
  expect(await titles(exampleHistory(taker, { faults: [restarted] }))).toEqual([]);
  const leaves = replace('leaseSaid', (event) => [
    ...[event, { ...event, driver: '' }, { ...event, term: 2, driver: 'd' }],
    ...[{ ...event, term: 2, driver: 'e' }],
  ]);
  expect(await titles(exampleHistory(leaves))).toEqual([]);
});

it('finds what controller and device do not agree on', async () => {
  const unloaded = replace('answered', (event) => [
    event,
    at(20, { kind: 'unloaded', process: 'worker-0#1', gpu: 0, model: 'm' }),
  ]);
  expect(await titles(exampleHistory(unloaded))).toEqual([
    'weights: controller-0#1 believes that GPU 0 of worker-0 holds [m], and it holds [] (at 2.000000 s)',
  ]);
  const evicted = replace('began', (event) =>
    event.what === 'LOAD'
      ? [event]
      : [event, at(15, { kind: 'unloaded', process: 'worker-0#1', gpu: 0, model: 'm' })],
  );
  expect((await titles(exampleHistory(evicted)))[0]).toBe(
    'weights: m is unloaded on worker-0#1, GPU 0, while INFER 2 of it runs (at 0.015000 s)',
  );
  const leaking = replace('snapshot', (event) => [
    { ...event, gpus: event.gpus.map((gpu) => ({ ...gpu, freePages: 1 })) },
  ]);
  expect(await titles(exampleHistory(leaking))).toEqual([
    'weights: controller-0#1 counts 1 free pages on GPU 0 of worker-0, and there are 3 (at 2.000000 s)',
  ]);
  const notLoaded = replace('began', (event) => (event.what === 'LOAD' ? [] : [event]));
  expect((await titles(exampleHistory(notLoaded)))[0]).toBe(
    'weights: INFER 2 begins on worker-0#1, GPU 0, which does not hold m (at 0.015000 s)',
  );
  const small = { cluster: { ...EXAMPLE_SCENARIO.cluster, pages: 1 } };
  expect((await titles(exampleHistory(undefined, small)))[0]).toBe(
    'weights: LOAD 1 of m begins on worker-0#1, GPU 0: it would hold 2 of 1 pages (at 0.011000 s)',
  );
});

it('finds clusters that do not recover', async () => {
  const about = async (change: object) =>
    titles(exampleHistory(replace('snapshot', (event) => [{ ...event, ...change } as HistoryEvent])));
  expect(await about({ drives: false })).toEqual([
    'recovery: no controller drives workers when all should work again (at 2.000000 s)',
  ]);
  expect(await about({ gpus: [] })).toEqual([
    'recovery: controller-0#1 does not use GPU 0 of worker-0 (at 2.000000 s)',
  ]);
  expect(await about({ isReady: false })).toEqual([
    'recovery: controller-0#1 drives workers, and is not ready (at 2.000000 s)',
  ]);
  expect(await about({ requests: 2, actions: 1 })).toEqual([
    'recovery: controller-0#1: 2 requests are still without an answer (at 2.000000 s)',
    'recovery: controller-0#1: 1 actions are still without a result (at 2.000000 s)',
  ]);
  const again = replace('stateSaid', (event) => [
    event,
    at(5, { kind: 'streamOpened', stream: 2, controller: 'controller-0#1', worker: 'worker-0#1' }),
  ]);
  expect(await titles(exampleHistory(again))).toEqual([
    'recovery: controller-0#1 has more than one connection with worker-0#1 (at 2.000000 s)',
  ]);
  const hurt = replace('stateSaid', (event) => [event, at(5, { kind: 'damaged', stream: 1 })]);
  expect(await titles(exampleHistory(hurt))).toEqual([
    'recovery: controller-0#1 goes on with a connection with worker-0#1 on which a message was damaged or vanished (at 2.000000 s)',
  ]);
  const late = replace('snapshot', (event) => [
    event,
    at(2001, { kind: 'streamOpened', stream: 3, controller: 'controller-0#1', worker: 'worker-0#1' }),
  ]);
  expect(await titles(exampleHistory(late))).toEqual([
    'recovery: controller-0#1 connects with worker-0#1 when all should work again (at 2.001000 s)',
  ]);
  const probe = { request: 2, client: PROBE, process: 'controller-0#1', model: 'm', sloNs: NS_PER_S };
  const unserved = replace('snapshot', (event) => [
    event,
    at(2001, { kind: 'asked', ...probe }),
    at(2002, { kind: 'answered', request: 2, outcome: 'timeout', error: '', outputBytes: [], numbers: [] }),
  ]);
  expect(await titles(exampleHistory(unserved))).toEqual([
    'recovery: m is not served when all should work again: timeout (at 2.002000 s)',
  ]);
});

it('finds logs that repeat themselves or keep silent, and processes that die', async () => {
  const line = (ms: number) =>
    at(ms, { kind: 'logged', process: 'controller-0#1', level: 'warn', line: 'again' });
  const noisy = replace('snapshot', (event) => [...[20, 21, 22, 23, 24, 25, 26, 27].map(line), event]);
  expect(await titles(exampleHistory(noisy))).toEqual([
    'logs: controller-0#1 logs "again" 8 times within a minute (at 0.027000 s)',
  ]);
  const died = replace('snapshot', (event) => [
    at(20, { kind: 'died', process: 'worker-0#1', why: 'Error: no' }),
    event,
  ]);
  expect(await titles(exampleHistory(died))).toEqual(['logs: worker-0#1 died: Error: no (at 0.020000 s)']);
  const ended = replace('snapshot', (event) => [
    at(20, { kind: 'exited', process: 'worker-0#1', why: 'status 1' }),
    event,
  ]);
  expect(await titles(exampleHistory(ended))).toEqual([
    'logs: worker-0#1 ended with status 1 without a reason (at 0.020000 s)',
  ]);
  const faults = [{ kind: 'crash' as const, atNs: 100 * NS_PER_MS, process: 'worker-0', forNs: NS_PER_MS }];
  expect(await titles(exampleHistory(undefined, { faults }))).toEqual([]);
  const up = at(50, {
    ...{ kind: 'logged', process: 'controller-0#1', level: 'info' },
    line: 'worker worker-0:7000 is up',
  });
  const silent = exampleHistory(
    replace('snapshot', (event) => [up, event]),
    { faults },
  );
  expect((await titles(silent))[0]).toMatch(/^logs: worker-0 was lost by "crash" at .* does not say so/);
  const said = replace('snapshot', (event) => [
    up,
    at(200, {
      kind: 'logged',
      process: 'controller-0#1',
      level: 'warn',
      line: 'worker worker-0:7000 is down: Connection dropped',
    }),
    event,
  ]);
  expect(await titles(exampleHistory(said, { faults }))).toEqual([]);
});

function asked(request: number) {
  const facts = { client: 'a', process: 'controller-0#1', model: 'm', sloNs: 50 * NS_PER_MS };
  return { kind: 'asked' as const, request, ...facts };
}

async function titles(history: History): Promise<string[]> {
  return (await checkHistory(history)).map(titleOf);
}

type Kind = HistoryEvent['kind'];

function without(kind: Kind): (event: HistoryEvent) => HistoryEvent[] {
  return (event) => (event.kind === kind ? [] : [event]);
}

function replace<K extends Kind>(
  kind: K,
  by: (event: Extract<HistoryEvent, { readonly kind: K }>) => readonly HistoryEvent[],
): (event: HistoryEvent) => readonly HistoryEvent[] {
  return (event) =>
    event.kind === kind ? by(event as Extract<HistoryEvent, { readonly kind: K }>) : [event];
}
