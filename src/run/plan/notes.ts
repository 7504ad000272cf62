import type { Experiment } from '../../config/experiment.js';
import { experimentNotes } from '../../config/policy-notes.js';
import { sharesLine } from '../../config/tenant-shares.js';
import { parsePercentile } from '../../record/percentiles.js';
import { noteTexts } from '../../record/policy-notes.js';
import { keyLabel } from '../../report/quantity.js';
import { ONE_SAMPLE } from '../../report/statistics.js';
import { listed } from '../../text/words.js';
import { closestOf } from './closest.js';
import type { Lattice } from './over.js';
import type { PlanResult, Tried } from './plan-result.js';
import { isLeast } from './preference.js';
import type { SearchResult } from './search.js';
import { failedShare, isOneSample, namedValue } from './words.js';

/** From such a share on, requests that were not answered in time are worth a note. */
const MANY = 0.01;
/** From this percentile on, a target says how many may fail. */
const COUNTS_MOST = 90;

/** What an operator should know before trusting the answer. */
export function notesOf(
  found: SearchResult,
  lattice: Lattice,
  tried: readonly Tried[],
  { over, seeds, targets }: Pick<PlanResult, 'over' | 'seeds' | 'targets'>,
): string[] {
  const notes: string[] = [];
  const answer =
    'answer' in found ? tried.find(({ value }) => value === lattice.text(found.answer)) : undefined;
  if (answer !== undefined) notes.push(...dropNotes(answer, targets));
  const verdictOf = (index: number) => tried.find(({ value }) => value === lattice.text(index))!.meets;
  const name = (index: number) => namedValue(over.key, lattice.text(index));
  if (found.kind === 'whole' && !isLeast(over.key, lattice.text(found.answer))) {
    const [wider, end] = found.answer === 0 ? ['below', over.from] : ['above', over.to];
    notes.push(`widen the range ${wider} ${end} to find the boundary`);
  }
  if (found.kind === 'boundary' && found.inside) {
    notes.push('both ends of the range miss: the target holds only inside it');
  }
  if (found.kind === 'boundary' && verdictOf(found.before) === 'unsure') {
    notes.push(unsureNote(name(found.before), tried));
  }
  const unsure = tried.filter(({ meets }) => meets === 'unsure');
  if (found.kind === 'none' && unsure.length > 0) {
    notes.push(unsureNote(namedValue(over.key, closestOf(unsure, targets)), tried));
  }
  const contradictions = 'contradictions' in found ? found.contradictions : [];
  if (contradictions.length > 0) {
    const named = (yes: boolean) => contradictions.filter((i) => (verdictOf(i) === 'yes') === yes).map(name);
    const words = [clause(named(true), 'meet', ' too'), clause(named(false), 'miss', '')].filter(Boolean);
    const advice = isOneSample(tried) ? '' : '; repeat with more seeds';
    notes.push(`the boundary is not sharp: ${words.join('; ')}${advice}`);
  }
  return [...notes, ...seedNotes({ seeds, tried })];
}

/** What the runs cannot tell. */
export function seedNotes({ seeds, tried }: Pick<PlanResult, 'seeds' | 'tried'>): string[] {
  if (isOneSample(tried)) return [`${ONE_SAMPLE}, so it ran once; ± comes from its time slices`];
  return seeds.length === 1 ? ['one seed: nothing is known of the spread between repetitions'] : [];
}

/** Of a value that may be the answer, or a better one than it. */
export function unsureNote(name: string, tried: PlanResult['tried']): string {
  const advice = isOneSample(tried) ? '' : ': more seeds may settle it';
  return `${name} would do on average, not with confidence${advice}`;
}

/** A target may be met because requests are dropped: it tells nothing of those. */
export function dropNotes({ attainment }: Tried, targets: PlanResult['targets']): string[] {
  if (attainment === null || 1 - attainment < MANY || targets.some(limitsFailures)) return [];
  const failed = `met, but ${failedShare(attainment)} of the requests were not answered in time`;
  return [`${failed}; add a target on attainment or on a latency such as p99, which counts them`];
}

/** Whether a target cannot be met while many requests fail. */
function limitsFailures({ metric }: PlanResult['targets'][number]): boolean {
  if (['attainment', 'mean', 'max', 'p999', 'p9999'].includes(metric)) return true;
  const named = parsePercentile(metric);
  return named?.reading === 'offered' && named.percentile >= COUNTS_MOST;
}

/** Why nothing that was tried could meet the targets, if that is known. */
export function unreachableNotes(tried: readonly Tried[]): string[] {
  const reasons = new Set(tried.map(({ unreachable }) => unreachable));
  return reasons.has(undefined) ? [] : ([...reasons].slice(0, 1) as string[]);
}

/** What the policy does not do of what is asked, and what shares of tenants come to; what holds at one end alone is not of the plan. */
export function setupNotes(ends: readonly Experiment[]): string[] {
  const [first = [], ...others] = ends.map((end) => {
    const shares = sharesLine(end.tenants.list);
    return [...noteTexts(experimentNotes(end)).map(({ text }) => text), ...(shares === null ? [] : [shares])];
  });
  return first.filter((note) => others.every((notes) => notes.includes(note)));
}

/** A load is a share of capacity: where that depends on the planned key, so does the traffic. */
export function trafficNotes({ key }: PlanResult['over'], ends: readonly Experiment[]): string[] {
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

/** `A meets too`, `A and B meet too`; empty without names. */
function clause(names: readonly string[], verb: string, rest: string): string {
  const ending = names.length > 1 ? '' : verb === 'miss' ? 'es' : 's';
  return names.length === 0 ? '' : `${listed(names)} ${verb}${ending}${rest}`;
}
