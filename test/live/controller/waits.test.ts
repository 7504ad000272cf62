import { expect, it } from 'vitest';
import { LOAD, STATUS_DEVICE_ERROR, STATUS_INFER_TOO_LATE, STATUS_OK } from '../../../src/core/action.js';
import { RequestTable } from '../../../src/core/request.js';
import { Waits } from '../../../src/live/controller/answers.js';
import { action } from '../../core/fixtures.js';
import { MS } from '../../sim/fixtures.js';

/** LOADs of model 0, whose requests arrive at 100 ms. */
function setUp() {
  const waits = new Waits();
  const requests = new RequestTable();
  const slot = requests.allocate(0, 100 * MS, 50 * MS, 0);
  let loads = 0;
  const load = (sentMs: number, beginMs: number, endMs: number | null, status = STATUS_OK, model = 0) => {
    const sent = action(loads++, LOAD, model);
    sent.sentNs = sentMs * MS;
    waits.sent(sent);
    if (endMs !== null)
      waits.ended(Object.assign(sent, { status, beginNs: beginMs * MS, endNs: endMs * MS }));
  };
  return { waits, requests, slot, load, said: () => waits.of(requests, slot, 0, 150 * MS) };
}

it('a request waits for a LOAD from its arrival on', () => {
  const { load, said } = setUp();
  load(80, 81, 140);
  expect(said()).toBe('40.000 ms for the LOAD of its model');
});

it('a LOAD that was over before it came is no reason, nor is one of another model', () => {
  const { load, said } = setUp();
  load(80, 81, 99);
  load(100, 110, 140, STATUS_OK, 1);
  expect(said()).toBe('');
});

it('a LOAD that has not ended counts from when it was sent, also where another one has failed', () => {
  const { load, said } = setUp();
  load(101, 102, 103, STATUS_DEVICE_ERROR);
  expect(said()).toBe('');
  load(110, 0, null);
  load(120, 0, null);
  expect(said()).toBe('40.000 ms for the LOAD of its model, which has not ended');
});

it('an INFER that had taken it and failed is named by its status', () => {
  const { requests, slot, said } = setUp();
  requests.failedStatus[slot] = STATUS_INFER_TOO_LATE;
  expect(said()).toBe('for an INFER that ended with too_late');
});

it('forgets a model that is gone', () => {
  const { waits, load, said } = setUp();
  load(110, 0, null);
  waits.forgetModel(0);
  expect(said()).toBe('');
});
