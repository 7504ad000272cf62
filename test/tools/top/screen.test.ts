import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineWidth, type Paint, paintLine } from '../../../src/tools/top/line.js';
import { MODEL_COLUMNS } from '../../../src/tools/top/model-columns.js';
import { plainText } from '../../../src/tools/top/plain-text.js';
import { renderScreen } from '../../../src/tools/top/screen.js';
import type { StatusFeed } from '../../../src/tools/top/status-feed.js';
import { FIRST_VIEW, type ViewState } from '../../../src/tools/top/view-state.js';
import { clusterStatus, feed, gpu, modelStatus } from './fixtures.js';

const SIZES = [
  [80, 24],
  [200, 50],
  [60, 15],
] as const;

function screen(
  shown: StatusFeed,
  [columns, rows]: readonly [number, number] = [80, 24],
  view: Partial<ViewState> = {},
  paint: Paint = 'plain',
): string[] {
  const { lines } = renderScreen(shown, { ...FIRST_VIEW, ...view }, { columns, rows });
  return lines.map((line) => paintLine(line, paint).trimEnd());
}

describe('the screen', () => {
  it('shows header, GPUs, models and keys in 80×24', () => {
    expect(`\n${screen(feed(clusterStatus(2, 5))).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      escapement on gpu-17, policy clockwork, http://127.0.0.1:8002, up 1:02:03  ready
      in 187/s    goodput 180/s    failed 7.21/s   in time 96.2 %  unanswered 12
      goodput ▄▅▅▆▆▇▇▇▇██▇▇▇▇▆▆▅▅▄▃▃▂▂▁▁▁   ▁▁▁▁▂▂▃▄▄▅▅▆▆▇▇▇███▇▇▇▆▆▅▅▄▄▃▃ 190/s
      since the start   ok 1,234,567  late 12  timeout 345  rejected 6  error 0
      GPU EXEC          WEIGHTS      CACHE         WARM AHEADms RUNS
        0 [         0%] [|       5%] [|||||||75%]    40    0.25 resnet50_0 ×4, LOAD b…
        1 [|       10%] [|       5%] [|||||||75%]    41    1.25 resnet50_1 ×4
       WARM QUEUED▼ARR/S GOOD/S FAIL/S SLO% QUEUEms  INms EXECms OUTms MODEL
          1      0   100   99.0   1.00 99.0    0.00  0.12   12.5  0.05 model0
          2      7  50.0   49.5      0  100    4.20  0.12   12.5  0.05 model1
          3      0  33.3   33.0      0  100    8.40  0.12   12.5  0.05 model2
          1      0  25.0   24.8      0  100    12.6  0.12   12.5  0.05 model3
          2      0  20.0   19.8      0  100    16.8  0.12   12.5  0.05 model4










      qquit ?help ssort rreverse /filter ppause ↑↓scroll               1–5 of 5 models
      "
    `);
  });

  it('shows classes and tenants where the server has some, the most active first', () => {
    const rates = { offeredRps: 100, goodputRps: 60, failedRps: 40, refusedRps: 5, usedShare: 0.25 };
    const status = clusterStatus(1, 3, {
      classes: [{ name: 'gold', weight: 10, share: 0.1, ...rates, usedShare: null }],
      tenants: [
        { name: 'others', share: 0.5, ...rates, overRateRps: 0, overShareRps: 0, offeredRps: 0 },
        { name: 'acme\u001b[2J', share: 0.25, ...rates, overRateRps: 25, overShareRps: 10 },
        { name: 'research', share: 0.25, ...rates, overRateRps: 0, overShareRps: 35, offeredRps: 200 },
      ],
    });
    const lines = screen(feed(status));
    const from = lines.findIndex((line) => line.startsWith(' CLASS'));
    expect(lines.slice(from, from + 6)).toEqual([
      ' CLASS   ARR/S  GOOD/S    SLO%  SHARE%   USED%   REF/S',
      ' gold      100    60.0    60.0    10.0       –    5.00',
      ' TENANT     ARR/S  GOOD/S    SLO%  SHARE%   USED% >RATE/S  >SHR/S   REF/S',
      ' research     200    60.0    60.0    25.0    25.0       0    35.0    5.00',
      expect.stringMatching(/^ acme\S* +100 +60\.0 +60\.0 +25\.0 +25\.0 +25\.0 +10\.0 +5\.00$/),
      ' others         0    60.0    60.0    50.0    25.0       0       0    5.00',
    ]);
    expect(lines.join('')).not.toContain('\u001b');
    const small = screen(feed(status), [60, 15]);
    expect(small.some((line) => line.startsWith(' TENANT, 2 more  '))).toBe(true);
    expect(screen(feed(clusterStatus(1, 3))).join('')).not.toMatch(/CLASS|TENANT/);
  });

  it('sums many GPUs up where they have no room', () => {
    const lines = screen(feed(clusterStatus(100, 200, { otherModels: 3800 })));
    expect(`\n${lines.slice(4, 11).join('\n')}\n${lines.at(-1)}\n`).toMatchInlineSnapshot(`
      "
       100 of 100 GPUs up, 8950 warm models; one block: 2 GPUs
       EXEC    [||||||||       45%] ▁▂▄▅▇▁▂▄▅▇▁▂▄▅▇▁▂▄▅▇▁▂▄▅▇▁▂▄▅▇▁▂▄▅▇▁▂▄▅▇▁▂▄▅▇▁▂▄▅▇
       WEIGHTS [|               5%] ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
       CACHE   [|||||||||||||| 75%] ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆
       WARM QUEUED▼ARR/S GOOD/S FAIL/S SLO% QUEUEms  INms EXECms OUTms MODEL
          1      0   100   99.0   1.00 99.0    0.00  0.12   12.5  0.05 model0
          2      7  50.0   49.5      0  100    4.20  0.12   12.5  0.05 model1
      qquit ?help ssort rreverse /filter ppause ↑↓scr… 1–14 of 200 models, 3800 others
      "
    `);
  });

  it('shows many GPUs side by side where they have', () => {
    const lines = screen(feed(clusterStatus(100, 200)), [200, 50]);
    const numbers = lines.flatMap((line) =>
      [...line.matchAll(/(?:^| ) *(\d+) \[/g)].map(([, n]) => Number(n)),
    );
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(`\n${lines.slice(6, 10).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      GPU EXEC         WEIGHTS    CACHE       GPU EXEC         WEIGHTS    CACHE       GPU EXEC         WEIGHTS    CACHE       GPU EXEC         WEIGHTS    CACHE       GPU EXEC         WEIGHTS    CACHE
        0 [        0%] [      5%] [|||||75%]   20 [        0%] [      5%] [|||||75%]   40 [        0%] [      5%] [|||||75%]   60 [        0%] [      5%] [|||||75%]   80 [        0%] [      5%] [|||||75%]
        1 [|      10%] [      5%] [|||||75%]   21 [|      10%] [      5%] [|||||75%]   41 [|      10%] [      5%] [|||||75%]   61 [|      10%] [      5%] [|||||75%]   81 [|      10%] [      5%] [|||||75%]
        2 [||     20%] [      5%] [|||||75%]   22 [||     20%] [      5%] [|||||75%]   42 [||     20%] [      5%] [|||||75%]   62 [||     20%] [      5%] [|||||75%]   82 [||     20%] [      5%] [|||||75%]
      "
    `);
  });

  it('leaves out the less important in 60×15', () => {
    expect(`\n${screen(feed(clusterStatus(4, 20)), [60, 15]).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      escapement on gpu-17, policy clockwork, http://127.0.… ready
      in 187/s    goodput 180/s    failed 7.21/s   in time 96.2 %
      unanswered 12
      goodput ▇▆▆▅▅▄▃▃▂▂▁▁▁   ▁▁▁▁▂▂▃▄▄▅▅▆▆▇▇▇███▇▇▇▆▆▅▅▄▄▃▃ 190/s
      GPU EXEC           WEIGHTS       CACHE          WARM AHEADms
        0 [          0%] [|        5%] [||||||||75%]    40    0.25
        1 [|        10%] [|        5%] [||||||||75%]    41    1.25
        2 [||       20%] [|        5%] [||||||||75%]    42    2.25
        3 [||||     30%] [|        5%] [||||||||75%]    43    3.25
       WARM QUEUED▼ARR/S GOOD/S FAIL/S QUEUEms EXECms MODEL
          1      0   100   99.0   1.00    0.00   12.5 model0
          2      7  50.0   49.5      0    4.20   12.5 model1
          3      0  33.3   33.0      0    8.40   12.5 model2
          1      0  25.0   24.8      0    12.6   12.5 model3
      qquit ?help ssort rreverse /filter ppause … 1–4 of 20 models
      "
    `);
  });

  it('says which GPUs are gone', () => {
    const status = clusterStatus(3, 2);
    const gpus = [gpu(0), gpu(1, { up: false }), gpu(2)];
    const lines = screen(feed({ ...status, gpus }));
    expect(lines.find((line) => line.startsWith('  1 ['))).toContain('gone]');
    const many = Array.from({ length: 60 }, (_, n) => gpu(n, n === 30 ? { up: false } : {}));
    const summary = screen(feed({ ...status, gpus: many })).join('\n');
    expect(summary).toContain('59 of 60 GPUs up');
    expect(summary).toMatch(/ EXEC .*[▁-█]x[▁-█]/u);
  });

  it('says what is wrong, however narrow it is', () => {
    const problem = 'no answer for 0:12, trying again';
    expect(screen(feed(clusterStatus(1, 1), problem), [60, 15])[0]).toMatch(
      / no answer for 0:12, trying again$/,
    );
    expect(screen(feed(clusterStatus(1, 1, { ready: false })))[0]).toMatch(/ not ready$/);
    expect(screen(feed(clusterStatus(1, 1)), [80, 24], { paused: true })[0]).toMatch(/ paused {2}ready$/);
  });

  it('knows a cluster at its start', () => {
    const idle = { offeredRps: 0, goodputRps: 0, failedRps: 0 };
    const unseen = { queueMs: null, copyInMs: null, execMs: null, copyOutMs: null };
    const status = clusterStatus(1, 1, {
      models: [modelStatus(0, { ...idle, ...unseen, queued: 0 })],
      requests: {
        ...idle,
        unanswered: 0,
        totals: { ok: 0 },
        lastMinute: { offeredRps: [], goodputRps: [], failedRps: [] },
      },
    });
    const lines = screen(feed(status));
    expect(lines[1]).toContain('in time –');
    expect(lines.find((line) => line.endsWith('model0'))).toMatch(/^ +1 +0 +0 +0 +0( +–){5} model0$/);
    expect(screen(feed({ ...status, gpus: [], models: [] })).at(-1)).toContain('no models');
  });

  it('shows GPUs that do one thing at a time', () => {
    const lanes = [{ lane: 'EXEC+WEIGHTS', busy: 0.5, bookedMs: 1, running: 'LOAD bert' }];
    const lines = screen(feed({ ...clusterStatus(1, 1), gpus: [gpu(0, { lanes })] }));
    expect(lines.find((line) => line.startsWith('GPU'))).toContain('EXEC+WEIGHTS');
    expect(lines.find((line) => line.startsWith('  0 ['))).toMatch(/50%\].*75%\].*LOAD bert/);
  });
});

describe('the model table', () => {
  const names = (view: Partial<ViewState>) =>
    screen(feed(clusterStatus(1, 12)), [80, 24], view).flatMap((line) => /(model\d+)$/.exec(line)?.[1] ?? []);

  it('is sorted by any column', () => {
    expect(names({}).slice(0, 3)).toEqual(['model0', 'model1', 'model2']);
    expect(names({ reversed: true })[0]).toBe('model11');
    expect(names({ sort: 'queue' })[0]).toBe('model11');
    expect(names({ sort: 'queued' }).slice(0, 2)).toEqual(['model1', 'model0']);
    expect(names({ sort: 'name' }).slice(0, 3)).toEqual(['model0', 'model1', 'model10']);
    expect(names({ sort: 'name', reversed: true })[0]).toBe('model9');
  });

  it('scrolls, and stays within its models', () => {
    expect(names({ scroll: 3 })[0]).toBe('model0');
    const status = feed(clusterStatus(1, 100));
    expect(screen(status, [80, 24], { scroll: 90 }).at(-1)).toMatch(/85–100 of 100 models$/);
  });

  it('shows only the names that are looked for', () => {
    expect(names({ filter: 'EL1' })).toEqual(['model1', 'model10', 'model11']);
    expect(screen(feed(clusterStatus(1, 5)), [80, 24], { filter: 'x' }).at(-1)).toMatch(/\/x .*no models$/);
    expect(screen(feed(clusterStatus(1, 5)), [80, 24], { filter: 'mo', typing: true }).at(-1)).toMatch(
      /^ filter: mo_ .*1–5 of 5 models$/,
    );
  });

  it('shows all of the help in 80×24, however many lines the header has', () => {
    const status = clusterStatus(1, 1);
    const totals = Object.fromEntries(Object.keys(status.requests.totals).map((name) => [name, 1e12]));
    const shown = feed({ ...status, requests: { ...status.requests, totals } });
    const help = screen(shown, [80, 24], { help: true });
    expect(help[0]).toMatch(/^escapement on gpu-17, policy clockwork/);
    expect(help.join('\n')).toContain('moving averages');
  });

  it('has a column for each thing that the help explains', () => {
    const help = screen(feed(clusterStatus(1, 1)), [80, 24], { help: true }).join('\n');
    expect(help).toContain('moving averages');
    for (const { label, means } of MODEL_COLUMNS) expect(help).toContain(means === '' ? '' : `${label} `);
  });
});

describe('colours', () => {
  it('are left out on demand, and never cross the end of a line', () => {
    const shown = feed(clusterStatus(2, 5));
    const plain = screen(shown);
    for (const paint of ['colour', 'mono'] as const) {
      const painted = screen(shown, [80, 24], {}, paint);
      const pieces = painted.map((line) => line.split('\u001b['));
      // Text, a code with its text, an end with what follows, and so on.
      const texts = pieces.map((parts) =>
        parts.map((part, i) => (i === 0 ? part : part.slice(part.indexOf('m') + 1))).join(''),
      );
      expect(texts.map((text) => text.trimEnd())).toEqual(plain);
      for (const parts of pieces) {
        expect(parts.length % 2).toBe(1);
        for (let i = 2; i < parts.length; i += 2) expect(parts[i]).toMatch(/^0m/);
      }
      expect(pieces.flat().length).toBeGreaterThan(painted.length);
    }
    expect(screen(shown, [80, 24], {}, 'mono').join('')).not.toMatch(/\[(?:\d+;)*[349]\d/);
  });
});

describe('whatever the status', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom('模型'.repeat(30), '\u001b[2J', 'a\u0301'.repeat(50)),
  );
  const figure = fc.double({ min: 0, max: 1e12, noNaN: true });
  const some = fc.record({
    gpus: fc.integer({ min: 0, max: 300 }),
    models: fc.integer({ min: 0, max: 60 }),
    name,
    figure,
    view: fc.record({
      sort: fc.constantFrom(...MODEL_COLUMNS.map(({ id }) => id)),
      reversed: fc.boolean(),
      scroll: fc.nat(100),
      filter: fc.constantFrom('', 'model', '模'),
      typing: fc.boolean(),
      paused: fc.boolean(),
      help: fc.boolean(),
    }),
  });
  const made = (gpus: number, models: number, text: string, value: number) => {
    const status = clusterStatus(gpus, models);
    const lanes = [{ lane: text, busy: value, bookedMs: value, running: text }, ...gpu(0).lanes];
    return {
      ...status,
      host: text,
      upSeconds: value,
      requests: { ...status.requests, offeredRps: value, unanswered: value, totals: { ok: value } },
      gpus: status.gpus.map((each, n) => (n === 0 ? gpu(0, { lanes, worker: text }) : each)),
      models: status.models.map((each, n) => ({ ...each, name: n === 0 ? text : each.name, execMs: value })),
    };
  };

  it.each(SIZES)('a screen of %i×%i is filled and never overflows', (columns, rows) => {
    fc.assert(
      fc.property(some, ({ gpus, models, name: text, figure: value, view }) => {
        const { lines } = renderScreen(feed(made(gpus, models, text, value), text), view, { columns, rows });
        expect(lines.length).toBe(rows);
        for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(columns);
        expect(lines.map((line) => paintLine(line, 'plain')).join('')).not.toMatch(/\p{Cc}/u);
      }),
      { numRuns: 60 },
    );
  });

  it('a screen of any size does not overflow', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 250 }),
        fc.integer({ min: 1, max: 60 }),
        fc.nat(200),
        (columns, rows, gpus) => {
          const { lines } = renderScreen(feed(clusterStatus(gpus, 30)), FIRST_VIEW, { columns, rows });
          expect(lines.length).toBeLessThanOrEqual(rows);
          for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });

  it('plain text names every GPU and every model', () => {
    const text = plainText(feed(clusterStatus(100, 200)), 80);
    expect(text.match(/^ *\d+ \[/gm)).toHaveLength(100);
    expect(text.match(/ model\d+$/gm)).toHaveLength(200);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});
