import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../snippets.js';
import { CLAIMS } from './threat-model.js';

const TESTS = CLAIMS.flatMap(([claim, ...tests]) =>
  tests.map(([file, name]) => [claim, file, name] as const),
);

it.each(TESTS)('the threat model says "%s", and %s tests it', (_, file, name) => {
  const path = join(ROOT, 'test', `${file}.test.ts`);
  expect(existsSync(path), `${file} is missing`).toBe(true);
  const source = readFileSync(path, 'utf8');
  const isTest = ["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote},`));
  expect(isTest, `${file} has no test named "${name}"`).toBe(true);
});
