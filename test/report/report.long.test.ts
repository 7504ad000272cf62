import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunResult } from '../../src/record/results.js';
import { writeRunReport, writeSweepReport } from '../../src/report/index.js';
import { runFixture, sweepFixture } from './fixtures.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'report-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const small = { aheadMs: [1, 5, 10], slosMs: [10, 100] };

describe('writeSweepReport', () => {
  /** The page of a sweep with a name that is no markup, overrides, and a run that failed. */
  let page: string;
  beforeEach(async () => {
    const failed = ['policy.scheduleAhead=5ms slo=10ms seed=2'];
    const overrides = ['cluster.gpus=2', 'workload={kind: fixed}'];
    const name = '<img src=x onerror=alert(1)> & "co"';
    await writeSweepReport(sweepFixture({ ...small, policies: ['clockwork', 'fifo'] }), dir);
    writeFileSync(join(dir, 'charts', 'notes.txt'), '');
    const written = await writeSweepReport({ ...sweepFixture({ ...small, failed }), name, overrides }, dir);
    expect(written).toHaveLength(1 + 3 * 4);
    page = readFileSync(join(dir, 'report.html'), 'utf8');
  });

  it('writes a page and three files a chart, in place of those of an earlier sweep', async () => {
    expect(readdirSync(dir).sort()).toEqual(['charts', 'report.html']);
    const left = readdirSync(join(dir, 'charts'));
    expect(left.filter((name) => /goodput|notes/.test(name))).toEqual([
      ...['goodput.png', 'goodput.svg', 'goodput.vl.json', 'notes.txt'],
    ]);
    expect(left).toHaveLength(3 * 4 + 1);
    for (const text of [
      ...[
        '<h1>Deploy schedule_ahead = 5 ms</h1>',
        '--vary policy.scheduleAhead=1ms,5ms,10ms',
        '--seeds 1,2,3',
      ],
      ...['policy.scheduleAhead=1ms slo=10ms seed=1', '1 of 18 runs failed and is left out'],
      '--set policy.kind=clockwork --set cluster.gpus=2 --set policy.scheduleAhead=5ms</code>',
      ...['model bert needs 90 pages', '--set &#39;workload={kind: fixed}&#39;'],
    ])
      expect(page).toContain(text);
    // It fetches nothing, and no text becomes markup.
    expect(page).not.toMatch(/<(script|img|link|iframe)[^>]+(src|href)=|@import|url\(["']?https?:/);
    expect(page).not.toContain('</script><b>');
    expect(page).toContain('&#60;/script&#62;&#60;b&#62;not markup');
    expect(page.match(/<script/g)?.length).toBe(page.match(/<\/script>/g)?.length);
    expect(page.length).toBeLessThan(3_000_000);
  });

  it('gives every picture a name and every part that scrolls a place for the keyboard', () => {
    const pictures = [...page.matchAll(/<div class="picture"([^>]*)>/g)].map(([, rest]) => rest);
    expect(pictures).toHaveLength(4);
    for (const rest of pictures) expect(rest).toMatch(/ role="img" aria-label="[^"]{20,}"/);
    const scrolling = [...page.matchAll(/<(?:div class="scroll(?:er)?"|pre)([^>]*)>/g)].map(
      ([, rest]) => rest,
    );
    expect(scrolling.length).toBeGreaterThan(8);
    for (const rest of scrolling) expect(rest).toMatch(/tabindex="0" role="region" aria-label="[^"]+"/);
    const svg = readFileSync(join(dir, 'charts', 'goodput.svg'), 'utf8');
    expect(svg).toMatch(/^<svg role="img" aria-label="Goodput against schedule_ahead, [^"]*5 ms[^"]*"/);
  });
});

it('reports a sweep of which nothing finished, and refuses a folder that cannot be made', async () => {
  const failed = ['policy.scheduleAhead=5ms slo=10ms seed=1'];
  const sweep = sweepFixture({ aheadMs: [5], slosMs: [10], seeds: [1], failed });
  await writeSweepReport(sweep, dir);
  expect(readFileSync(join(dir, 'report.html'), 'utf8')).toContain('<h1>No run finished</h1>');
  writeFileSync(join(dir, 'file'), '');
  await expect(writeSweepReport(sweep, join(dir, 'file'))).rejects.toMatchObject({ code: 'E_FILE_WRITE' });
});

describe('writeRunReport', () => {
  it('shows figures, charts and provenance of one run', async () => {
    const run = runFixture({ sloMs: 50, goodputRps: 480 });
    const written = await writeRunReport({ ...run, overrides: ['slo=50ms', 'seed=1'] }, dir);
    expect(written).toHaveLength(1 + 3 * 3);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).toContain('<h1>480 requests/s within their SLO of 50 ms</h1>'.replace('480', goodput(run)));
    expect(page).toContain(run.summary.digest);
    expect(page).toContain('Fifteen ResNet-50');
    expect(page).toContain('escapement simulate experiment.yaml \\\n  --set slo=50ms \\\n  --set seed=1 \\');
    expect(readFileSync(join(dir, 'charts', 'latency-cdf.svg'), 'utf8')).toContain('SLO 50 ms');
  });
});

function goodput({ summary }: RunResult): string {
  return String(Number(summary.goodputRps!.toFixed(1)));
}
