import { describe, expect, it } from 'vitest';
import { parseExperimentSource } from '../../src/config/build.js';
import { parseExperiment } from '../../src/config/load.js';
import { parseProfile } from '../../src/config/read-profile.js';
import { readSweepSection } from '../../src/config/sweep-section.js';

/** Names that YAML reads as numbers, booleans, dates or nothing. */
const NAMES = ['0012', '12', '1.10', '1e3', '0x10', 'true', 'null', '~', '2024-01-01', '.inf', '-1'];

const MODELS = NAMES.map((name) => `{ kind: fit, name: ${name}, parameters: 1M }`).join(', ');
const WORKLOAD = 'kind: poisson, rate: 5/s, duration: 1s';

describe('a name arrives as it is written', () => {
  it.each(NAMES)('%s', async (name) => {
    const sections = [
      `{ ${WORKLOAD}, models: ${name}, name: ${name} }`,
      `{ ${WORKLOAD}, models: [${name}, x*] }`,
    ];
    const text = `models: [${MODELS}, { kind: fit, name: x, parameters: 1M }]\nworkload: [${sections.join(', ')}]\n`;
    const experiment = await parseExperiment(text, 'x.yaml');
    expect(experiment.models.map((model) => model.name)).toEqual([...NAMES, 'x']);
    expect(experiment.workloads).toMatchObject([{ models: [name], name }, { models: [name, 'x*'] }]);
    const overridden = await parseExperiment(text, 'x.yaml', [
      ...[
        `workload.0.models=[${name}]`,
        `workload.1.models=${name}`,
        'workload.0.name=first',
        `workload.1.name=${name}`,
        `name=${name}`,
      ],
    ]);
    expect(overridden).toMatchObject({ name, workloads: [{ models: [name] }, { models: [name], name }] });
    const whole = await parseExperiment(text, 'x.yaml', [`workload={ ${WORKLOAD}, models: [${name}] }`]);
    expect(whole.workloads).toMatchObject([{ models: [name] }]);
  });

  it('of a class, a tenant and a kind of GPU', async () => {
    const text = `cluster: { gpus: [{ kind: 1e3 }, { kind: 0012, speed: 2 }] }
models: { kind: fit, parameters: 1M }
classes: [{ name: 0x10 }]
tenants: { list: [{ name: 1.10 }] }
workload: { ${WORKLOAD}, class: 0x10, tenant: 1.10 }
`;
    const experiment = await parseExperiment(text, 'x.yaml');
    expect(experiment.cluster.kindNames).toEqual(['1e3', '0012']);
    expect(experiment.classes[0]!.name).toBe('0x10');
    expect(experiment.tenants.list[0]!.name).toBe('1.10');
    const two = await parseExperiment(text, 'x.yaml', ['cluster.gpus.1e3=2']);
    expect(two.cluster.gpus).toBe(3);
  });

  it('of a profile', () => {
    const batches = 'batches: [{ batch: 1, medianMs: 1e0 }]';
    const source = 'source: { weights: w, load: l, copies: c, batches: b }';
    const figures = 'weightsBytes: 0x10, loadMs: 1.0, inputBytes: 0, outputBytes: 0';
    const text = `{ name: 1.10, gpu: 4090, runtime: null, precision: 16, ${figures}, ${batches}, ${source} }`;
    expect(parseProfile(text, 'p.yaml')).toMatchObject({
      ...{ name: '1.10', gpu: '4090', runtime: 'null', precision: '16' },
      weightsBytes: 16,
    });
  });

  it('in the values and cases of a sweep', () => {
    const text = `models: [${MODELS}]
workload: { ${WORKLOAD} }
sweep:
  vary: { workload.models: [0012, 1.10, true] }
  cases: { 1e3: { 1.10: { workload.models: [1.10, "a"], workload: { models: 0x10, rate: 1e3/s } } } }
`;
    expect(readSweepSection(parseExperimentSource(text, 'x.yaml'))).toMatchObject({
      vary: [{ key: 'workload.models', values: ['0012', '1.10', 'true'] }],
      cases: [
        {
          key: '1e3',
          cases: [
            {
              name: '1.10',
              overrides: ['workload.models=[1.10,"a"]', 'workload={"models":0x10,"rate":"1e3/s"}'],
            },
          ],
        },
      ],
    });
  });

  it('but what is left empty is no name', async () => {
    const reading = parseExperiment(`models: { kind: zoo }\nworkload: { ${WORKLOAD}, models: }\n`, 'x.yaml');
    await expect(reading).rejects.toThrow('x.yaml:2: workload.models: has no value');
  });
});
