import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { expected, rowsOf } from '../rows.js';
import { BASE } from './experiment-files.js';
import { rejection } from './failure.js';

const HEAD = BASE.replace(/^models: .*$/m, 'models: { kind: zoo }');

const read = async (sweep: string) => (await parseExperiment(`${HEAD}sweep:\n${sweep}`, 'exp.yaml')).sweep;

/** A sweep section, the code and the message. */
const MISTAKES = String.raw`
vary: { slo: "5ms:1ms:1ms" } | E_CONFIG_VALUE | /^exp\.yaml:8: sweep\.vary\.slo: 5ms:1ms:1ms is not a range/
vary: { slo: { a: 1 } } | E_CONFIG_VALUE | /^exp\.yaml:8: sweep\.vary\.slo: must be a string or a list, found/
vary: { slo: [] } | E_CONFIG_VALUE | /^exp\.yaml:8: sweep\.vary\.slo: is an empty list: write at least one item/
bound: maybe | E_CONFIG_VALUE | /^exp\.yaml:8: sweep\.bound: must be true or false/
cases:\n    slo: { short: { slo: 1ms } } | E_CONFIG_VALUE | exp.yaml:9: sweep.cases.slo: slo is a key of the experiment: give the axis another name
cases:\n    setting: {} | E_CONFIG_VALUE | exp.yaml:9: sweep.cases.setting: needs at least one case
cases:\n    setting:\n      small: 1 | E_CONFIG_VALUE | exp.yaml:10: sweep.cases.setting.small: must be a section of keys, found 1
cases:\n    setting:\n      small: { "a b": 1 } | E_CONFIG_KEY | /^exp\.yaml:10: sweep\.cases\.setting\.small\.a b: "a b" is not a dotted key/
cases:\n    setting: { "": {} } | E_CONFIG_VALUE | exp.yaml:9: sweep.cases.setting: a case needs a name
cases:\n    setting: { one: { seed: 2 } } | E_CONFIG_KEY | exp.yaml:9: sweep.cases.setting.one.seed: every case runs with the same seeds: give them in sweep.seeds or with --seeds
cases:\n    setting: { one: { sweep.bound: true } } | E_CONFIG_KEY | /^exp\.yaml:9: sweep\.cases\.setting\.one\.sweep\.bound: is for all cases/
cases: { setting: { one: {} } }\n  vary: { setting: one } | E_CONFIG_KEY | /^exp\.yaml:9: sweep\.vary\.setting: is an axis of cases, all of which run/
vary: { slo: 1ms }\n  seeds: one | E_CONFIG_VALUE | /^exp\.yaml:9: sweep\.seeds: must be whole numbers/
varry: { slo: 1ms } | E_CONFIG_KEY | /^exp\.yaml:8: sweep\.varry: unknown key "varry": did you mean "vary"\?/
`;

describe('sweep section', () => {
  it('names keys and values in the order of the file', async () => {
    const sweep = await read(`  vary:
    slo: 10ms,25ms
    policy.scheduleAhead: 1ms:3ms:1ms
    policy.maxBatch: [1, 2, 4]
  seeds: 1,2,3
`);
    expect(sweep).toEqual({
      cases: [],
      bound: false,
      vary: [
        { key: 'slo', values: ['10ms', '25ms'] },
        { key: 'policy.scheduleAhead', values: ['1ms', '2ms', '3ms'] },
        { key: 'policy.maxBatch', values: ['1', '2', '4'] },
      ],
      seeds: [1, 2, 3],
    });
  });

  it('reads axes of named cases, with scalars and whole sections as overrides', async () => {
    const sweep = await read(`  cases:
    setting:
      one: {}
      15 models, 1 GPU: { cluster.gpus: 1, models: { kind: zoo, copies: 2 } }
    load:
      low: { workload.rate: 10/s }
  bound: true
`);
    expect(sweep).toMatchObject({
      cases: [
        {
          key: 'setting',
          cases: [
            { name: 'one', overrides: [] },
            { name: '15 models, 1 GPU', overrides: ['cluster.gpus=1', 'models={"kind":"zoo","copies":2}'] },
          ],
        },
        { key: 'load', cases: [{ name: 'low', overrides: ['workload.rate="10/s"'] }] },
      ],
      vary: [],
      bound: true,
    });
  });

  it('may leave seeds out, list them, or be absent', async () => {
    const { vary, seeds } = (await read('  vary: { slo: 10ms }\n')) ?? {};
    expect({ vary, seeds }).toEqual({ vary: [{ key: 'slo', values: ['10ms'] }], seeds: undefined });
    expect((await read('  seeds: [4, 5]\n'))?.seeds).toEqual([4, 5]);
    expect((await read('  seeds: "1:3, 7, 10:20:5"\n'))?.seeds).toEqual([1, 2, 3, 7, 10, 15, 20]);
    expect((await parseExperiment(HEAD, 'exp.yaml')).sweep).toBeNull();
  });

  it.each(rowsOf(MISTAKES))('refuses %s', async (sweep, code, message) => {
    const error = await rejection(read(`  ${sweep}\n`));
    expect([error.code, error.message]).toEqual([code, expected(message)]);
  });
});
