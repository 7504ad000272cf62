import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildExperiment } from '../../src/config/build.js';
import { ON_DISK } from '../../src/config/files-on-disk.js';
import { loadExperiment, readExperimentSource } from '../../src/config/load.js';
import { caseKeys, chosenCases } from '../../src/config/sweep-section.js';

const FOLDER = join(import.meta.dirname, '../../experiments');
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));

describe('experiments that ship', () => {
  it.each(FILES)('%s is complete', async (name) => {
    const path = join(FOLDER, name);
    expect(existsSync(path)).toBe(true);
    const experiment = await loadExperiment(path);
    expect(experiment.models.length).toBeGreaterThan(0);
    const { cases, vary } = experiment.sweep!;
    expect(vary.length + caseKeys(cases).length).toBeGreaterThan(0);
  });

  it.each(FILES)('%s can run each of its cases, and each value that it varies', async (name) => {
    const source = await readExperimentSource(join(FOLDER, name));
    const { cases, vary } = (await buildExperiment(source, { host: ON_DISK })).sweep!;
    const each = [
      ...caseKeys(cases).flatMap(({ key, values }) =>
        values.flatMap((name) => chosenCases(cases, { [key]: name }).map(({ overrides }) => overrides)),
      ),
      ...vary.flatMap(({ key, values }) => values.map((value) => [`${key}=${value}`])),
    ];
    for (const overrides of each)
      expect((await buildExperiment(source, { overrides, host: ON_DISK })).models.length).toBeGreaterThan(0);
  });

  it.each(FILES)('%s says what it asks, how to run it and what to look at', (name) => {
    const comment = readFileSync(join(FOLDER, name), 'utf8').split('\nseed:')[0]!;
    expect(comment).toMatch(/^# yaml-language-server: \$schema=schema\/experiment\.schema\.json\n/);
    expect(comment).toContain('?');
    expect(comment).toContain(`escapement sweep experiments/${name}`);
    expect(comment).toContain('# Look at: ');
  });
});
