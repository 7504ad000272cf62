import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../snippets.js';
import { runPage } from '../run-page.js';

const dir = runPage('docs/how-to/tune-schedule-ahead.md');

it('serves as many times as many requests as the README says, with the admission that it names', () => {
  const results = JSON.parse(readFileSync(join(dir, 'out/schedule-ahead/results.json'), 'utf8'));
  const mean = (ahead: string) => {
    const rates = results.cells
      .filter(({ values }: { values: Record<string, string> }) => {
        return values.slo === '10ms' && values['policy.scheduleAhead'] === ahead;
      })
      .map((cell: { result: { summary: { goodputRps: number } } }) => cell.result.summary.goodputRps);
    expect(rates).toHaveLength(3);
    return rates.reduce((sum: number, rate: number) => sum + rate, 0) / rates.length;
  };
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const claim = /accepted \(`admission: none`\): 5 ms serves ([\d.]+) times/.exec(
    readme.replaceAll('\n', ' '),
  );
  expect(claim?.[1]).toBe((mean('5ms') / mean('10ms')).toFixed(1));
  expect(results.experiment).toMatch(/^admission: none$/m);
});

it('draws the picture of the README', () => {
  const picture = readFileSync(join(ROOT, 'experiments/pictures/schedule-ahead.png'));
  const drawn = readFileSync(join(dir, 'out/schedule-ahead/charts/goodput.png'));
  // Width and height: the last bits of the pixels may depend on the machine.
  expect(picture.subarray(16, 24)).toEqual(drawn.subarray(16, 24));
});
