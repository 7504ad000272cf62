import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LocatedFiles, NotedFiles } from '../../src/config/files-on-disk.js';
import { parseExperiment } from '../../src/config/load.js';
import { ROOT, tempDir, writeIn } from '../cli/run-cli.js';

const PROFILE = readFileSync(join(ROOT, 'experiments/profiles/resnet50_v2.v100.json'), 'utf8');
const ARRIVALS = 'arrival_ns,model_id,slo_ns\n1,0,0\n';
const TEXT = `models:
  - { kind: profile, path: ../profiles/a.json, name: a }
  - { kind: onnx, path: models/b, name: b }
workload: { kind: arrivals, path: day.csv }
`;
const FILE = join('exp', 'run.yaml');

function folder(): string {
  const dir = tempDir();
  for (const name of ['exp/models/b/1', 'exp/models/b/12', 'profiles', 'local'])
    mkdirSync(join(dir, name), { recursive: true });
  writeIn(dir, 'profiles/a.json', PROFILE);
  writeIn(dir, 'exp/models/b/12/profile.cpu.json', PROFILE);
  writeIn(dir, 'exp/day.csv', ARRIVALS);
  return dir;
}

function located(data: ReadonlyMap<string, string>, modules = new Map<string, string>()): LocatedFiles {
  return new LocatedFiles({ data, modules });
}

it('imports no file that was sent as data', async () => {
  const dir = tempDir();
  const path = writeIn(dir, 'own.mjs', 'globalThis.imported = true; export default [];');
  const load = (files: LocatedFiles) =>
    parseExperiment(`plugins: [own.mjs]\n${TEXT}`, join(dir, 'run.yaml'), [], [], files);
  await expect(load(located(new Map([[path, path]])))).rejects.toMatchObject({ code: 'E_PLUGIN' });
  expect(globalThis).not.toHaveProperty('imported');
  // The same file, as a module that the operator chose.
  await expect(load(located(new Map(), new Map([[path, path]])))).rejects.toMatchObject({ code: 'E_PLUGIN' });
  expect(globalThis).toHaveProperty('imported');
});

it('notes what an experiment reads, and loads the same from other places', async () => {
  const dir = folder();
  const noted = new NotedFiles();
  const experiment = await parseExperiment(TEXT, join(dir, FILE), [], [], noted);
  const at = (path: string) => join(dir, path);
  expect(noted.files).toEqual(
    ['profiles/a.json', 'exp/models/b/12/profile.cpu.json', 'exp/day.csv'].map((path) => ({
      path: at(path),
      kind: 'data',
    })),
  );
  // On another machine, where none of the paths exists.
  const elsewhere = new Map(
    [
      ['profiles/a.json', PROFILE],
      ['exp/models/b/12/profile.cpu.json', PROFILE],
      ['exp/day.csv', ARRIVALS],
    ].map(([path = '', text = ''], i) => [join('/none', path), writeIn(dir, `local/${i}`, text)]),
  );
  const there = await parseExperiment(TEXT, join('/none', FILE), [], [], located(elsewhere));
  expect(there.models).toEqual(experiment.models);
  expect(there.workloads).toEqual([{ ...experiment.workloads[0], path: join(dir, 'local/2') }]);
});

it.each([
  ['a trace', 'exp/day.csv'],
  ['a profile', 'profiles/a.json'],
  ['a model', 'exp/models/b/12/profile.cpu.json'],
])('opens nothing but what was sent: %s that is on this machine', async (_, path) => {
  const dir = folder();
  const files = ['profiles/a.json', 'exp/models/b/12/profile.cpu.json', 'exp/day.csv'];
  const all = files.map((name): [string, string] => [join(dir, name), join(dir, name)]);
  const load = (sent: [string, string][]) =>
    parseExperiment(TEXT, join(dir, FILE), [], [], located(new Map(sent)));
  await expect(load(all)).resolves.toBeDefined();
  await expect(load(all.filter(([name]) => name !== join(dir, path)))).rejects.toMatchObject({
    code: 'E_FILE_MISSING',
  });
});
