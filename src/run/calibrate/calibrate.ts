import { statSync } from 'node:fs';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_S } from '../../base/units.js';
import type { Experiment, NoiseConfig } from '../../config/experiment.js';
import { parseExperiment } from '../../config/load.js';
import { formatDuration } from '../../config/units-text.js';
import { runLogs } from '../../record/flight/run-logs.js';
import { loadRun } from '../../report/load.js';
import { formatCount, formatMs, formatRate, significant } from '../../text/numbers.js';
import { table } from '../../text/table.js';
import { simulate } from '../simulated.js';
import {
  type Figures,
  figuresOf,
  type Measured,
  measureRun,
  recordOfJournal,
  recordOfRun,
} from './live-record.js';

/** A figure of the live run, of the simulation, and of the simulation with the overrides; null: nothing to measure. */
type Thrice = readonly [live: number | null, before: number | null, after: number | null];

/** Figures of all requests or those of a model. */
interface ComparedPart {
  /** Empty: all. */
  readonly model: string;
  readonly goodputRps: Thrice;
  /** Executed requests only. */
  readonly p50Ms: Thrice;
  readonly p99Ms: Thrice;
}

/** A key that the live run suggests another value for. */
interface CalibratedKey {
  readonly key: string;
  readonly was: string;
  readonly is: string;
  /** Measurements of the two runs, in the unit of the key. */
  readonly live: string;
  readonly simulated: string;
}

export interface Calibration {
  readonly parts: readonly ComparedPart[];
  readonly keys: readonly CalibratedKey[];
  /** Overrides with which the experiment was simulated again. */
  readonly overrides: readonly string[];
  /** Reasons to trust it less, a line each. */
  readonly warnings: readonly string[];
}

/** Fewer INFERs of a run, or of a model, make an estimate rough. */
const ROUGH = 200;
const LEAST_OF_MODEL = 20;

/**
 * Finds what makes a simulation differ from a live run of the same experiment: measures both in the same way, moves
 * each key by the difference, and simulates again. So whatever a measurement gets wrong, it gets wrong in both. `source`:
 * the folder of the live run, or a journal.
 */
export async function calibrate(source: string, simulatedDir: string): Promise<Calibration> {
  const before = loadRun(simulatedDir);
  if (before.summary.kind !== 'simulated') {
    const what = `is ${before.summary.kind === 'live' ? 'a live run' : 'a load'}: give the live run first, then a simulation`;
    throw new EscapementError('E_RESULTS', what, { file: simulatedDir });
  }
  const overrides = before.overrides ?? [];
  const experimentWith = (more: readonly string[]) =>
    parseExperiment(before.experiment, before.origin?.file ?? 'experiment.yaml', [...overrides, ...more]);
  const experiment = await experimentWith([]);
  const fromNs = before.windows[0].beginSeconds * NS_PER_S;
  const compared = { run: before, dir: simulatedDir, experiment, fromNs };
  const simulated = measureRun(runLogs(simulatedDir, before).actions, experiment, fromNs);
  const isJournal = statSync(source, { throwIfNoEntry: false })?.isFile() === true;
  const live = isJournal ? await recordOfJournal(source, compared) : recordOfRun(source, compared);
  const idle = live.measured.infers === 0 ? source : simulated.infers === 0 ? simulatedDir : null;
  if (idle !== null) {
    const what = 'has no INFER that ended well, and so nothing to measure';
    throw new EscapementError('E_RESULTS', what, { file: idle });
  }
  const keys = calibratedKeys(experiment, live.measured, simulated);
  const found = overridesOf(keys, experiment.cluster.noise);
  const after = found.length === 0 ? before : await simulate(await experimentWith(found));
  return {
    parts: partsOf(experiment, [live.figures, figuresOf(before), figuresOf(after)]),
    keys,
    overrides: found,
    warnings: [...live.warnings, ...roughness(experiment, live.measured, simulated)],
  };
}

/** Keys to change, with their new values. */
function calibratedKeys({ cluster }: Experiment, live: Measured, before: Measured): CalibratedKey[] {
  const { noise, network } = cluster;
  const keys: CalibratedKey[] = [];
  const isWide = noise.distribution === 'profile' && isWider(before, live);
  if (isWide) {
    const [was, is] = ['profile', 'normal'];
    keys.push({ key: 'cluster.noise.distribution', was, is, live: 'varies less', simulated: 'varies more' });
  }
  const simulated = isWide ? withoutQuantiles(before, noise) : before;
  /** `luck`: smaller changes may be chance. */
  const add = (
    key: string,
    show: (value: number) => string,
    [was, ofLive, ofSimulated, is]: Moved,
    luck = LUCK * Math.max(is, was),
  ) => {
    if (Math.abs(is - was) <= luck || show(is) === show(was)) return;
    keys.push({ key, was: show(was), is: show(is), live: show(ofLive), simulated: show(ofSimulated) });
  };
  for (const [name, { factor, infers }] of live.scale) {
    const other = simulated.scale.get(name);
    if (other === undefined || Math.min(infers, other.infers) < LEAST_OF_MODEL) continue;
    const was = noise.scale[name] ?? 1;
    const is = (was * factor) / other.factor;
    add(`${SCALE}${name}`, factorText, [was, factor, other.factor, is], LUCK_OF_SCALE * is);
  }
  // Independent deviations add up by their squares.
  const squares = moved(noise.exec ** 2, live.spread ** 2, simulated.spread ** 2);
  add('cluster.noise.exec', percent, squares.map(Math.sqrt) as unknown as Moved);
  const stragglers = moved(noise.stragglers, live.stragglers, simulated.stragglers);
  add('cluster.noise.stragglers', percent, stragglers, luckOf(live, simulated));
  const { stragglerFactor: factor } = live;
  if (keys.at(-1)?.key === 'cluster.noise.stragglers' && live.stragglers > 0)
    add('cluster.noise.stragglerFactor', factorText, [
      ...[noise.stragglerFactor, factor, simulated.stragglerFactor, factor],
    ] as unknown as Moved);
  add('cluster.network.delay', us, moved(network.delayNs, live.delayNs, simulated.delayNs));
  add('cluster.network.jitter', us, moved(network.jitterNs, live.jitterNs, simulated.jitterNs));
  add('cluster.overhead', us, moved(cluster.overheadNs, live.overheadNs, simulated.overheadNs));
  return keys;
}

/** True if durations vary more in a simulation than live, which no key can take back. */
function isWider(simulated: Measured, live: Measured): boolean {
  return (
    simulated.spread > live.spread * (1 + LUCK) ||
    simulated.stragglers > live.stragglers + luckOf(live, simulated)
  );
}

/** A simulation as it would be without the quantiles of its profiles. */
function withoutQuantiles(simulated: Measured, { scale, exec, stragglers }: NoiseConfig): Measured {
  const own = [...simulated.scale].map(([name, of]) => [name, { ...of, factor: scale[name] ?? 1 }] as const);
  return { ...simulated, scale: new Map(own), spread: exec, stragglers };
}

/** Two standard deviations of the difference between two shares of stragglers. */
function luckOf(...runs: readonly Measured[]): number {
  return 2 * Math.sqrt(runs.reduce((sum, { stragglers, infers }) => sum + stragglers / infers, 0));
}

type Moved = readonly [was: number, ofLive: number, ofSimulated: number, is: number];

const SCALE = 'cluster.noise.scale.';
const LUCK_OF_SCALE = 0.005;
const LUCK = 0.03;

/** Moves a value by the difference between the two runs. */
function moved(was: number, ofLive: number, ofSimulated: number): Moved {
  return [was, ofLive, ofSimulated, Math.max(0, was + ofLive - ofSimulated)];
}

/** Keys as overrides. Names of models may have characters that keys of overrides have not. */
function overridesOf(keys: readonly CalibratedKey[], { scale }: Experiment['cluster']['noise']): string[] {
  const [own, others] = [true, false].map((of) => keys.filter(({ key }) => key.startsWith(SCALE) === of));
  const factors = own!.map(({ key, is }) => [key.slice(SCALE.length), Number(is)]);
  return [
    ...(factors.length === 0
      ? []
      : [`cluster.noise.scale=${JSON.stringify({ ...scale, ...Object.fromEntries(factors) })}`]),
    ...others!.map(({ key, is }) => `${key}=${is}`),
  ];
}

function factorText(factor: number): string {
  return String(significant(factor, 4));
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(2))}%`;
}

/** A delay as far as threads keep it. */
function us(ns: number): string {
  return formatDuration(Math.round(ns / 1000) * 1000);
}

function roughness({ models }: Experiment, live: Measured, simulated: Measured): string[] {
  const least = Math.min(live.infers, simulated.infers);
  const few = models.filter(({ name }) => {
    const infers = [live, simulated].map(({ scale }) => scale.get(name)?.infers ?? 0);
    return Math.min(...infers) < LEAST_OF_MODEL;
  });
  return [
    ...(least < ROUGH ? [`only ${least} INFERs in a run: the estimates are rough; run longer`] : []),
    ...(few.length === 0
      ? []
      : [`too few INFERs for a factor of their own: ${few.map(({ name }) => name).join(', ')}`]),
  ];
}

function partsOf({ models }: Experiment, records: readonly ReadonlyMap<string, Figures>[]): ComparedPart[] {
  return ['', ...models.map(({ name }) => name)].map((model) => {
    const thrice = (key: keyof Figures) =>
      records.map((figures) => figures.get(model)?.[key] ?? null) as unknown as Thrice;
    return { model, goodputRps: thrice('goodputRps'), p50Ms: thrice('p50Ms'), p99Ms: thrice('p99Ms') };
  });
}

export function calibrationText({ parts, keys }: Calibration): string {
  const errors = ([live, ...simulated]: Thrice, show: (value: number | null) => string) => [
    show(live),
    ...simulated.map((value) => errorText(live, value)),
  ];
  const headings = ['goodput', 'p50', 'p99'].flatMap((figure) => [figure, 'before', 'after']);
  const rows = parts.map(({ model, goodputRps, p50Ms, p99Ms }) => [
    model === '' ? 'all' : model,
    ...errors(goodputRps, formatRate),
    ...errors(p50Ms, formatMs),
    ...errors(p99Ms, formatMs),
  ]);
  const changed = keys.map(({ key, was, is, live, simulated }) => [key, was, is, live, simulated]);
  return [
    'Live figures, and the error of the simulation before and after\n',
    table([['', ...headings], ...rows], [0]),
    changed.length === 0
      ? '\nno key explains a difference\n'
      : `\n${table([['key', 'was', 'is', 'live', 'simulated'], ...changed], [0, 1, 2, 3, 4])}`,
  ].join('');
}

function errorText(live: number | null, simulated: number | null): string {
  if (live === null || simulated === null || live === 0) return '–';
  const error = (100 * (simulated - live)) / live;
  const size = Math.abs(error);
  return `${error < 0 ? '-' : '+'}${size >= 100 ? formatCount(size) : size.toFixed(1)} %`;
}
