import fc from 'fast-check';
import { expect, it } from 'vitest';
import { description, FakeWorker, gpu, served } from './fake-worker.js';
import { withController } from './harness.js';

const MODELS = ['one', 'two', 'three', 'four', 'five'].map((name) => served(name));

const event = fc.record({
  asks: fc.array(fc.record({ model: fc.nat(4), sloMs: fc.constantFrom(15, 60, 300) }), { maxLength: 5 }),
  worker: fc.nat(1),
  what: fc.constantFrom(
    'nothing',
    'nothing',
    'nothing',
    'down',
    'gpu down',
    'up',
    'up',
    'stalls',
    'goes on',
    'breaks',
  ),
  /** Which models a worker still holds, at most three. */
  keeps: fc.uniqueArray(fc.nat(4), { maxLength: 3 }),
  passMs: fc.nat(30),
});

const scenario = fc.record({
  policy: fc.constantFrom('clockwork', 'fifo'),
  admission: fc.constantFrom('none' as const, 'predict' as const),
  oneLane: fc.boolean(),
  events: fc.array(event, { minLength: 5, maxLength: 50 }),
});

it('answers every request exactly once, whatever workers do', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ policy, admission, oneLane, events }) => {
      const gpus = [gpu({ oneLane }), gpu({ oneLane })];
      const workers = ['a', 'b'].map((name) => new FakeWorker(name, description({ gpus, models: MODELS })));
      const isUp = [true, true];
      await withController({ workers, policy, admission, hangNs: 200_000_000 }, async (run) => {
        for (const { asks, worker: index, what, keeps, passMs } of events) {
          const worker = workers[index];
          if (worker.restarts.length > 0) isUp[index] = false;
          worker.restarts.length = 0;
          if (what === 'stalls') worker.executing = false;
          if (what === 'goes on') worker.executing = true;
          if (what === 'breaks') worker.broken = keeps;
          if (what === 'down' && isUp[index]) worker.down();
          if (what === 'gpu down' && isUp[index]) worker.down('its thread has died', keeps.length % 2);
          if (what === 'down') isUp[index] = false;
          if (what === 'up' && !isUp[index]) {
            worker.up([keeps, []]);
            isUp[index] = true;
          }
          for (const { model, sloMs } of asks) run.ask(model, sloMs);
          await run.pass(passMs);
        }
        for (const worker of workers) {
          worker.executing = true;
          worker.broken = [];
          worker.down();
          worker.up();
        }
        await run.pass(2000);
        expect(run.controller.core.requests.size).toBe(0);
      });
    }),
    { numRuns: 60 },
  );
});
