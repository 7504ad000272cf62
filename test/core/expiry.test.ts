import { beforeEach, describe, expect, it } from 'vitest';
import { Expiry } from '../../src/core/expiry.js';
import { REQUEST_FREE, REQUEST_QUEUED, RequestTable } from '../../src/core/request.js';

describe('requests without a due time', () => {
  let requests: RequestTable;
  let expiry: Expiry;
  let stranded: Set<number>;
  let givenUp: number[];

  beforeEach(() => {
    requests = new RequestTable();
    stranded = new Set();
    givenUp = [];
    expiry = new Expiry(
      requests,
      (model) => stranded.has(model),
      (slot) => {
        givenUp.push(requests.id[slot]);
        requests.state[slot] = REQUEST_FREE;
      },
    );
  });

  function wait(model: number, arrivalNs: number, sloNs: number): void {
    const slot = requests.allocate(model, arrivalNs, sloNs, 0, 0, 0, 0, 0);
    requests.state[slot] = REQUEST_QUEUED;
    requests.dueNs[slot] = Number.POSITIVE_INFINITY;
    expiry.add(slot);
  }

  it('wait as long as it takes while a GPU may serve their model', () => {
    wait(0, 0, 10);
    expect(expiry.nextNs).toBe(Number.POSITIVE_INFINITY);
  });

  it('wait only as long as their SLO once none may, also those from before', () => {
    wait(0, 0, 10);
    wait(1, 0, 10);
    // A longer SLO makes another kind of GPU the only one for the model.
    stranded.add(0);
    wait(0, 5, 30);
    expiry.advance(10);
    expect(givenUp).toEqual([0]);
    expiry.advance(100);
    expect(givenUp).toEqual([0, 2]);
  });

  it.each([
    ['GPUs left', () => expiry.fleetChanged()],
    ['a GPU dropped it', () => expiry.modelLost(0)],
  ])('are noticed when %s', (_, report) => {
    wait(0, 0, 10);
    stranded.add(0);
    report();
    expiry.advance(10);
    expect(givenUp).toEqual([0]);
  });

  it('wait on if a GPU may serve them again by then, until none may once more', () => {
    wait(0, 0, 10);
    stranded.add(0);
    expiry.fleetChanged();
    stranded.clear();
    expiry.advance(10);
    expect(givenUp).toEqual([]);
    stranded.add(0);
    expiry.modelLost(0);
    expiry.advance(11);
    expect(givenUp).toEqual([0]);
  });
});
