import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunResult } from '../../src/record/results.js';
import { chartsLeftOut } from '../../src/report/charts/chart-sets.js';
import { sweepCharts, writeRunReport, writeSweepReport } from '../../src/report/index.js';
import { groupedFixture, groupFixture, runFixture, sweepFixture, withParts } from './fixtures.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'report-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const small = { aheadMs: [1, 5, 10], slosMs: [10, 100] };

describe('writeSweepReport', () => {
  it('writes the report and three files a chart, and leaves nothing half-written', async () => {
    const written = await writeSweepReport(sweepFixture(small), dir);
    expect(written[0]).toBe(join(dir, 'report.html'));
    expect(written).toHaveLength(1 + 3 * 4);
    expect(readdirSync(dir).sort()).toEqual(['charts', 'report.html']);
    expect(readdirSync(join(dir, 'charts')).filter((name) => name.startsWith('goodput'))).toEqual([
      'goodput.png',
      'goodput.svg',
      'goodput.vl.json',
    ]);
  });

  it('starts with what to deploy and says how to reproduce it', async () => {
    await writeSweepReport(sweepFixture(small), dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).toContain('<h1>Deploy schedule_ahead = 5 ms</h1>');
    expect(page).toContain('--vary policy.scheduleAhead=1ms,5ms,10ms');
    expect(page).toContain('--seeds 1,2,3');
    expect(page).toContain('policy.scheduleAhead=1ms slo=10ms seed=1');
  });

  it('gives every picture a name and every part that scrolls a place for the keyboard', async () => {
    await writeSweepReport(sweepFixture(small), dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
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

  it('says which panels were left out, and draws those with the best first', async () => {
    const policies = ['a', 'b', 'c', 'd', 'e', 'fifo', 'g', 'h'];
    const results = sweepFixture({ ...small, seeds: [1], policies });
    expect(chartsLeftOut(results)).toBe(
      '6 of 8 panels drawn; left out: policy g; policy h. The table of all combinations has their figures.',
    );
    expect(chartsLeftOut(sweepFixture({ ...small, policies: ['a', 'b'] }))).toBe('');
    expect(sweepCharts(results).filter(({ name }) => name.startsWith('goodput'))).toHaveLength(6);
  });

  it('shows what to paste', async () => {
    await writeSweepReport(sweepFixture(small), dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).toContain('--set policy.kind=clockwork --set policy.scheduleAhead=5ms</code>');
  });

  it('fetches nothing and stays small', async () => {
    await writeSweepReport(sweepFixture(), dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).not.toMatch(/<(script|img|link|iframe)[^>]+(src|href)=/);
    expect(page).not.toMatch(/@import|url\(["']?https?:/);
    expect(page.length).toBeLessThan(3_000_000);
  });

  it('escapes what the experiment says', async () => {
    const results = { ...sweepFixture(small), name: '<img src=x onerror=alert(1)> & "co"' };
    await writeSweepReport(results, dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).not.toContain('<img src=x');
    expect(page).not.toContain('</script><b>');
    expect(page).toContain('&#60;/script&#62;&#60;b&#62;not markup');
    // Each script element ends once: its own data never ends it.
    expect(page.match(/<script/g)?.length).toBe(page.match(/<\/script>/g)?.length);
  });

  it('says with which overrides it was run', async () => {
    const overrides = ['cluster.gpus=2', 'workload={kind: fixed}'];
    await writeSweepReport({ ...sweepFixture(small), overrides }, dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).toContain('--set cluster.gpus=2');
    expect(page).toContain('--set &#39;workload={kind: fixed}&#39;');
  });

  it('leaves no chart of an earlier sweep behind, and everything that is not a chart', async () => {
    await writeSweepReport(sweepFixture({ ...small, policies: ['clockwork', 'fifo'] }), dir);
    expect(readdirSync(join(dir, 'charts'))).toContain('goodput-fifo.svg');
    writeFileSync(join(dir, 'charts', 'notes.txt'), '');
    await writeSweepReport(sweepFixture(small), dir);
    const left = readdirSync(join(dir, 'charts'));
    expect(left.filter((name) => name.includes('fifo'))).toEqual([]);
    expect(left).toHaveLength(3 * 4 + 1);
  });

  it('does not let the sum of groups hide who is served', async () => {
    await writeSweepReport(groupedFixture({ seeds: [1, 2] }), dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).toContain('<h1>Keep policy = clockwork</h1>');
    expect(page).toContain('>interactive p99<');
    expect(readdirSync(join(dir, 'charts'))).toContain('groups.png');
  });

  it('lists failed cells with their reason', async () => {
    const failed = ['policy.scheduleAhead=5ms slo=10ms seed=2'];
    await writeSweepReport(sweepFixture({ ...small, failed }), dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).toContain('1 of 18 runs failed and is left out');
    expect(page).toContain('model bert needs 90 pages');
  });

  it('writes the same bytes for the same results', async () => {
    const read = () => readFileSync(join(dir, 'report.html'), 'utf8');
    await writeSweepReport(sweepFixture(small), dir);
    const before = read();
    await writeSweepReport(sweepFixture(small), dir);
    expect(read()).toBe(before);
  });

  it('reports a sweep of which nothing finished', async () => {
    const only = { aheadMs: [5], slosMs: [10], seeds: [1] };
    await writeSweepReport(
      sweepFixture({ ...only, failed: ['policy.scheduleAhead=5ms slo=10ms seed=1'] }),
      dir,
    );
    expect(readFileSync(join(dir, 'report.html'), 'utf8')).toContain('<h1>No run finished</h1>');
  });

  it('refuses a folder that cannot be made', async () => {
    writeFileSync(join(dir, 'file'), '');
    await expect(writeSweepReport(sweepFixture(small), join(dir, 'file'))).rejects.toMatchObject({
      code: 'E_FILE_WRITE',
    });
  });
});

describe('writeRunReport', () => {
  it('shows figures, charts and provenance of one run', async () => {
    const run = runFixture({ sloMs: 50, goodputRps: 480 });
    const written = await writeRunReport({ ...run, overrides: ['slo=50ms', 'seed=1'] }, dir);
    expect(written).toHaveLength(1 + 3 * 4);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).toContain('<h1>480 requests/s within their SLO of 50 ms</h1>'.replace('480', goodput(run)));
    expect(page).toContain(run.summary.digest);
    expect(page).toContain('Fifteen ResNet-50');
    expect(page).toContain('escapement simulate experiment.yaml \\\n  --set slo=50ms \\\n  --set seed=1 \\');
    expect(readFileSync(join(dir, 'charts', 'latency-cdf.svg'), 'utf8')).toContain('SLO 50 ms');
  });

  it('says who was served where there are groups', async () => {
    const run = runFixture({ sloMs: 50, goodputRps: 480 });
    const group = [groupFixture('interactive', 50, 200, 0.29), groupFixture('batch', 500, 400, 1)];
    await writeRunReport({ ...withParts(run, { group }), sloMs: null }, dir);
    const page = readFileSync(join(dir, 'report.html'), 'utf8');
    expect(page).toContain('<h1>29.0 % of interactive, 100 % of batch in time</h1>');
    expect(readFileSync(join(dir, 'charts', 'groups.svg'), 'utf8')).toContain('Worst: interactive, 29.0 %');
  });
});

function goodput({ summary }: RunResult): string {
  return String(Number(summary.goodputRps!.toFixed(1)));
}
