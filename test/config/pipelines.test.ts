import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { rowsOf } from '../rows.js';
import { rejection } from './failure.js';

const MODELS = 'models: { kind: zoo, varieties: 3 }\n';
const WORKLOAD = 'workload: { kind: poisson, rate: 10/s, duration: 1s }\n';

function parse(steps: readonly string[], more = '', workload = WORKLOAD) {
  const pipeline = `pipelines:\n  name: chain\n${more}  steps:\n${steps.map((step) => `    - ${step}\n`).join('')}`;
  return parseExperiment(`${MODELS}${pipeline}${workload}`, 'pipelines.yaml');
}

const A = '{ id: a, model: resnet50 }';

/** Steps, and a part of the message. */
const MISTAKES = `
{ id: a, model: resnet50, after: b } & { id: b, model: resnet50, after: a } | circle: a after b after a
{ id: a, model: resnet50, after: a } | circle: a after a
{ id: a, model: resnet50 } & { id: b, model: resnet50, after: aa } | there is no step "aa"
{ id: a } | needs a model, or variants in its place
{ model: resnet50, variants: [{ model: resnet50, accuracy: 70% }] } | needs a model, or variants
{ variants: [{ model: resnet5, accuracy: 70% }] } | there is no model "resnet5"
{ variants: [{ model: chain, accuracy: 70% }] } | there is no model "chain"
{ variants: [{ model: resnet50, accuracy: 170% }] } | must be at most 100%, found 170%
{ variants: [{ model: resnet50, accuracy: 0 }] } | must be above 0
{ variants: [{ model: resnet50, accuracy: 7% }, { model: resnet50, accuracy: 9% }] } | resnet50 is listed twice
{ model: resnet50, fanOut: { kind: length, mean: 2 } } | has as many requests as this says
{ model: resnet5 } | there is no model "resnet5"
{ id: a, model: resnet50 } & { id: a, model: resnet50 } | two steps are named a: give one of them another id
{ model: resnet50, fanOut: 300 } | must be at most 255, found 300
{ model: resnet50, fanOut: { kind: list, values: [1, 256] } } | must be at most 255, found 256
{ model: resnet50, fanOut: { kind: gauss } } | must be one of constant, uniform, poisson, length, list
{ model: resnet50, fanOut: { kind: uniform, from: 5, to: 4 } } | must be at least 5
{ model: resnet50, probability: 120% } | must be at most 100%
 | steps
`;

describe('pipelines of an experiment', () => {
  it('run their steps in an order in which each comes after those that it waits for', async () => {
    const steps = [
      '{ id: c, model: resnet50, after: [b, a], probability: 50% }',
      '{ id: b, model: resnet50, after: a, fanOut: { kind: uniform, to: 4 } }',
      A,
    ];
    const [{ steps: built }] = (await parse(steps)).pipelines as unknown as [{ steps: readonly object[] }];
    expect(built).toMatchObject([
      { id: 'a', after: [], least: 1, mean: 1 },
      { id: 'b', after: [0], least: 0, mean: 2 },
      // It is needed half of the time, and a always runs.
      { id: 'c', after: [0, 1], least: 0, mean: 0.5 },
    ]);
  });

  it('get the requests of workloads that name no model, with their own SLO', async () => {
    const { workloads } = await parse([A], '  slo: 70ms\n');
    expect(workloads).toMatchObject([{ models: ['chain'], sloNs: 70e6 }]);
    const named = await parse(
      [A],
      '  slo: 70ms\n',
      WORKLOAD.replace('rate', 'slo: 5ms, models: chain, rate'),
    );
    expect(named.workloads).toMatchObject([{ models: ['chain'], sloNs: 5e6 }]);
  });

  it.each(rowsOf(MISTAKES))('refuse %s: %s', async (steps = '', message) => {
    const { what, place, code } = await rejection(parse(steps === '' ? [] : steps.split(' & ')));
    expect(`${code} ${place.key} ${what}`).toContain(message);
    expect(what).not.toContain('\n');
  });

  it('refuse the name of a model, and different SLOs for one section', async () => {
    const named = `${MODELS}pipelines: { name: resnet50, steps: [${A}] }\n${WORKLOAD}`;
    expect((await rejection(parseExperiment(named, 'a.yaml'))).what).toContain('name of a model, too');
    const two = `${MODELS}pipelines:\n  - { name: p, slo: 5ms, steps: [${A}] }\n  - { name: q, steps: [${A}] }\n${WORKLOAD}`;
    expect((await rejection(parseExperiment(two, 'a.yaml'))).what).toContain('different SLOs');
  });
});
