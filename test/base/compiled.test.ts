import { expect, it } from 'vitest';
import { compiledNextTo } from '../../src/base/compiled.js';

it('is next to a compiled module', () => {
  const module = 'file:///opt/src/escapement/dist/load/precise-timer.js';
  expect(compiledNextTo(module, 'alarm-thread.js').href).toBe(
    'file:///opt/src/escapement/dist/load/alarm-thread.js',
  );
});

it('is where the compiler puts what is next to a source', () => {
  const module = 'file:///opt/src/escapement/src/load/precise-timer.ts';
  expect(compiledNextTo(module, 'alarm-thread.js').href).toBe(
    'file:///opt/src/escapement/dist/load/alarm-thread.js',
  );
});
