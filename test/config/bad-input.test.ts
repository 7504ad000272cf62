import { describe, expect, it } from 'vitest';
import { loadExperiment } from '../../src/config/load.js';
import { expected, rowsOf } from '../rows.js';
import { BASE, load } from './experiment-files.js';
import { rejection } from './failure.js';

/** Replaces one line of the base experiment; line numbers stay. */
function line(number: number, text: string): string {
  return BASE.split('\n')
    .with(number - 1, text)
    .join('\n');
}

/** The line of the base experiment that is replaced (`+`: one is added, `all`: it is the whole file), its text, code and message. */
const MISTAKES = String.raw`
3 | models: { kind: csv | E_CONFIG_SYNTAX | /exp\.yaml:\d: /
6 | seed: 2 | E_CONFIG_SYNTAX | exp.yaml:6: the key seed is already in line 1
all |  | E_CONFIG_SYNTAX | exp.yaml: the file is empty
6 | policy: edf | E_CONFIG_VALUE | exp.yaml:6: policy: must be a section of keys, found edf: did you mean policy.kind?
4 | workload: { kind: poisson, rate: 1/s, duration: 1s, length: 128 } | E_CONFIG_VALUE | /workload\.length: must be a section of keys, found 128: write a kind \(constant, .*\) and its keys, see escapement keys workload\.length$/
all | x: [1, 2\ny: 3\n | E_CONFIG_SYNTAX | exp.yaml:2: a [ above is not closed: write the missing ], or indent the lines up to it
all | models: { kind: fit, name: m, parameters: 25.6M }\nworkload:\n  - &x { kind: poisson, name: a, rate: 1/s, duration: 1s }\n  - { <<: *x, name: b }\n | E_CONFIG_SYNTAX | exp.yaml:4: merge keys (<<) are not supported: write out the keys that it would add
all | - a\n | E_CONFIG_SYNTAX | exp.yaml:1: must be a section of "key: value" lines
5 | sloo: 100ms | E_CONFIG_KEY | exp.yaml:5: sloo: unknown key "sloo": did you mean "slo"?
6 | policy: { kind: clockwork, colour: 1 } | E_CONFIG_KEY | exp.yaml:6: policy.colour: unknown key "colour": known: kind, scheduleAhead, latestDelta, maxBatch, maxExec
5 | slo: 100 | E_CONFIG_UNIT | /exp\.yaml:5: slo: 100 has no unit: .*\(units: ns, us, ms, s, m, h\)/
5 | slo: 100msec | E_CONFIG_UNIT | /exp\.yaml:5: slo: 100msec has the unknown unit msec: /
5 | slo: 0 | E_CONFIG_VALUE | exp.yaml:5: slo: must be longer than 0, found 0
5 | slo: | E_CONFIG_VALUE | exp.yaml:5: slo: has no value
2 | cluster: { gpus: 0 } | E_CONFIG_VALUE | exp.yaml:2: cluster.gpus: must be at least 1, found 0
2 | cluster: { gpus: 1.5 } | E_CONFIG_VALUE | exp.yaml:2: cluster.gpus: must be a whole number or a list of kinds such as { kind: v100, count: 4 }, found 1.5
2 | cluster: 6 | E_CONFIG_VALUE | exp.yaml:2: cluster: must be a section of keys, found 6
2 | cluster: { pages: 9, memory: 1GiB } | E_CONFIG_VALUE | exp.yaml:2: cluster.memory: give pages or memory, not both
2 | cluster: { gpus: 2, workers: 3 } | E_CONFIG_VALUE | exp.yaml:2: cluster.workers: must be at most gpus (2)
2 | cluster: { gpuClock: [{ at: 1s, gpu: 1, factor: 0.5 }] } | E_CONFIG_VALUE | exp.yaml:2: cluster.gpuClock.0.gpu: must be below gpus (1)
2 | cluster: { noise: { stragglers: 150% } } | E_CONFIG_VALUE | /noise\.stragglers: must be at most 100%, found 150%/
6 | policy: { kind: escapement, fairness: 5 } | E_CONFIG_VALUE | /exp\.yaml:6: policy\.fairness: must be at most 1, found 5/
6 | policy: { kind: fifo, scheduleAhead: 1ms } | E_CONFIG_KEY | /exp\.yaml:6: policy\.scheduleAhead: fifo has no scheduleAhead, a key of clockwork and escapement: remove it or choose policy.kind=clockwork; to keep it in the file for other kinds, choose this one with --set policy.kind=fifo/
6 | policy: { kind: clockwrk } | E_CONFIG_VALUE | /exp\.yaml:6: policy\.kind: must be one of .*, clockwork, .*; found clockwrk, did you mean "clockwork"\?/
4 | workload: { kind: poisson, rate: 1e18/s, duration: 20s } | E_CONFIG_VALUE | exp.yaml:4: workload.rate: must be at most 10M/s, found 1e18/s
4 | workload: { kind: poisson, rate: 0/s, duration: 1s } | E_CONFIG_VALUE | exp.yaml:4: workload.rate: must be above 0, found 0/s
4 | workload: { kind: poisson, rate: 600, duration: 1s } | E_CONFIG_UNIT | /exp\.yaml:4: workload\.rate: 600 has no unit/
4 | workload: { kind: poisson, rate: 1/s } | E_CONFIG_VALUE | exp.yaml:4: workload.duration: is missing, and has no default
4 | workload: { kind: azure-2019, path: arrivals.csv, minutes: 660:600 } | E_CONFIG_VALUE | exp.yaml:4: workload.minutes: must be a slice from:to such as 600:660, found 660:600
4 | workload:\n  - { kind: fixed, rate: 1/s, duration: 1s }\n  - { kind: fixed, rate: 0, duration: 1s } | E_CONFIG_VALUE | exp.yaml:6: workload.1.rate: must be above 0, found 0
4 |  | E_CONFIG_VALUE | exp.yaml: workload: is missing, and has no default
4 | workload: [] | E_CONFIG_VALUE | exp.yaml:4: workload: is an empty list: write at least one item
4 | workload: { kind: poisson, rate: 1/s, duration: 1s, models: [0, vgg*] } | E_UNKNOWN_MODEL | exp.yaml:4: workload.models: "vgg*" matches no model of this run; there are 0, 1
4 | workload: { kind: azure-2019, path: gone.csv } | E_FILE_MISSING | /exp\.yaml:4: workload\.path: \S+gone\.csv: no such file/
3 | models: [{ kind: zoo }, { kind: profile, path: gone.json }] | E_FILE_MISSING | /exp\.yaml:3: models\.1\.path: \S+gone\.json: no such file/
2 | cluster: { pages: 6 } | E_MODEL_TOO_LARGE | exp.yaml:3: models: model 0 needs 7 pages of 16MiB and the weights cache of a GPU has 6: raise cluster.pages or cluster.memory
3 | models: [{ kind: csv, path: models.csv }, { kind: csv, path: models.csv }] | E_CONFIG_VALUE | exp.yaml:3: models.1: two models are named 0: give one section another name
3 | models: { kind: zoo, varieties: 62 } | E_CONFIG_VALUE | exp.yaml:3: models.varieties: must be at most 61, found 62
+ | output: { timeline: [2s, 1s] } | E_CONFIG_VALUE | /exp\.yaml:7: output\.timeline: must end after it begins/
4 | workload: { kind: on-off, onRate: 100/s, on: 1ns, off: 1ns, duration: 10s } | E_CONFIG_VALUE | exp.yaml:4: workload.on: too short: more than 10 million bursts and pauses
+ | checks: maybe | E_CONFIG_VALUE | exp.yaml:7: checks: must be true or false, found maybe
1 | seed: 1.5 | E_CONFIG_VALUE | exp.yaml:1: seed: must be a whole number, found 1.5
`;

describe('a mistake in an experiment file is reported with file, line and key', () => {
  it.each(rowsOf(MISTAKES))('%s: %s', async (at, change = '', code, message) => {
    const text = at === '+' ? BASE + change : at === 'all' ? change : line(Number(at), change);
    const error = await rejection(load(text));
    const short = error.message.replace(/^\S*(?=exp\.yaml)/, '');
    expect(error.code).toBe(code);
    expect(short).toEqual(expected(message));
    expect(error.message).not.toContain('\n');
  });

  it('a folder in place of a file', async () => {
    const error = await rejection(loadExperiment('src'));
    expect(error).toMatchObject({ code: 'E_FILE_MISSING', message: 'src: is a folder, not a file' });
  });
});

const OVERRIDES = String.raw`
slo | E_USAGE | --set slo: write key=value, e.g. --set policy.maxBatch=4
__proto__.x=1 | E_USAGE | /^--set __proto__\.x=1: write key=value/
slo=fast | E_CONFIG_VALUE | --set slo=fast: must be a duration such as 10ms, found fast
slo=10 | E_CONFIG_UNIT | /^--set slo=10: 10 has no unit/
slo= | E_CONFIG_VALUE | --set slo=: has no value
polcy.maxBatch=1 | E_CONFIG_KEY | --set polcy.maxBatch=1: unknown key "polcy": did you mean "policy"?
cluster={gpus: 0} | E_CONFIG_VALUE | --set cluster={gpus: 0}: cluster.gpus: must be at least 1, found 0
cluster={gpus: 0 | E_CONFIG_SYNTAX | /^--set cluster=\{gpus: 0: the value is not valid YAML: Flow map/
slo.x=1 | E_CONFIG_KEY | --set slo.x=1: slo is a plain value and has no keys
cluster={pages: 5, memory: 1GiB} | E_CONFIG_VALUE | /give pages or memory, not both$/
models.copies=1000000 | E_CONFIG_KEY | /copies/
models.path=gone.csv | E_FILE_MISSING | /^--set models\.path=gone\.csv: \/\S+gone\.csv: no such file; a relative path begins at the folder of the experiment file$/
`;

describe('a mistake in an override names the override', () => {
  it.each(rowsOf(OVERRIDES))('--set %s', async (override = '', code, message) => {
    const error = await rejection(load(BASE, [override]));
    expect([error.code, error.message]).toEqual([code, expected(message)]);
  });

  it.each([
    ['workload.rate=1/s', '--set workload.rate=1/s: workload is a list: write workload.0.rate'],
    ['workload.1.rate=1/s', '--set workload.1.rate=1/s: workload ends at index 0'],
  ])('--set %s on a list', async (override, message) => {
    const list = line(4, 'workload: [{ kind: poisson, rate: 1/s, duration: 1s }]');
    expect((await rejection(load(list, [override]))).message).toBe(message);
  });

  it('an override is refused where every section has a value of its own', async () => {
    const own = BASE.replace('duration: 20s', 'duration: 20s, slo: 30ms');
    expect(own).not.toBe(BASE);
    const error = await rejection(load(own, ['slo=50ms']));
    expect(error.message).toBe(
      '--set slo=50ms: reaches no request: every section of workload has its own; override workload.slo',
    );
    expect((await load(own, ['workload.slo=50ms'])).workloads[0]).toMatchObject({ sloNs: 50e6 });
    // The name of a section is not that of the experiment.
    const named = BASE.replace('duration: 20s', 'duration: 20s, name: users');
    expect((await load(named, ['name=mine'])).name).toBe('mine');
  });
});
