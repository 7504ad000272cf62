import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../snippets.js';
import { runPage } from '../run-page.js';

const dir = runPage('docs/how-to/tune-schedule-ahead.md');

it('draws the picture of the README', () => {
  const picture = readFileSync(join(ROOT, 'experiments/pictures/schedule-ahead.png'));
  const drawn = readFileSync(join(dir, 'out/schedule-ahead/charts/goodput.png'));
  // Width and height: the last bits of the pixels may depend on the machine.
  expect(picture.subarray(16, 24)).toEqual(drawn.subarray(16, 24));
});
