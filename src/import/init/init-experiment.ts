import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { usageError } from '../../base/errors.js';
import { writeYaml } from '../../base/files/yaml-text.js';
import type { InputFiles } from '../../base/world/input-files.js';
import type { Profile } from '../../config/profile.js';
import { parseProfile, profileSpread } from '../../config/read-profile.js';
import { readArrivals } from '../../workload/files/arrival-rows.js';
import { type Layout, type LayoutOf, openTable, type Table } from '../../workload/files/layout.js';
import { firstOf, gpuKind, notesPath } from '../names.js';

export interface InitOptions {
  /** Path of the experiment file, to whose folder paths are relative. */
  readonly out: string;
  /** SLO of all requests, e.g. `50ms`; undefined: by trace or profiles. */
  readonly slo: string | undefined;
  /** Names of models in traces, each with the name of the profile that it takes. */
  readonly map: ReadonlyMap<string, string>;
}

interface InitResult {
  /** Text of the experiment file. */
  readonly text: string;
  /** Paths of the traces, a section of `workload` each. */
  readonly traces: readonly string[];
  readonly notes: readonly string[];
}

interface NamedProfile {
  readonly path: string;
  readonly profile: Profile;
}

/** A model of the experiment with its profiles by kind of GPU. */
interface InitModel {
  readonly name: string;
  readonly byKind: ReadonlyMap<string, NamedProfile>;
}

/** Kind, models and SLOs of a trace, for an experiment that replays it. */
interface TraceContents {
  readonly path: string;
  readonly kind: Layout['kind'];
  /** Requests by model; empty for traces of functions, which have no names of models. */
  readonly models: ReadonlyMap<string, number>;
  /** Distinct SLOs, up to a few. */
  readonly slosNs: ReadonlySet<number>;
  /** True if requests have lengths. */
  readonly hasLengths: boolean;
  /** Guesses of its import. */
  readonly assumed: readonly string[];
}

/** SLOs of a trace that are told apart. */
const MOST_SLOS = 2;
/** SLO over the latency of batch 1 of the slowest model. */
const SLO_TIMES = 5;
const NO_LENGTHS = 'the lengths of requests in the trace are ignored, as the profile has one table for all';

/**
 * Text of an experiment with the models that traces call, on the kinds of GPUs that were measured. `paths`: profiles,
 * traces, and folders of them. Throws `E_USAGE` if models have no profile, and the errors of reading.
 */
export async function initExperiment(
  files: InputFiles,
  paths: readonly string[],
  { out, slo, map }: InitOptions,
): Promise<InitResult> {
  const profiles: NamedProfile[] = [];
  const traces: TraceContents[] = [];
  for (const path of paths.flatMap(filesIn)) {
    if (path.endsWith('.json')) profiles.push({ path, profile: parseProfile(await files.text(path), path) });
    else traces.push(await traceContents(files, path));
  }
  if (profiles.length === 0)
    throw usageError('there is no profile: give files or folders of escapement import profiles');
  if (traces.length === 0) throw usageError('there is no trace: give files of escapement import trace');
  const notes: string[] = [];
  const models = modelsOf(traces, profiles, map, notes);
  const kinds = kindsOf(models);
  const from = (path: string) => {
    const there = relative(dirname(out), path);
    return there === '' ? path : there;
  };
  const sloText = slo ?? sloOf(traces, models, kinds[0]!);
  const isGuessed = slo === undefined && sloText !== null;
  const assumed = [
    ...(isGuessed ? [`the SLO is ${SLO_TIMES} times the latency of batch 1 of the slowest model`] : []),
    ...kinds.flatMap(({ name, speed }) =>
      speed === undefined
        ? []
        : `models without measurements on ${name} run ${speed} times as fast there as on ${kinds[0]!.name}`,
    ),
    ...notes,
    ...guessesOf(models, traces),
    ...traces.flatMap((trace) => trace.assumed.map((text) => `${basename(trace.path)}: ${text}`)),
  ];
  const text = textOf({ traces, models, kinds, slo: sloText, isGiven: slo !== undefined, from, assumed });
  return { text, traces: traces.map(({ path }) => path), notes };
}

/** A file itself, and the profiles and traces in a folder. */
function filesIn(path: string): string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path];
  const known = readdirSync(path).filter((name) => /\.(?:json|csv|csv\.gz)$/.test(name));
  return known.sort().map((name) => join(path, name));
}

/** Reads a trace of any known layout. Throws the coded errors of reading it. */
async function traceContents(files: InputFiles, path: string): Promise<TraceContents> {
  const table = await openTable(files, path);
  const { kind } = table.layout;
  const hasLengths = table.layout.kind === 'arrivals' && table.layout.lengths;
  const notes = await files.text(notesPath(path)).catch(() => '');
  const assumed = notes.split('\n').filter((line) => line !== '');
  const counts: number[] = [];
  const slosNs = new Set<number>();
  if (kind !== 'arrivals') {
    await table.rest.return();
    return { path, kind, models: new Map(), slosNs, hasLengths, assumed };
  }
  const names = await readArrivals(table as Table<LayoutOf<'arrivals'>>, ({ length, model, sloNs }) => {
    for (let row = 0; row < length; row++) {
      const of = model[row]!;
      counts[of] = (counts[of] ?? 0) + 1;
      if (slosNs.size < MOST_SLOS) slosNs.add(sloNs[row]!);
    }
  });
  const models = new Map(names.map((name, i) => [name, counts[i]!]));
  return { path, kind, models, slosNs, hasLengths, assumed };
}

/** Models by the names in the traces; all profiles if those have none. */
function modelsOf(
  traces: readonly TraceContents[],
  profiles: readonly NamedProfile[],
  map: InitOptions['map'],
  notes: string[],
): InitModel[] {
  const byName = new Map<string, NamedProfile[]>();
  for (const one of profiles) byName.set(one.profile.name, [...(byName.get(one.profile.name) ?? []), one]);
  for (const name of map.values())
    if (!byName.has(name))
      throw usageError(`--map: there is no profile of ${name}; there are ${[...byName.keys()].join(', ')}`);
  const calls = new Map<string, number>();
  for (const { models } of traces)
    for (const [name, count] of models) calls.set(name, (calls.get(name) ?? 0) + count);
  const names =
    calls.size === 0 ? [...byName.keys()] : [...calls].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  // Of two profiles that could be meant none is taken.
  const alike = (name: string) => {
    const [first, ...others] = [...byName.keys()].filter((each) => simplified(each) === simplified(name));
    return others.length === 0 ? first : undefined;
  };
  const chosen = names.map(
    (name) => [name, map.get(name) ?? (byName.has(name) ? name : alike(name))] as const,
  );
  const unknown = chosen.filter(([, profile]) => profile === undefined).map(([name]) => name);
  if (unknown.length > 0) {
    const requests = unknown.reduce((sum, name) => sum + (calls.get(name) ?? 0), 0);
    const all = [...calls.values()].reduce((sum, count) => sum + count, 0);
    const share = ((100 * requests) / all).toFixed(1);
    throw usageError(
      `${firstOf(unknown)} (${share} % of the requests) ${unknown.length === 1 ? 'has' : 'have'} no profile, of which there are ${firstOf([...byName.keys()])}: ` +
        `name the profile to take with --map ${unknown[0]}=PROFILE, or leave these requests out of the trace`,
    );
  }
  for (const [name, profile] of chosen)
    if (name !== profile) notes.push(`${name}: taken to be as fast as ${profile}`);
  const unused = [...byName.keys()].filter((name) => !chosen.some(([, profile]) => profile === name));
  if (unused.length > 0)
    notes.push(`profiles of models that no request calls are left out: ${firstOf(unused)}`);
  return chosen.map(([name, profile]) => ({
    name,
    byKind: byKindOf(byName.get(profile!)!),
  }));
}

/** Throws `E_USAGE` for two profiles of one model on one kind. */
function byKindOf(profiles: readonly NamedProfile[]): Map<string, NamedProfile> {
  const byKind = new Map<string, NamedProfile>();
  for (const one of profiles) {
    const kind = gpuKind(one.profile.gpu);
    const before = byKind.get(kind);
    if (before !== undefined)
      throw usageError(
        `${one.profile.name} has two profiles on ${kind}: ${before.path} and ${one.path}: leave one out`,
      );
    byKind.set(kind, one);
  }
  return byKind;
}

/** Names that are the same but for case and punctuation. */
function simplified(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '');
}

interface InitKind {
  readonly name: string;
  /** Relative to the first kind, for models that were not measured on it; undefined: all were. */
  readonly speed: number | undefined;
}

/** Kinds of GPUs: first the one on which all models were measured. */
function kindsOf(models: readonly InitModel[]): InitKind[] {
  const names = [...new Set(models.flatMap(({ byKind }) => [...byKind.keys()]))];
  const lacking = (kind: string) => models.filter(({ byKind }) => !byKind.has(kind));
  const first = names.find((kind) => lacking(kind).length === 0);
  if (first === undefined) {
    const each = names.map((kind) => `${kind} (not ${firstOf(lacking(kind).map(({ name }) => name))})`);
    throw usageError(
      `no kind of GPU has profiles of all models: ${each.join('; ')}: measure what is missing on one of them`,
    );
  }
  const others = names.filter((kind) => kind !== first);
  return [
    { name: first, speed: undefined },
    ...others.map((name) => ({
      name,
      speed: lacking(name).length === 0 ? undefined : speedOf(models, first, name),
    })),
  ];
}

/** Median ratio of the latencies of batch 1 of the models that were measured on both. */
function speedOf(models: readonly InitModel[], first: string, other: string): number {
  const ratios = models
    .filter(({ byKind }) => byKind.has(other))
    .map(({ byKind }) => firstMs(byKind.get(first)!) / firstMs(byKind.get(other)!))
    .sort((a, b) => a - b);
  return Number(ratios[Math.floor(ratios.length / 2)]!.toPrecision(3));
}

function firstMs({ profile }: NamedProfile): number {
  return profile.batches[0]!.medianMs;
}

/** Null: each request has its own, by the trace. */
function sloOf(
  traces: readonly TraceContents[],
  models: readonly InitModel[],
  { name }: InitKind,
): string | null {
  if (traces.some(({ slosNs }) => slosNs.size > 1)) return null;
  const slowest = Math.max(...models.map(({ byKind }) => firstMs(byKind.get(name)!)));
  return `${Number((SLO_TIMES * slowest).toPrecision(2))}ms`;
}

/** Guesses about models, each with the models that it concerns. */
function guessesOf(models: readonly InitModel[], traces: readonly TraceContents[]): string[] {
  const hasLengths = traces.some((trace) => trace.hasLengths);
  const guesses = new Map<string, Set<string>>();
  for (const { name, byKind } of models)
    for (const { profile } of byKind.values())
      for (const guess of [
        ...(hasLengths && profile.length === undefined ? [NO_LENGTHS] : []),
        ...(profile.source.assumed ?? []),
      ])
        guesses.set(guess, (guesses.get(guess) ?? new Set()).add(name));
  return [...guesses].map(([guess, names]) =>
    names.size === models.length && names.size > 1
      ? `all models: ${guess}`
      : `${firstOf([...names])}: ${guess}`,
  );
}

interface Contents {
  readonly assumed: readonly string[];
  readonly traces: readonly TraceContents[];
  readonly models: readonly InitModel[];
  readonly kinds: readonly InitKind[];
  readonly slo: string | null;
  readonly isGiven: boolean;
  readonly from: (path: string) => string;
}

function textOf(contents: Contents): string {
  const { traces, models, kinds, slo, from, assumed } = contents;
  const several = kinds.length > 1 || kinds[0]!.name !== 'unknown';
  const gpus = kinds.map(({ name, speed }) => {
    const measured = speed === undefined ? '' : `, speed: ${speed}`;
    return `    - { kind: ${name}, count: 1, memory: 16GiB${measured} } # price: ?/h`;
  });
  const sections = models.map(({ name, byKind }) => {
    const [first, ...others] = kinds.filter((kind) => byKind.has(kind.name));
    const { path, profile } = byKind.get(first!.name)!;
    const profiles = Object.fromEntries(others.map((kind) => [kind.name, from(byKind.get(kind.name)!.path)]));
    return {
      ...{ kind: 'profile', path: from(path) },
      ...(profile.name !== name && { name }),
      ...(others.length > 0 && { profiles }),
    };
  });
  const hasSpread = models.some(({ byKind }) =>
    [...byKind.values()].some(({ profile }) => profileSpread(profile) !== null),
  );
  const workload = traces.map(({ path, kind }) => ({ kind, path: from(path) }));
  const speeds = kinds.filter(({ speed }) => speed !== undefined).map(({ name }) => name);
  const lines = [
    '# An experiment with your requests and your models: who is served in time, and on how many GPUs?',
    '#',
    '#   escapement simulate FILE',
    several
      ? "#   escapement plan FILE --target 'attainment>=99%' --minimize cost \\"
      : "#   escapement plan FILE --target 'attainment>=99%' --over cluster.gpus=1:16",
    ...(several ? [`#     --over ${kinds.map(({ name }) => `cluster.gpus.${name}=0:8`).join(',')}`] : []),
    'cluster:',
    ...(several
      ? [
          '  # Set count, memory (what your runtime leaves for weights) and price of each kind: plan asks for prices.',
          ...(speeds.length > 0
            ? [`  # Speeds are medians of what was measured on both: ${speeds.join(', ')}.`]
            : []),
          '  gpus:',
          ...gpus,
        ]
      : ['  gpus: 1', '  # What your runtime leaves for weights on a GPU.', '  memory: 16GiB']),
    ...(hasSpread
      ? [
          '  # INFERs take the medians of the profiles; this draws them from all their percentiles.',
          '  # noise: { distribution: profile }',
        ]
      : []),
    writeYaml({ models: sections }).trimEnd(),
    sloReason(contents),
    ...(slo === null ? [] : [`slo: ${slo}`]),
    writeYaml({ workload }).trimEnd(),
    '# Requests of the first seconds, in which every model is cold, count as well: 10s leaves them out.',
    'warmup: 0s',
    'policy: { kind: escapement }',
    'seed: 1',
    ...(assumed.length === 0
      ? []
      : [
          '# Guesses, which the page of plan repeats: delete what you have settled.',
          writeYaml({ assumed }).trimEnd(),
        ]),
    '',
  ];
  return lines.join('\n');
}

/** Comment on the SLO. */
function sloReason({ traces, kinds, slo, isGiven }: Contents): string {
  const slosMs = traces.flatMap(({ slosNs }) => [...slosNs].map((ns) => `${ns / 1e6} ms`));
  return slo === null
    ? '# Each request has the SLO of its row.'
    : isGiven
      ? '# SLO of all requests.'
      : `# The SLO is ${SLO_TIMES} times the latency of batch 1 of the slowest model on ${kinds[0]!.name}: set your own` +
        (slosMs.length > 0
          ? `, or leave slo out for that of the trace (${[...new Set(slosMs)].join(', ')}).`
          : '.');
}
