import { expect, it } from 'vitest';
import { OUTCOME_ERROR, OUTCOME_NAMES, OUTCOME_TIMEOUT } from '../../../src/core/request.js';
import { noAnswers } from '../../../src/tools/bench/clients.js';

it('a stage without answers ends with what the server said most often', () => {
  const outcomes = OUTCOME_NAMES.map(() => 0);
  outcomes[OUTCOME_TIMEOUT] = 16;
  outcomes[OUTCOME_ERROR] = 178;
  const answers = [
    { status: 'HTTP 503', count: 178, message: 'no worker is up' },
    { status: 'HTTP 504', count: 16, message: 'the SLO of 1 s could not be met' },
  ];
  const ended = 'IO: a trial of 2 s had no answer (in all trials its requests ended 16 timeout, 178 error';
  const advice = '): increase --duration, or --set slo';
  expect(noAnswers('io', { outcomes }, 2, answers).message).toBe(
    `${ended}; most often the server said HTTP 503, "no worker is up"${advice}`,
  );
  expect(noAnswers('io', { outcomes }, 2, []).message).toBe(ended + advice);
});
