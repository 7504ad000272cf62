import { expect, it } from 'vitest';
import { EscapementError } from '../../src/base/errors.js';
import { noneServed } from '../../src/serve/model-errors.js';

const device = (what: string) => new EscapementError('E_DEVICE', what);

it('says once what is the same for all models', () => {
  const problem = device('cuda needs libraries');
  expect(noneServed([problem, problem, problem])).toMatchObject({
    code: 'E_DEVICE',
    message: 'none of the 3 models can be served: cuda needs libraries',
  });
});

it('names five reasons, and how many more there are', () => {
  const seven = Array.from({ length: 7 }, (_, i) => device(`reason ${i}`));
  expect(noneServed([...seven, ...seven]).message).toBe(
    'none of the 14 models can be served: reason 0; reason 1; reason 2; reason 3; reason 4; and 2 more reasons',
  );
});
