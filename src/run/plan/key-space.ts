import { usageError } from '../../base/errors.js';
import type { Experiment } from '../../config/experiment.js';
import { ON_DISK } from '../../config/files-on-disk.js';
import { numberKind } from '../../config/keys.js';
import { applyOverrides } from '../../config/overrides.js';
import { loadPlugins } from '../../config/plugins.js';
import { keyLabel, kindOfGpus, valueLabel, valuesLabel } from '../../report/quantity.js';
import { capital, listed } from '../../text/words.js';
import { type Lattice, latticeOf, type Over } from './over.js';
import { type Candidate, closestOf, type Tried } from './plan-result.js';
import type { Asked } from './prober.js';
import { type Preference, type SearchResult, search } from './search.js';
import { type SearchSpace, wantedText } from './space.js';

/** Superlative of an answer: `fewest GPUs`, `highest workload.rate`. */
interface Goal {
  readonly prefer: Preference;
  readonly superlative: string;
}

/** Keys whose meaning says which value is cheaper or more demanding. */
const KNOWN: readonly (readonly [RegExp, Preference, string])[] = [
  [/^cluster\.(?:gpus|pages)$/, 'low', 'fewest'],
  [/^cluster\.memory$/, 'low', 'least'],
  [/^(?:workload\.(?:\d+\.)?)?slo$/, 'low', 'tightest'],
  [/^policy\.scheduleAhead$/, 'low', 'shortest'],
  [/^workload\.(?:\d+\.)?(?:rate|load|scale|speed|clients|concurrency)$/, 'high', 'highest'],
];

/** Goal for a key: the operator's preference, else the meaning of the key; null if neither decides. */
export function goalOf(key: string, prefer: Preference | null): Goal | null {
  const whole = kindOfGpus(key) === null ? key : 'cluster.gpus';
  const [, known, superlative] = KNOWN.find(([pattern]) => pattern.test(whole)) ?? [];
  if (known !== undefined && (prefer ?? known) === known) return { prefer: known, superlative: superlative! };
  return prefer === null ? null : goalToward(prefer);
}

function goalToward(prefer: Preference): Goal {
  return { prefer, superlative: prefer === 'low' ? 'lowest' : 'highest' };
}

/** True if a value is the lowest that a key can have: a range that ends there does not bind. */
function isLeast(key: string, value: string): boolean {
  return value === '1' && /^cluster\.(?:gpus|pages)$|\.(?:clients|concurrency)$/.test(key);
}

/** The values of one key. Throws `E_USAGE` if it is not a number; for an unknown one, the loader's error is more helpful. */
export async function keySpace(asked: Asked, prefer: Preference | null): Promise<SearchSpace> {
  const { source, overrides } = asked;
  const [over, ...others] = asked.overs as [Over, ...Over[]];
  const { key } = over;
  if (others.length > 0)
    throw usageError(
      '--over: plans of one key take one range; ranges of several kinds of GPUs go with --minimize cost',
    );
  const plugins = await loadPlugins(source, overrides, ON_DISK);
  const kind = numberKind(applyOverrides(source, overrides, [], plugins).tree, key, plugins);
  if (kind === 'none')
    throw usageError(`--over ${key}: holds no number; to compare names use escapement sweep --vary`);
  if (kind === 'list') throw usageError(`--over ${key}: a list: name an entry, as cluster.gpus.KIND does`);
  const lattice = latticeOf(over, kind === 'integer');
  const { size, resolution } = lattice;
  const candidate = (index: number): Candidate => {
    const value = lattice.text(index);
    return { value, name: nameOf(key, value), settings: [`${key}=${value}`] };
  };
  return {
    ...{ size, resolution, ends: [candidate(0), candidate(size - 1)] },
    find: async (prober, _reach, ends) => {
      const goal = goalOf(key, prefer);
      const judged = new Map<number, Tried>();
      const found = await search(size, goal?.prefer ?? null, async (index) => {
        const one = await prober.judge(candidate(index));
        judged.set(index, one);
        return one.meets === 'yes';
      });
      if (found.kind === 'undecided')
        throw usageError(
          `--over ${key}: ${lattice.text(found.example)} meets the target, and others may: ` +
            'add --prefer low or --prefer high to say which is better',
        );
      const tried = [...judged].sort(([a], [b]) => a - b).map(([, one]) => one);
      return {
        ...{ tried, outcome: found.kind, ruledOut: 0, spared: size - tried.length },
        answer: found.kind === 'none' ? null : judged.get(found.answer)!,
        before: found.kind === 'boundary' ? judged.get(found.before)! : null,
        headline: headlineOf(asked, found, lattice, goal, tried.length),
        notes: [...searchNotes(found, judged, asked), ...trafficNotes(key, ends)],
      };
    },
  };
}

/** Name of a value of a key: `62 GPUs`, `SLO 12.4 ms`. */
function nameOf(key: string, value: string): string {
  if (key !== 'cluster.gpus') return valuesLabel({ [key]: value });
  return value === '1' ? '1 GPU' : `${value} GPUs`;
}

type Found = Exclude<SearchResult, { readonly kind: 'undecided' }>;

/** The answer in words, which must not mistake an end of the range for one. */
function headlineOf(asked: Asked, found: Found, lattice: Lattice, goal: Goal | null, tried: number): string {
  const [{ key, from, to }] = asked.overs as [Over];
  const wanted = wantedText(asked);
  if (found.kind === 'none') {
    const none = tried === lattice.size ? 'No value' : `None of the ${tried} values tried`;
    return `${none} from ${from} to ${to} meets ${wanted}`;
  }
  const answer = lattice.text(found.answer);
  if (found.kind === 'whole' && !isLeast(key, answer)) {
    const end = found.answer === 0 ? 'lower' : 'upper';
    const verb = asked.targets.length > 1 ? 'hold' : 'holds';
    return `The range does not bound the answer: at its ${end} end, ${nameOf(key, answer)}, ${wanted} still ${verb}`;
  }
  const side = found.kind === 'boundary' && found.answer < found.before ? 'high' : 'low';
  const { superlative } = found.kind === 'whole' || goal?.prefer === side ? goal! : goalToward(side);
  return `${capital(superlative)} ${keyLabel(key)} with ${wanted}: ${valueLabel(answer)}`;
}

/** Caveats about the answer of a search. */
export function searchNotes(
  found: Found,
  judged: ReadonlyMap<number, Tried>,
  { targets }: Pick<Asked, 'targets'>,
): string[] {
  const contradictions = 'contradictions' in found ? found.contradictions : [];
  const names = contradictions.map((index) => judged.get(index)!.name);
  const unsure = [...judged.values()].filter(({ meets }) => meets === 'unsure');
  const better = found.kind === 'boundary' ? judged.get(found.before) : closestOf(unsure, targets);
  const ends = [judged.get(0)!, judged.get(Math.max(...judged.keys()))!];
  const unsureEnds = ends.filter((end) => unsure.includes(end)).map(({ name }) => name);
  const reason =
    unsureEnds.length === 0 ? 'both ends of the range miss' : `not sure at ${listed(unsureEnds)}`;
  return [
    ...(found.kind === 'boundary' && found.inside
      ? [`${reason}: the target holds only inside the range`]
      : []),
    ...(found.kind !== 'whole' && better?.meets === 'unsure' ? [unsureNote(better)] : []),
    ...(names.length === 0
      ? []
      : [
          `the boundary is not sharp: ${listed(names)} ${names.length === 1 ? 'contradicts' : 'contradict'} it`,
        ]),
  ];
}

/** Note on a candidate that may be the answer, or better than it. */
export function unsureNote({ name, isReplay }: Tried): string {
  return `the mean at ${name} meets, its interval does not${isReplay ? '' : ': more seeds may settle it'}`;
}

/** A load is a share of capacity: if that depends on the planned key, so does the traffic. */
export function trafficNotes(key: string, ends: readonly Experiment[]): string[] {
  const volumes = ends.map(({ workloads }) =>
    JSON.stringify(
      workloads.map((one) => ('rateRps' in one ? one.rateRps : 'scale' in one ? one.scale : null)),
    ),
  );
  if (/^workload\..*(rate|load|scale)$/i.test(key) || new Set(volumes).size < 2) return [];
  return [
    `load is a share of what the GPUs can serve, which depends on ${keyLabel(key)}: the traffic is another at every value; give workload.rate or scale to keep it`,
  ];
}
