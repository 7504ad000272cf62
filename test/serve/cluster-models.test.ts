import { expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { NO_MODELS, type WorkerModelList } from '../../src/live/model-list.js';
import { mergeModelLists } from '../../src/serve/cluster-models.js';

const offer = (name: string, version: string, digest = 'd', isMeasured = true, workers?: string[]) => ({
  ...{ name, version, digest, isMeasured, isProvisional: !isMeasured },
  ...(workers && { workers }),
});

function worker(name: string, over: Partial<WorkerModelList>): WorkerModelList {
  return { ...NO_MODELS, worker: name, ...over };
}

const said = (lists: readonly WorkerModelList[]) =>
  mergeModelLists(lists).problems.map(({ name, version, error }) => [name, version, error.message]);

it('what all workers have is measured when all have measured it, in the order of versions', () => {
  const a = worker('a', { versions: [offer('m', '9'), offer('m', '10')], notes: ['x'] });
  const b = worker('b', { versions: [offer('m', '9', 'd', false), offer('m', '10')], notes: ['x'] });
  expect(mergeModelLists([a, b])).toEqual({
    versions: [offer('m', '9', 'd', false, ['a', 'b']), offer('m', '10', 'd', true, ['a', 'b'])],
    problems: [],
    ensembles: [],
    skipped: [],
    notes: ['x'],
  });
});

it('a model with other files on a worker is a problem that names it, but a worker may lack one', () => {
  const a = worker('a:1', { versions: [offer('m', '1'), offer('only', '1')] });
  const b = worker('b:1', { versions: [offer('m', '1', 'e')] });
  expect(said([a, b])).toEqual([
    ['m', '1', 'the files of model m, version 1, on worker b:1 differ from those on worker a:1'],
  ]);
  expect(mergeModelLists([a, b]).versions).toEqual([offer('only', '1', 'd', true, ['a:1'])]);
});

it('an ensemble with another form on a worker is a problem that names it, but a worker may lack one', () => {
  const ensemble = (name: string, maxBatch: number) => {
    return { name, maxBatch, sloNs: null, steps: [], inputs: [], outputs: [] };
  };
  const a = worker('a', { ensembles: [ensemble('e', 1), ensemble('only', 1)] });
  const b = worker('b', { ensembles: [ensemble('e', 2)] });
  expect(said([a, b])).toEqual([
    ['e', null, 'the files of ensemble e on worker b differ from those on worker a'],
  ]);
  expect(mergeModelLists([a, b, a]).ensembles).toEqual([ensemble('only', 1)]);
});

it('a version that one worker chooses may be at another that chooses a higher one', () => {
  const a = worker('a', { versions: [offer('m', '2')] });
  const b = worker('b', { versions: [offer('m', '1')] });
  expect(mergeModelLists([a, b]).versions.map(({ version }) => version)).toEqual(['1', '2']);
});

it('a problem at one worker holds for all; the only worker of a process is not named', () => {
  const error = new EscapementError('E_CONFIG_KEY', 'no such key', { file: 'f' });
  const problems = [{ name: 'm', version: null, error }];
  const a = worker('a', { versions: [offer('m', '1')] });
  const merged = mergeModelLists([a, worker('b', { problems })]);
  expect(merged.versions).toEqual([]);
  expect(merged.problems[0].error).toMatchObject({ code: 'E_CONFIG_KEY', what: 'worker b: no such key' });
  expect(mergeModelLists([worker('local', { problems })]).problems[0].error.what).toBe('no such key');
});
