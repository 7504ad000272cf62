import { expect, it } from 'vitest';
import { NS_PER_MS } from '../../../src/base/units.js';
import { OUTCOME_REJECTED, OUTCOME_TIMEOUT, type Outcome } from '../../../src/core/request.js';
import { Call } from '../../../src/live/frontend/call.js';
import { FakeService } from './fake-service.js';

/** What a client of a request with an SLO of 100 ms gets, whose body took so long to be decoded. */
async function refusalOf(outcome: Outcome, decodingMs: number): Promise<string> {
  const service = new FakeService([]);
  service.answer = () => ({
    ...{ outcome, outputs: [], batchSize: 0, error: '' },
    predictedNs: 120 * NS_PER_MS,
    passedNs: 90 * NS_PER_MS,
  });
  const quota = { ask: () => null, answered: () => {} };
  return new Promise((resolve) => {
    const call = new Call(1, { answered: () => resolve(call.refusal()?.message ?? '') }, quota);
    call.submit(service, {
      ...{ model: 0, arrivalNs: 0, sloNs: 100 * NS_PER_MS, requestClass: 0, tenant: 0, inputs: [] },
      ...{ shapes: undefined, length: 0, decodingNs: decodingMs * NS_PER_MS },
    });
  });
}

const DECODED =
  '; 80.000 ms passed until its large body was received and decoded: send fewer or smaller bodies at a time, or tensors as binary data';

it.each([
  [
    OUTCOME_REJECTED,
    'the SLO of 100 ms cannot be met: it would take 120.000 ms, of which 90.000 ms had passed',
  ],
  [OUTCOME_TIMEOUT, 'the SLO of 100 ms could not be met: it waited 90.000 ms in the queue'],
] as const)(
  'a refusal with outcome %i says how long decoding took, if that was long',
  async (outcome, text) => {
    expect(await refusalOf(outcome, 80)).toBe(text + DECODED);
    expect(await refusalOf(outcome, 9)).toBe(text);
  },
);
