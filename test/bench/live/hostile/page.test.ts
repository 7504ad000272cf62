import { describe, expect, it } from 'vitest';
import { type JudgedRow, renewPage } from './page.js';

const PAGE = `# Title

3 of the 9 rows reach every aim. And more
of it:

| a | b |
| --- | --- |
| old | row |

What follows.

| another | table |
`;

function judged(attack: string, p99Ms: number, failures: number, missed: string[]): JudgedRow {
  const figures = { requests: 1016, failures: 0, kinds: {}, p50Ms: 5, p99Ms: 10, stolen: 0 };
  const rssBytes = { before: 188e6, worst: 339.4e6, after: 325e6 };
  const row = {
    attack,
    setting: 'plain',
    quiet: figures,
    answers: [],
    rssBytes,
    alive: true,
    lastWords: '',
  } as const;
  return { attack, row: { ...row, victim: { ...figures, p99Ms, failures } }, missed };
}

describe('the page of hostile clients', () => {
  const rows = [
    judged('harmless', 12, 0, []),
    judged('slow', 61, 0, ['p99']),
    judged('bad', 137.4, 55, ['failures', 'p99']),
    { attack: 'broken', row: null, missed: ['no result'] },
  ];

  it('gets the rows that miss an aim, the worst first, and keeps the rest', () => {
    expect(renewPage(PAGE, rows)).toBe(`# Title

1 of the 4 rows reach every aim. No process ended. The quiet p99 was 10 ms to 10 ms. 0 rows were disturbed. Requests of the
client failed in 1 of the 3 rows that miss an aim:

| attack | server | quiet p99 | p99 | failures | memory before, worst, after | misses |
| --- | --- | --- | --- | --- | --- | --- |
| broken |  |  |  |  |  | no result |
| bad | plain | 10 ms | 137 ms | 55 of 1,016 | 188, 339, 325 MB | failures, p99 |
| slow | plain | 10 ms | 61 ms | 0 | 188, 339, 325 MB | p99 |

What follows.

| another | table |
`);
  });

  it('can be renewed again', () => {
    const once = renewPage(PAGE, rows);
    expect(renewPage(once, rows)).toBe(once);
  });

  it('must have such a table', () => {
    expect(() => renewPage('# Title\n', rows)).toThrow('rows reach every aim');
  });
});
