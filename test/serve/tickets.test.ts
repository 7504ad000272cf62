import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '../../src/base/units.js';
import { OUTCOME_CANCELLED, OUTCOME_OK } from '../../src/core/request.js';
import type { InferenceRequest } from '../../src/live/service.js';
import { Tickets } from '../../src/serve/tickets.js';
import { smallModels } from './fixtures.js';

const HOUR_NS = 3600 * NS_PER_S;
const [MODEL, OTHER] = smallModels(2, 1);

/** Tickets for a service that answers with the index it was asked for, and whose clock stands still. */
function open() {
  const clock = { nowNs: 0 };
  const woken: number[] = [];
  const service = {
    nowNs: () => clock.nowNs,
    infer: ({ model, done }: InferenceRequest) =>
      done({ outcome: OUTCOME_OK, outputs: [], predictedNs: 0, batchSize: 1, error: `index ${model}` }),
  };
  const tickets = new Tickets(service, (ticket) => woken.push(ticket));
  const ask = (model: number) =>
    new Promise<string | undefined>((done) =>
      tickets.infer({ model, user: 0, sloNs: 1, inputs: [], done: ({ error }) => done(error) }),
    );
  return { tickets, clock, woken, ask };
}

describe('a request whose client has gone', () => {
  it('does not wait for its model to be loaded again, and those around it do', async () => {
    const { tickets } = open();
    const ticket = tickets.issue(MODEL, 0);
    tickets.sleep(ticket);
    const answers: [string, number][] = [];
    const requests = ['a', 'b', 'c'].map((name): InferenceRequest => {
      const done = ({ outcome }: { readonly outcome: number }) => answers.push([name, outcome]);
      return { model: ticket, user: 0, sloNs: 1, inputs: [], done };
    });
    for (const request of requests) tickets.infer(request);
    const [, b] = requests;
    // Its connection ends, and then closes.
    for (let i = 0; i < 2; i++) b.keeper?.cancel(b);
    await expect.poll(() => answers).toEqual([['b', OUTCOME_CANCELLED]]);
    tickets.awake(ticket, 4);
    await expect
      .poll(() => answers.slice(1))
      .toEqual([
        ['a', OUTCOME_OK],
        ['c', OUTCOME_OK],
      ]);
  });
});

describe('a ticket', () => {
  it('leads to what serves its model now, also after it was replaced several times', async () => {
    const { tickets, ask } = open();
    const [a, b, c] = [7, 8, 9].map((index) => tickets.issue(MODEL, index));
    tickets.replace(a, b);
    tickets.replace(b, c);
    expect([await ask(a), await ask(b), await ask(c)]).toEqual(['index 9', 'index 9', 'index 9']);
    expect([a, b, c].map((ticket) => tickets.indexOf(ticket))).toEqual([-1, -1, 9]);
    const other = tickets.issue({ ...OTHER, signature: { ...OTHER.signature, batched: false } }, 3);
    tickets.replace(c, other);
    expect(await ask(a)).toMatch(/was replaced while the request arrived/);
  });

  it('that has gone is forgotten after a while, and is never given out again', async () => {
    const { tickets, clock, ask } = open();
    const stays = tickets.issue(MODEL, 0);
    const gone = tickets.issue(MODEL, 1);
    const replaced = tickets.issue(MODEL, 2);
    tickets.drop(gone, 'it is unloaded');
    tickets.replace(replaced, stays);
    clock.nowNs += 5 * 60 * NS_PER_S;
    const later = tickets.issue(MODEL, 3);
    expect([await ask(gone), await ask(replaced)]).toEqual(['it is unloaded', 'index 0']);
    clock.nowNs += HOUR_NS;
    expect(tickets.issue(MODEL, 4)).toBe(later + 1);
    expect([await ask(gone), await ask(replaced)]).toEqual(Array(2).fill('there is no such model'));
    expect([await ask(stays), await ask(later)]).toEqual(['index 0', 'index 3']);
  });

  it('that sleeps is kept, however long, also if it was away before', async () => {
    const { tickets, clock, woken, ask } = open();
    const ticket = tickets.issue(MODEL, 0);
    tickets.drop(ticket, 'it cannot be loaded again');
    tickets.sleep(ticket);
    clock.nowNs += HOUR_NS;
    tickets.issue(MODEL, 1);
    const answer = ask(ticket);
    expect(woken).toEqual([ticket]);
    tickets.awake(ticket, 5);
    expect(await answer).toBe('index 5');
  });
});
