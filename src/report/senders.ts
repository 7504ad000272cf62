import type { MeasuredSummary } from '../record/figures.js';
import type { RunParts } from '../record/results.js';
import { formatPercentCell } from '../text/numbers.js';
import { numberCell, rateCell } from './cells.js';
import type { Section } from './document.js';
import { meanOf, meanOfKnown } from './statistics.js';

/** Results of one class or tenant with one policy in one cell, mean over seeds. */
interface SenderOutcome {
  readonly name: string;
  /** Weight of a request; absent for a tenant. */
  readonly weight?: number;
  /** Promised part of GPU time: of a class always (0: none), of a tenant under overload; null if not known. */
  readonly share: number | null;
  /** Null: the runs have no span. */
  readonly goodputRps: number | null;
  /** Over the seeds with which it offered requests; null if there are none. */
  readonly attainment: number | null;
  /** Actual part of GPU time; null if not known. */
  readonly gpuShare: number | null;
}

type SenderKind = 'class' | 'tenant';

/** Outcomes by class and by tenant. */
export type Senders = Readonly<Record<SenderKind, readonly SenderOutcome[]>>;

/** Results of policies in the same conditions, in their order; null if one has no finished run. */
interface ComparedCell {
  readonly results: readonly (Senders | null)[];
}

const FIGURES = [
  { name: 'attainment', title: 'Attainment', unit: 'percent' },
  { name: 'goodputRps', title: 'Goodput', unit: 'requests/s' },
  { name: 'gpuShare', title: 'GPU time', unit: 'percent' },
] as const;
const PROMISED = { class: '(guaranteed)', tenant: '(share under overload)' };

/** More would not fit next to each other on a terminal. */
const MOST_SENDERS = 8;

/**
 * Results of each class, then of each tenant, if all runs have the same ones: a table per figure with a row per policy,
 * the means over the cells that all of them finished.
 */
export function senderSections(rows: readonly string[], cells: readonly ComparedCell[]): Section[] {
  const complete = cells.filter(({ results }) => results.every((result) => result !== null));
  return (['class', 'tenant'] as const).flatMap((kind) => {
    const all = complete.flatMap(({ results }) => results.map((result) => result![kind]));
    const [senders = []] = all;
    if (senders.length === 0 || !sameIn(all, ({ name }) => name)) return [];
    const isWeighted = kind === 'class' && sameIn(all, ({ weight }) => weight);
    const isPromised = sameIn(all, ({ share }) => share) && senders.some(({ share }) => (share ?? 0) > 0);
    const seesGpus = senders.length > 1 && all.flat().every(({ gpuShare }) => gpuShare !== null);
    const titles = senders.map(({ name, weight }) => (isWeighted ? `${name} × ${weight}` : name));
    return FIGURES.filter(({ name }) => name !== 'gpuShare' || seesGpus).map(({ name, title, unit }) => {
      const cell = unit === 'percent' ? numberCell(formatPercentCell) : rateCell;
      const meansOf = (row: number) =>
        senders.map((_, i) =>
          cell(meanOfKnown(complete.map(({ results }) => results[row]![kind][i]![name]))),
        );
      const promised = [{ text: PROMISED[kind] }, ...senders.map(({ share }) => cell(share ?? 0))];
      const heading = `${title} by ${kind}, means in ${unit}`;
      const table = {
        columns: [
          { title: 'policy' },
          ...titles.map((each, i) => ({ title: each, numeric: true, pageOnly: i >= MOST_SENDERS })),
        ],
        rows: [
          ...rows.map((text, row) => [{ text }, ...meansOf(row)]),
          ...(name === 'gpuShare' && isPromised ? [promised] : []),
        ],
      };
      return { title: heading, blocks: [{ text: heading, only: 'terminal' as const }, { table }] };
    });
  });
}

/** Means over the repetitions of one run. */
export function sendersOf(summaries: readonly MeasuredSummary[]): Senders {
  return { class: senderOutcomes(summaries, 'class'), tenant: senderOutcomes(summaries, 'tenant') };
}

/** A class, which has a weight, or a tenant. */
type SenderPart = NonNullable<RunParts['tenant']>[number] & { readonly weight?: number };

/** Empty if there are no classes, or no tenants. */
function senderOutcomes(summaries: readonly MeasuredSummary[], kind: SenderKind): SenderOutcome[] {
  const lists = summaries.map(({ by }): readonly SenderPart[] => by[kind] ?? []);
  return (lists[0] ?? []).map((sender, i) => {
    const all = lists.flatMap((list) => list[i] ?? []);
    const gpuShares = all.flatMap(({ gpuShare }) => gpuShare ?? []);
    return {
      name: sender.key,
      ...(sender.weight === undefined ? {} : { weight: sender.weight }),
      share: sender.share,
      goodputRps: meanOfKnown(all.map(({ goodputRps }) => goodputRps)),
      attainment: meanOfKnown(all.map(({ attainment }) => attainment)),
      gpuShare: gpuShares.length < all.length ? null : meanOf(gpuShares),
    };
  });
}

function sameIn(all: readonly (readonly SenderOutcome[])[], read: (sender: SenderOutcome) => unknown) {
  const texts = new Set(all.map((list) => JSON.stringify(list.map(read))));
  return texts.size === 1;
}
