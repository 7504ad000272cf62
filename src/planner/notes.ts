import type { Experiment } from '../experiment/experiment.js';
import { keyLabel } from '../report/quantity.js';
import type { Lattice } from './over.js';
import type { PlanResult, Tried } from './plan-result.js';
import type { SearchResult } from './search.js';
import { listed, namedValue } from './words.js';

/** What an operator should know before trusting the answer. */
export function notesOf(
  found: SearchResult,
  lattice: Lattice,
  tried: readonly Tried[],
  { over, seeds }: Pick<PlanResult, 'over' | 'seeds'>,
): string[] {
  const notes: string[] = [];
  const verdictOf = (index: number) => tried.find(({ value }) => value === lattice.text(index))!.meets;
  const name = (index: number) => namedValue(over.key, lattice.text(index));
  if (found.kind === 'whole') {
    const [wider, end] = found.answer === 0 ? ['below', over.from] : ['above', over.to];
    notes.push(
      `both ends of the range meet: it does not bind; widen it ${wider} ${end} to find the boundary`,
    );
  }
  if (found.kind === 'boundary' && found.inside) {
    notes.push('both ends of the range miss: the target holds only inside it');
  }
  if (found.kind === 'boundary' && verdictOf(found.before) === 'unsure') {
    notes.push(`${name(found.before)} would do on average, not with confidence: more seeds may settle it`);
  }
  const contradictions = 'contradictions' in found ? found.contradictions : [];
  if (contradictions.length > 0) {
    const named = (yes: boolean) => contradictions.filter((i) => (verdictOf(i) === 'yes') === yes).map(name);
    const words = [clause(named(true), 'meet', ' too'), clause(named(false), 'miss', '')].filter(Boolean);
    notes.push(`the boundary is not sharp: ${words.join('; ')}; repeat with more seeds`);
  }
  if (seeds.length === 1) notes.push('one seed: nothing is known of the spread between repetitions');
  return notes;
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
  if ('ratePerS' in workload) return workload.ratePerS;
  return 'scale' in workload ? workload.scale : null;
}

/** `A meets too`, `A and B meet too`; empty without names. */
function clause(names: readonly string[], verb: string, rest: string): string {
  const ending = names.length > 1 ? '' : verb === 'miss' ? 'es' : 's';
  return names.length === 0 ? '' : `${listed(names)} ${verb}${ending}${rest}`;
}
