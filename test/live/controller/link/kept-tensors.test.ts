import fc from 'fast-check';
import { expect, it } from 'vitest';
import { INFER } from '../../../../src/core/action.js';
import type { ActionMessage, KeptPart } from '../../../../src/live/messages.js';
import { withKept } from '../../../../src/live/wire/worker-call.js';
import { FakeWorker } from '../fake-worker.js';
import { withController } from '../harness.js';
import { resultOf } from './fake-machine.js';
import { connectTo, infer, inferLarge, pause, serve } from './fixtures.js';

const bytes = fc.uint8Array({ maxLength: 9 });
/** A part of an input: carried, or kept under its place in the list of all. */
const part = fc.record({ tensor: bytes, isKept: fc.boolean(), begin: fc.nat(9), end: fc.nat(9) });

it('puts kept parts into their places, a few at a time', () => {
  fc.assert(
    fc.property(fc.array(fc.array(part), { maxLength: 4 }), (parts) => {
      const tensors: Uint8Array[] = [];
      const kept: KeptPart[] = [];
      const expected = parts.map((own) =>
        own.flatMap(({ tensor, isKept, begin, end }) => [...(isKept ? tensor.subarray(begin, end) : tensor)]),
      );
      const inputs = parts.map((own, input) => {
        let at = 0;
        return Uint8Array.from(
          own.flatMap(({ tensor, isKept, begin, end }) => {
            const { length } = isKept ? tensor.subarray(begin, end) : tensor;
            if (isKept) kept.push({ input, at, key: tensors.push(tensor) - 1, begin, end: begin + length });
            at += length;
            return isKept ? [] : [...tensor];
          }),
        );
      });
      const action: ActionMessage = { ...infer(1), inputs, kept };
      // On its way some are put in, at its worker the others.
      const half = withKept(action, (key) => (key % 2 === 0 ? tensors[key] : undefined));
      const whole = withKept(half, (key) => tensors[key]);
      expect(whole.inputs.map((input) => [...input])).toEqual(expected);
      expect(whole.kept).toBeUndefined();
    }),
  );
});

it('has a worker forget what it keeps for an action that was given up meanwhile', async () => {
  const keptMemory = { mostBytes: 1e9, usedBytes: 0, totalBytes: 0 };
  const { machine, server } = await serve({ keptMemory });
  const { worker, events } = connectTo(server.port);
  await events.next('up');
  machine.answering = false;
  const action = { ...inferLarge(1, 1), keep: [7] };
  worker.send([action]);
  while (machine.submitted.length === 0) await pause();
  machine.report([resultOf(action)]);
  expect(keptMemory.usedBytes).toBe(2 * 1024 * 1024);
  worker.restart('it is to be idle');
  await events.next('down');
  await events.next('up');
  while (keptMemory.usedBytes > 0) await pause();
});

it('has a GPU forget what it keeps for an action that it was said to have lost', async () => {
  const forgotten: number[] = [];
  const worker = Object.assign(new FakeWorker('far'), {
    forget: (keys: readonly number[]) => forgotten.push(...keys),
  });
  await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
    run.ask();
    await run.pass(50);
    worker.executing = false;
    run.ask();
    await run.pass(12);
    const [, action] = worker.kinds(INFER);
    await worker.down('its thread has ended', 0);
    worker.answer(action, { kept: [7] });
    await run.pass(0);
    expect(forgotten).toEqual([7]);
    worker.executing = true;
    await worker.up();
    await run.pass(100);
  });
});
