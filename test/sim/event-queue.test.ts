import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventKind, EventQueue } from '../../src/sim/event-queue.js';

interface Planned {
  readonly timeNs: number;
  readonly kind: EventKind;
  readonly gpu: number;
  readonly order: number;
}

describe('EventQueue', () => {
  it('gives events by time, then GPU, then kind, then first scheduled, first given', () => {
    const event = fc.record({ timeNs: fc.nat(5), kind: fc.nat(8), gpu: fc.nat(2) });
    const step = fc.oneof(
      { weight: 3, arbitrary: event },
      { weight: 1, arbitrary: fc.constant('pop' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const queue = new EventQueue();
        const planned: Planned[] = [];
        for (const [order, step] of steps.entries()) {
          if (step !== 'pop') {
            const { timeNs, gpu } = step;
            const kind = step.kind as EventKind;
            // `change` says which event it is.
            queue.schedule(timeNs, kind, gpu, null).change = order;
            planned.push({ timeNs, kind, gpu, order });
            planned.sort(
              (a, b) => a.timeNs - b.timeNs || a.gpu - b.gpu || a.kind - b.kind || a.order - b.order,
            );
          } else if (planned.length > 0) {
            const popped = queue.pop();
            const { timeNs, kind, gpu, change } = popped;
            expect({ timeNs, kind, gpu, order: change }).toEqual(planned.shift());
            queue.recycle(popped);
          }
          expect(queue.nextNs).toBe(planned[0]?.timeNs ?? Number.POSITIVE_INFINITY);
        }
      }),
    );
  });
});
