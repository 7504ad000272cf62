import { expect, it } from 'vitest';
import { compiledBeside } from '../../src/live/compiled.js';

it('is beside a compiled module', () => {
  const module = 'file:///opt/src/escapement/dist/live/alarm/precise-timer.js';
  expect(compiledBeside(module, 'alarm-thread.js').href).toBe(
    'file:///opt/src/escapement/dist/live/alarm/alarm-thread.js',
  );
});

it('is where the compiler puts what is beside a source', () => {
  const module = 'file:///opt/src/escapement/src/live/alarm/precise-timer.ts';
  expect(compiledBeside(module, 'alarm-thread.js').href).toBe(
    'file:///opt/src/escapement/dist/live/alarm/alarm-thread.js',
  );
});
