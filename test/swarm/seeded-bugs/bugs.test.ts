import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { BUGS, type SeededBug } from './bugs.js';
import { compiled, withBug } from './patch.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

it.each(BUGS)('"$name" is put into what there is, and compiles', (bug) => {
  const source = readFileSync(join(ROOT, 'src', bug.file), 'utf8');
  const tsconfig = readFileSync(join(ROOT, 'tsconfig.json'), 'utf8');
  expect(compiled(withBug(source, bug), tsconfig)).not.toBe(compiled(source, tsconfig));
});

it('each bug has a name of its own, and a plan that there is', () => {
  expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length);
  const plans = readdirSync(join(ROOT, 'test/swarm/regressions'));
  for (const { plan } of BUGS) if (plan !== undefined) expect(plans).toContain(plan);
});

it('says which bug has no place any more, or several', () => {
  const bug: SeededBug = { name: 'b', file: 'a.ts', find: 'x', replace: 'y' };
  expect(withBug('1 x 2', bug)).toBe('1 y 2');
  expect(() => withBug('1 2', bug)).toThrow('"b": src/a.ts has 0 times: x');
  expect(() => withBug('x x', bug)).toThrow('"b": src/a.ts has 2 times: x');
});
