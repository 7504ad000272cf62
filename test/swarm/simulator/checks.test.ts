import { expect, it } from 'vitest';
import { load } from '../../config/experiment-files.js';
import type { AnswerRecord } from '../../sim/fixtures.js';
import { senderProblem } from './checks.js';
import { type ObservedRun, observe } from './observed-run.js';

const EXPERIMENT = `seed: 1
cluster: { gpus: 1, pages: 1376 }
models: { kind: csv, path: models.csv }
classes: [{ name: gold, weight: 5 }, { name: iron }]
tenants: { list: [{ name: a }, { name: b, rate: 50/s, burst: 3 }] }
workload:
  - { kind: poisson, rate: 100/s, duration: 1s, class: iron }
  - { kind: poisson, rate: 100/s, duration: 1s, tenant: b }
policy: { kind: fifo }
`;

/** What is found in a run whose answers are changed. */
async function found(change: (answer: AnswerRecord) => AnswerRecord, edit = (run: ObservedRun) => run) {
  const experiment = await load(EXPERIMENT);
  const run = await observe(experiment);
  return (await senderProblem(experiment, edit({ ...run, answers: run.answers.map(change) })))?.check;
}

it('finds requests of another class or tenant than their section says, counted or limited otherwise', async () => {
  expect(await found((answer) => answer)).toBeUndefined();
  const asFirst = (run: ObservedRun) => ({ ...run, sent: run.sent.map((one) => ({ ...one, tenant: 0 })) });
  expect(await found((answer) => answer, asFirst)).toBe(
    'a request is of the class and tenant of its section',
  );
  expect(await found((answer) => ({ ...answer, requestClass: 0 }))).toBe('the summary counts each class');
  expect(await found((answer) => ({ ...answer, tenant: 0 }))).toBe('the summary counts each tenant');
  const late = (answer: AnswerRecord) => ({
    ...answer,
    arrivalNs: answer.limit === 1 ? 2e9 : answer.arrivalNs,
  });
  expect(await found(late)).toBe('a tenant is limited to its rate');
});
