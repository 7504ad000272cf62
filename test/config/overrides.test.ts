import { describe, expect, it } from 'vitest';
import { parseExperimentSource } from '../../src/config/build.js';
import { openWorkloads } from '../../src/config/open-workloads.js';
import { applyOverrides } from '../../src/config/overrides.js';
import { BASE, load } from './experiment-files.js';
import { rejection } from './failure.js';

const FILE = `cluster: { gpus: 1, pages: 100 }
models: { kind: fit, name: model, parameters: 25M }
workload:
  - { kind: poisson, rate: 100/s, duration: 1s }
  - { kind: azure-like, rate: 10/s, scale: 2, minutes: 1 }
  - { kind: gamma, load: 50%, cv: 4, duration: 1s }
`;

/** What overrides leave of the keys that exclude each other. */
function left(...overrides: string[]) {
  const { tree } = applyOverrides(parseExperimentSource(FILE, 'exp.yaml'), overrides);
  const volume = (section: object) =>
    Object.fromEntries(Object.entries(section).filter(([key]) => ['rate', 'scale', 'load'].includes(key)));
  const { pages, memory } = tree.cluster as Record<string, unknown>;
  return {
    size: memory ?? pages,
    both: memory !== undefined && pages !== undefined,
    volumes: (tree.workload as object[]).map(volume),
  };
}

const AS_WRITTEN = [{ rate: '100/s' }, { rate: '10/s', scale: 2 }, { load: '50%' }];

describe('an override of a key that excludes another', () => {
  it('takes the place of that key in the file', () => {
    expect(left().volumes).toEqual(AS_WRITTEN);
    expect(left('workload.0.load=80%').volumes[0]).toEqual({ load: '80%' });
    expect(left('workload.2.rate=5/s').volumes[2]).toEqual({ rate: '5/s' });
    expect(left('cluster.memory=1GiB')).toMatchObject({ size: '1GiB', both: false });
  });

  it('goes by the kind that is left in the end', () => {
    const poisson = { load: '80%' };
    expect(left('workload.1.kind=poisson', 'workload.1.load=80%').volumes[1]).toEqual(poisson);
    expect(left('workload.1.load=80%', 'workload.1.kind=poisson').volumes[1]).toEqual(poisson);
  });

  it('does not take the place of another override', async () => {
    const overrides = ['workload.0.rate=5/s', 'workload.0.load=80%'];
    expect(left(...overrides).volumes[0]).toEqual({ rate: '5/s', load: '80%' });
    expect(await rejection(load(FILE, overrides))).toMatchObject({
      code: 'E_CONFIG_VALUE',
      message: '--set workload.0.load=80%: give rate or load, not both',
    });
    const whole = ['workload.0={ kind: poisson, rate: 5/s, duration: 1s }', 'workload.0.load=80%'];
    expect(left(...whole).volumes[0]).toEqual({ rate: '5/s', load: '80%' });
  });
});

describe('an error about an override', () => {
  it.each([
    ['workload=[{ kind: poisson, rate: 100, duration: 1s }]', /: workload\.0\.rate: 100 has no unit/],
    ['cluster={ gpus: 0 }', /: cluster\.gpus: must be at least 1/],
    ['warmup=1h', /: the warm-up lasts as long as the workload: nothing is left to count$/],
  ])('names it and the whole key: %s', async (override, message) => {
    const refused = load(BASE, [override]).then((experiment) => openWorkloads(experiment));
    const { message: said } = await rejection(refused);
    expect(said.startsWith(`--set ${override}: `)).toBe(true);
    expect(said).toMatch(message);
  });
});
