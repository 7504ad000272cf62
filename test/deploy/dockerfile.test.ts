import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { describe, expect, it } from 'vitest';
import { unknownVariables } from '../../src/config/runtime-settings.js';
import { ROOT } from '../cli/run-cli.js';

const DOCKERFILE = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');

describe('the Dockerfile', () => {
  it('has no mistakes that a linter finds', () => {
    expect(validate(DOCKERFILE)).toEqual([]);
    expect(validate('FROM node\nCOPPY a b\n')).not.toEqual([]);
  });

  it('copies all that the package ships', () => {
    const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const copied = [...DOCKERFILE.matchAll(/^COPY (?:--from=build )?(.*) \S+$/gm)].flatMap(
      ([, sources = '']) => sources.split(' ').map((source) => source.replace('/build/', '')),
    );
    // Notebooks run in a checkout.
    const shipped = files.filter((file: string) => !file.startsWith('!') && file !== 'notebooks');
    for (const file of shipped) expect(copied).toContain(file.replace(/\/.*/, ''));
  });

  it('sets no variable that means nothing', () => {
    const variables = [...DOCKERFILE.matchAll(/\b(ESCAPEMENT_\w+)=/g)].map(([, name = '']) => [name, '1']);
    expect(variables).toHaveLength(1);
    expect(unknownVariables(Object.fromEntries(variables))).toEqual([]);
  });
});
