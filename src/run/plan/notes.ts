import type { Experiment } from '../../config/experiment.js';
import { experimentNotes } from '../../config/policy-notes.js';
import { sharesLine } from '../../config/tenant-shares.js';
import { formatDuration } from '../../config/units-text.js';
import { CAUSE_LABELS, CAUSES } from '../../record/causes.js';
import { parsePercentile } from '../../record/percentiles.js';
import { noteTexts } from '../../record/policy-notes.js';
import { keyLabel } from '../../report/quantity.js';
import { ONE_SAMPLE } from '../../report/statistics.js';
import { formatPercent, significant } from '../../text/numbers.js';
import { listed, plural } from '../../text/words.js';
import type { Lattice } from './over.js';
import { closestOf, isOneSample, type KeyPlan, type Plan, type Tried } from './plan-result.js';
import { isLeast } from './preference.js';
import type { SearchResult } from './search.js';

/** Share of requests not answered in time from which a note is due. */
const MANY = 0.01;
/** From this percentile on, a target limits the number of failures. */
const COUNTS_MOST = 90;

/** Caveats about the answer of a search over a key. */
export function searchNotes(
  found: SearchResult,
  lattice: Lattice,
  { over, targets, tried }: Pick<KeyPlan, 'over' | 'targets' | 'tried'>,
): string[] {
  const at = (index: number) => tried.find(({ value }) => value === lattice.text(index))!;
  const advice = isOneSample(tried) ? '' : '; repeat with more seeds';
  const contradictions = 'contradictions' in found ? found.contradictions : [];
  const notes =
    contradictions.length === 0
      ? []
      : [
          `the boundary is not sharp: ${listed(contradictions.map((index) => at(index).name))} ${contradictions.length === 1 ? 'contradicts' : 'contradict'} it${advice}`,
        ];
  if (found.kind === 'none') {
    const unsure = tried.filter(({ meets }) => meets === 'unsure');
    if (unsure.length > 0) notes.unshift(unsureNote(closestOf(unsure, targets)!, tried));
  }
  if (found.kind === 'whole' && !isLeast(over.key, lattice.text(found.answer))) {
    const [wider, end] = found.answer === 0 ? ['below', over.from] : ['above', over.to];
    notes.unshift(`widen the range ${wider} ${end} to find the boundary`);
  }
  if (found.kind !== 'boundary') return notes;
  const before = at(found.before);
  if (before.meets === 'unsure') notes.unshift(unsureNote(before, tried));
  if (found.inside) notes.unshift('both ends of the range miss: the target holds only inside it');
  return notes;
}

/**
 * Notes on a plan and its search. `answer`: undefined if there is none; `ends`: experiments at the ends of the range.
 */
export function planNotes(
  { targets, tried, seeds }: Pick<Plan, 'targets' | 'tried' | 'seeds'>,
  answer: Tried | undefined,
  ofSearch: readonly string[],
  ends: readonly Experiment[],
): string[] {
  const shown = answer ?? closestOf(tried, targets);
  const reasons = new Set(tried.map(({ unreachable }) => unreachable));
  return [
    ...(reasons.has(undefined) ? [] : ([...reasons].slice(0, 1) as string[])),
    ...(reasons.has(undefined) ? rateNotes(shown) : []),
    ...(answer === undefined ? missNotes(shown) : dropNotes(answer, targets)),
    ...ofSearch,
    ...seedNotes(seeds, tried),
    ...(answer === undefined ? [] : horizonNotes(ends)),
    ...setupNotes(ends),
  ];
}

/** Share by which a growing queue may flatter a rate from which a note is due. */
const FLATTERED = 0.01;

/** A queue can grow for as long as an SLO before requests miss it, so a short run meets targets that a long one would not. */
function horizonNotes(ends: readonly Experiment[]): string[] {
  const [worst] = ends
    .flatMap(({ workloads, sloNs }) =>
      workloads.map((spec) => {
        const open = spec.kind !== 'closed-loop' && 'durationNs' in spec ? spec.durationNs : undefined;
        return { sloNs: spec.sloNs ?? sloNs, durationNs: open ?? Number.POSITIVE_INFINITY };
      }),
    )
    .sort((a, b) => b.sloNs / b.durationNs - a.sloNs / a.durationNs);
  if (worst === undefined || worst.sloNs / worst.durationNs <= FLATTERED) return [];
  const { sloNs, durationNs } = worst;
  const [slo, duration, longer] = [sloNs, durationNs, sloNs / FLATTERED].map(formatDuration);
  const percent = significant((100 * sloNs) / durationNs, 2);
  return [
    `a queue can grow for the SLO of ${slo} before a request is late: ${duration} of traffic may hide up to ${percent} % too much of it, ${longer} at most 1 %`,
  ];
}

function seedNotes(seeds: readonly number[], tried: Plan['tried']): string[] {
  if (isOneSample(tried)) return [`${ONE_SAMPLE}, so it ran once`];
  return seeds.length === 1 ? ['one seed: nothing is known of the spread between seeds'] : [];
}

/** Note on a value that may be the answer, or better than it. */
export function unsureNote({ name }: Tried, tried: Plan['tried']): string {
  const advice = isOneSample(tried) ? '' : ': more seeds may settle it';
  return `the mean at ${name} meets, its interval does not${advice}`;
}

/** Warns that rates of tenants, and not the GPUs, keep requests from being answered. */
function rateNotes({ overRate = 0 }: Pick<Tried, 'overRate'> = {}): string[] {
  if (overRate < MANY) return [];
  return [`the rates of tenants refuse ${formatPercent(overRate)} of the requests, whatever the GPUs`];
}

/** Causes of the misses of the value that was the closest. */
function missNotes({ details, cells = [], meets }: Partial<Tried> = {}): string[] {
  if (details === undefined || meets !== 'no') return [];
  const { failures, offered } = details;
  const causes = CAUSES.filter((cause) => failures[cause] > 0);
  const missed = causes.reduce((sum, cause) => sum + failures[cause], 0);
  const reasons = listed(causes.map((cause) => `${failures[cause]} ${CAUSE_LABELS[cause]}`));
  const requests = plural(Math.round(offered * cells.length), 'request');
  return missed === 0 ? [] : [`of the closest, ${missed} of ${requests} missed: ${reasons}`];
}

/** Warns that a target may be met because requests are dropped, which it does not count. */
function dropNotes({ attainment }: Tried, targets: Plan['targets']): string[] {
  if (attainment === null || 1 - attainment < MANY || targets.some(limitsFailures)) return [];
  const failed = `met, but ${significant(100 * (1 - attainment), 2)} % of the requests were not answered in time`;
  return [`${failed}; add a target on attainment or on a latency such as p99, which counts them`];
}

/** True if a target cannot be met while many requests fail. */
function limitsFailures({ metric }: Plan['targets'][number]): boolean {
  if (['attainment', 'mean', 'max', 'p999', 'p9999'].includes(metric)) return true;
  const named = parsePercentile(metric);
  return named?.reading === 'offered' && named.percentile >= COUNTS_MOST;
}

/** Unsupported settings of the policy, and effective shares of tenants; leaves out notes that hold at one end alone. */
export function setupNotes(ends: readonly Experiment[]): string[] {
  const [first = [], ...others] = ends.map((end) => {
    const shares = sharesLine(end.tenants.list);
    return [...noteTexts(experimentNotes(end)).map(({ text }) => text), ...(shares === null ? [] : [shares])];
  });
  return first.filter((note) => others.every((notes) => notes.includes(note)));
}

/** A load is a share of capacity: if that depends on the planned key, so does the traffic. */
export function trafficNotes({ key }: KeyPlan['over'], ends: readonly Experiment[]): string[] {
  const volumes = ends.map(({ workloads }) => JSON.stringify(workloads.map(volumeOf)));
  if (/^workload\..*(rate|load|scale)$/i.test(key) || new Set(volumes).size < 2) return [];
  return [
    `load is a share of what the GPUs can serve, which depends on ${keyLabel(key)}: the traffic is another at every value; give workload.rate or scale to keep it`,
  ];
}

function volumeOf(workload: Experiment['workloads'][number]): number | null {
  if ('rateRps' in workload) return workload.rateRps;
  return 'scale' in workload ? workload.scale : null;
}
