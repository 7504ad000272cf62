import { expect, test } from 'vitest';
import { readCosts } from '../../../src/report/policies/costs.js';
import { tempDir, writeIn } from '../../cli/run-cli.js';

const COST = { case: 'small', policy: 'clockwork', usPerRequest: 0.8, ratio: 1 };

test('costs are read line by line, whatever else a line says', () => {
  const file = writeIn(tempDir(), 'costs.jsonl', `${JSON.stringify({ ...COST, digest: 'ab' })}\n\n`);
  expect(readCosts(file)).toEqual([COST]);
});

test('a line that is no cost is named', () => {
  const file = writeIn(tempDir(), 'costs.jsonl', `${JSON.stringify(COST)}\n{"case":"small"}\n`);
  expect(() => readCosts(file)).toThrow(`${file}:2: is not the cost of a policy`);
  expect(() => readCosts('nowhere.jsonl')).toThrow('nowhere.jsonl: does not exist or cannot be read');
});
