import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadExperiment } from '../../src/config/load.js';
import { ROOT } from '../snippets.js';
import { PAGES, pageAt } from './pages.js';

const README = pageAt('README.md');
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
  engines: { node: string };
};

describe('the README', () => {
  it('has at most 250 lines', () => {
    expect(README.text.split('\n').length).toBeLessThanOrEqual(250);
  });

  it('sets everything up with exactly two commands', () => {
    const commands = README.fences[0]?.code
      .trim()
      .split('\n')
      .map((line) => line.replace(/\s*#.*$/, ''));
    expect(commands).toEqual(['npm ci && npm start', 'npm ci && npm test']);
    expect(README.text).toContain(`Node ${PACKAGE.engines.node.replace('>=', '')} or newer`);
  });

  it('says what npm start does', async () => {
    expect(PACKAGE.scripts.start).toContain('sweep experiments/azure.yaml --out out/azure');
    const { models, cluster } = await loadExperiment(join(ROOT, 'experiments/azure.yaml'));
    expect(README.text).toContain(`${models.length} models on ${cluster.gpus} simulated GPUs`);
  });
});

it.each(PAGES)('$path names npm scripts that exist', ({ text }) => {
  const named = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map((match) => match[1] as string);
  expect(['start', 'test', ...named].filter((script) => !(script in PACKAGE.scripts))).toEqual([]);
});
