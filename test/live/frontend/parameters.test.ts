import { describe, expect, it } from 'vitest';
import { classOfPriority, requestParameters } from '../../../src/live/frontend/inference.js';

const CLASSES = [
  { name: 'standard', priorities: [] },
  { name: 'gold', priorities: [1, 2] },
  { name: 'bulk', priorities: [9] },
];

it('other parameters are refused with those that the server takes', () => {
  const refused = (classes: typeof CLASSES) => () => requestParameters({ foo: 1 }, classes);
  expect(refused(CLASSES)).toThrow('a request may have slo_ms, timeout and priority');
  expect(refused([])).toThrow(/a request may have slo_ms and timeout$/);
});

describe('the parameter priority', () => {
  it('means the class that lists it; none, or 0, means the first', () => {
    for (const nothing of [undefined, null, 0, 0n, '', false])
      expect(classOfPriority(nothing, CLASSES)).toBe(0);
    expect([1, 2, 2n, 9].map((value) => classOfPriority(value, CLASSES))).toEqual([1, 1, 1, 2]);
  });

  it.each([3, -1, 1.5, '1', true, {}, [1]])('is refused where no class lists it: %j', (value) => {
    expect(() => classOfPriority(value, CLASSES)).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        message: expect.stringContaining(
          'parameter priority: expected one of 0, 1, 2 (gold), 9 (bulk), got ',
        ),
      }),
    );
  });

  it('is refused by a server that has no priorities', () => {
    const message =
      'parameter priority: this server has no classes: send 0 or none, and slo_ms to say how urgent a request is, got 1';
    for (const classes of [[], [{ name: 'gold', priorities: [] }]])
      expect(() => classOfPriority(1, classes)).toThrow(
        expect.objectContaining({ kind: 'invalid', message }),
      );
  });
});
