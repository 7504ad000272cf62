import { parse, type Spec } from 'vega';
import { compile } from 'vega-lite';
import { describe, expect, it } from 'vitest';
import type { RunEvent, RunParts, RunWindow, TunedSeries } from '../../../src/record/results.js';
import { comparisonCharts, runCharts, sweepCharts } from '../../../src/report/charts/chart-sets.js';
import {
  cellFixture,
  gridFixture,
  groupedFixture,
  groupFixture,
  runFixture,
  sweepFixture,
  withParts,
} from '../fixtures.js';

const gpus = gridFixture({
  vary: [
    { key: 'policy.kind', values: ['clockwork', 'fifo'] },
    { key: 'workload.kind', values: ['poisson', 'gamma'] },
  ],
  seeds: [1, 2],
  defaults: { 'policy.kind': 'fifo' },
  run: (_, seed) => cellFixture({ sloMs: 100, seed, goodputRps: 300 }),
});

function tunedFixture(name: string, unit: 'ms' | ''): TunedSeries {
  const values = Array.from({ length: 30 }, (_, bin) => 2 + 8 / (1 + bin));
  return { name, unit, values };
}

/** Windows of 5 s, in the third of which nothing was executed. */
const WINDOWS = [40, 45, null, 50].map(
  (ms, i): RunWindow => ({
    ...{ beginSeconds: 5 * i, endSeconds: 5 * i + 5, offeredRps: 600, goodputRps: 480, failedRps: 120 },
    ...{ p99Ms: null, executedP50Ms: ms === null ? null : ms / 2, executedP99Ms: ms },
    ...{ execUtilization: 0.9, weightsUtilization: 0.1, loads: 3 },
  }),
);

const EVENTS: readonly RunEvent[] = [
  { atSeconds: 4, kind: 'clock', text: 'clock of GPU 0 × 0.8' },
  { atSeconds: 7, kind: 'scaled', text: '2 × t4: EXEC 91 % busy' },
  { atSeconds: 12, kind: 'GPU lost', text: 'GPU 1 was lost: it fell off the bus' },
];

const SETS = {
  'schedule_ahead × SLO': sweepCharts(sweepFixture()),
  'one seed': sweepCharts(sweepFixture({ seeds: [1] })),
  'three keys': sweepCharts(sweepFixture({ seeds: [1, 2], policies: ['clockwork', 'fifo'] })),
  'names only': sweepCharts(gpus),
  groups: sweepCharts(groupedFixture()),
  'groups, repeated': sweepCharts(groupedFixture({ seeds: [1, 2] })),
  'one run': runCharts(runFixture({ sloMs: 50, goodputRps: 480, gpus: 3 })),
  'one run that tunes itself': runCharts({
    ...runFixture({ sloMs: 50, goodputRps: 480 }),
    tuned: [tunedFixture('scheduleAhead', 'ms'), tunedFixture('weight', '')],
  }),
  'one run in windows': runCharts({
    ...runFixture({ sloMs: 50, goodputRps: 480 }),
    ...{ windows: WINDOWS, events: EVENTS, worst: { fromMs: 9_100, toMs: 9_200, missed: 40 } },
    fleet: { kinds: ['t4'], steps: [{ atSeconds: 0, on: [1], starting: [0], draining: [0] }] },
  }),
  'one run of groups': runCharts(
    withParts(runFixture({ sloMs: 50, goodputRps: 480 }), {
      group: [groupFixture('interactive', 50, 200, 0.29), groupFixture('batch', null, 400, 1)],
    }),
  ),
  'a comparison': comparisonCharts([
    { name: 'simulated', run: { ...runFixture({ sloMs: 50, goodputRps: 480 }), windows: WINDOWS } },
    { name: 'live', run: { ...runFixture({ sloMs: 50, goodputRps: 470, seed: 2 }), windows: WINDOWS } },
  ]),
};

/** Compiles as Vega-Lite and parses as Vega; any warning is a failure. */
function warningsOf(spec: Parameters<typeof compile>[0]): string[] {
  const warnings: string[] = [];
  const note = (...parts: readonly unknown[]) => {
    warnings.push(parts.join(' '));
    return logger;
  };
  const logger = { level: () => logger, error: note, warn: note, info: () => logger, debug: () => logger };
  parse(compile(spec, { logger: logger as never }).spec as Spec);
  return warnings;
}

function subtitle(set: keyof typeof SETS, name: string): string {
  const spec = SETS[set].find((chart) => chart.name === name)?.spec as
    | { title: { subtitle: string[] } }
    | undefined;
  return spec?.title.subtitle.join(' ') ?? '';
}

describe.each(Object.entries(SETS))('charts of %s', (_, charts) => {
  it.each(charts.map(({ name, spec }) => [name, spec] as const))(
    '%s compiles without a warning',
    (_name, spec) => {
      expect(warningsOf(spec)).toEqual([]);
    },
  );
});

describe('chart sets', () => {
  it('leave out what a run has no data for', () => {
    const run = withParts(runFixture({ sloMs: 50, goodputRps: 480 }), { model: [] });
    const bare = { ...run, timeline: [], latencyCdf: { percentile: [], ms: [] } };
    expect(runCharts(bare).map(({ name }) => name)).toEqual(['over-time']);
  });

  it('show latency, how busy GPUs were and what happened to them below requests, each only if it is known', () => {
    const run = { ...runFixture({ sloMs: 50, goodputRps: 480 }), windows: WINDOWS };
    const panelsOf = (more: Partial<typeof run>) => {
      const { spec } = runCharts({ ...run, ...more }).find(({ name }) => name === 'over-time')!;
      return (spec as unknown as { vconcat: object[] }).vconcat.map((panel) => JSON.stringify(panel));
    };
    const [, latency, lanes, ...rest] = panelsOf({});
    expect(rest).toEqual([]);
    expect(latency).toMatch(/"name":"p99","at":0,"value":40.*"value":null.*"name":"SLO".*latency, executed/);
    expect(lanes).toMatch(/"name":"EXEC","at":0,"value":0\.9.*lanes busy/);
    expect(panelsOf({ sloMs: null })[1]).not.toContain('SLO');
    const [, events] = panelsOf({ events: EVENTS, worst: { fromMs: 9_100, toMs: 9_200, missed: 40 } });
    expect(events).toMatch(
      /"kind":"clock".*"at":4.*"kind":"GPU lost".*"at":12.*"kind":"GPU timeline".*"at":9\.1/,
    );
    // What happened after the last answer is beyond the axis.
    expect(panelsOf({ events: [{ ...EVENTS[0]!, atSeconds: 30 }] })).toHaveLength(3);
    // A client sees no GPUs.
    const seen = WINDOWS.map(
      ({ execUtilization: _, weightsUtilization: __, loads: ___, ...window }) => window,
    );
    expect(panelsOf({ windows: seen })).toHaveLength(2);
  });

  it('have a panel for a tuned value that changed, and a rule at the end if answers come later', () => {
    const run = runFixture({ sloMs: 50, goodputRps: 480 });
    const tuned = (values: number[]) => [{ name: 'scheduleAhead', unit: 'ms' as const, values }];
    const chartOf = (more: Partial<typeof run>) =>
      JSON.stringify(runCharts({ ...run, ...more }).find(({ name }) => name === 'over-time')?.spec);
    expect(chartOf({ tuned: tuned([0, 0]) })).not.toContain('schedule_ahead (ms)');
    expect(chartOf({ tuned: tuned([0, 1]) })).toContain('schedule_ahead (ms)');
    const tail = { ...run.windows[0]!, beginSeconds: 20, endSeconds: 21, offeredRps: 0, failedRps: 900 };
    expect(chartOf({})).not.toContain('end of the workload');
    expect(chartOf({ windows: [...run.windows, tail] })).toMatch(/end of the workload.*"at":20,"value":900/);
  });

  it('draw groups as far as they were answered in time, and name those without, and how many are not drawn', () => {
    const run = runFixture({ sloMs: 50, goodputRps: 480 });
    const groups = [
      groupFixture('interactive', 50, 200, 0.83),
      groupFixture('batch', 50, 400, 1),
      groupFixture('never', 50, 400, 0),
      groupFixture('idle', 50, 0, 0),
    ];
    const chartOf = (drawn: RunParts['group']) => {
      const { spec } = runCharts(withParts(run, { group: drawn! })).find(
        ({ name }) => name === 'latency-cdf',
      )!;
      return { said: (spec as { description: string }).description, drawn: JSON.stringify(spec) };
    };
    const { said, drawn } = chartOf(groups);
    expect(said).toMatch(
      /interactive: p99 never, 83\.0 % in time · batch: p99 .*, 100 % in time · never: p99 never, 0 % in time · idle: nothing offered · a line ends where answers were not in time · policy clockwork, seed 1$/,
    );
    expect(drawn).toContain('"note":"interactive: p83 ');
    expect(drawn).not.toContain('"note":"never:');
    const many = [
      ...groups,
      ...[0.999, 0.998, 0.997].map((share) => groupFixture(`at ${share}`, 50, 400, share)),
    ];
    const most = chartOf(many);
    expect(most.said).toMatch(/ · the worst 4 of 7 groups$/);
    // In the order of the file, so that colors stay as they are elsewhere.
    expect(most.said).toMatch(/interactive: .* · never: .* · at 0\.998: .* · at 0\.997: /);
  });

  it('lay several runs over each other', () => {
    const charts = SETS['a comparison'];
    expect(charts.map(({ name }) => name)).toEqual(['latency-cdf', 'goodput-over-time']);
    expect(subtitle('a comparison', 'latency-cdf')).toMatch(/^simulated: p99 never, .* live: p99 /);
    expect(subtitle('a comparison', 'goodput-over-time')).toMatch(
      /^simulated: \d+.* live: \d+.*windows of 5 s$/,
    );
    const slos = [50, 100].map((sloMs) => ({
      name: `${sloMs} ms`,
      run: runFixture({ sloMs, goodputRps: 480 }),
    }));
    // A rule that holds for one line only would mislead.
    expect(JSON.stringify(comparisonCharts(slos))).not.toContain('SLO ');
    expect(JSON.stringify(charts)).toContain('SLO 50 ms');
  });

  it.each([
    [0.29, [0, 1.02], [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [0.963, [0.95, 1.001], [0.95, 0.96, 0.97, 0.98, 0.99, 1]],
    [0.95, [0.95, 1.001], [0.95, 0.96, 0.97, 0.98, 0.99, 1]],
    [0.5, [0.5, 1.01], [0.5, 0.6, 0.7, 0.8, 0.9, 1]],
  ])('of groups of which at least %d is in time begin where differences show', (least, domain, ticks) => {
    const [chart] = sweepCharts(groupedFixture({ least }));
    const { concat, description } = chart!.spec as unknown as {
      concat: { layer: object[] }[];
      description: string;
    };
    const near = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 9));
    for (const { layer } of concat) {
      const axes = layer.flatMap((one) => (one as { encoding?: { y?: object } }).encoding?.y ?? []);
      expect(axes[0]).toMatchObject({ scale: { domain: near(domain) }, axis: { values: near(ticks) } });
    }
    expect(description.includes(`axes begin at ${100 * domain[0]!}`)).toBe(domain[0] !== 0);
  });

  it('say the finding in the subtitle', () => {
    expect(subtitle('one seed', 'goodput')).toMatch(
      /^Best at SLO 10 ms: 5 ms, 362\.5 req\/s, 6\.9× the default \(10 ms\)/,
    );
    expect(subtitle('one run', 'latency-cdf')).toMatch(
      /^p99 never, 79\.\d % in time · a line ends where answers were not in time policy clockwork, seed 1$/,
    );
    expect(subtitle('names only', 'goodput')).toContain('bars: 95 % confidence');
    expect(subtitle('groups', 'groups')).toBe(
      'Best at workload.1.concurrency 16: clockwork, 99.8 % of interactive, 100 % of batch in time',
    );
  });
});
