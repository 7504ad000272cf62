import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../snippets.js';
import { CLAIMS } from './threat-model.js';

it.each(CLAIMS)('the threat model says "%s", and %s tests it', (_, file, name) => {
  const path = join(ROOT, 'test', file);
  expect(existsSync(path), `${file} is missing`).toBe(true);
  const source = readFileSync(path, 'utf8');
  const isTest = ["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote},`));
  expect(isTest, `${file} has no test named "${name}"`).toBe(true);
});
