import type { MeasuredSummary } from '../record/figures.js';
import type { RunParts } from '../record/results.js';
import { formatPercentCell } from '../text/numbers.js';
import { numberCell, rateCell } from './cells.js';
import type { Section } from './document.js';
import { meanOf, meanOfKnown } from './statistics.js';

/** Results of one class or tenant with one policy or fleet in one cell, mean over seeds. */
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

/** Figures of each class, or of each tenant, by policy or fleet: means over the cells that all of them finished. */
interface SenderFigures {
  readonly kind: SenderKind;
  /** With their weights, if equal in all cells. */
  readonly names: readonly string[];
  readonly figures: readonly SenderFigure[];
}

interface SenderFigure {
  readonly title: string;
  readonly unit: 'percent' | 'requests/s';
  /** In the order of the policies or fleets; by class or tenant; null: it offered nothing, or there is no span. */
  readonly values: readonly (readonly (number | null)[])[];
  /** Promised shares, by class or tenant, with their name; null if there are none, or if they vary between cells. */
  readonly promised: { readonly name: string; readonly values: readonly number[] } | null;
}

const FIGURES = {
  attainment: { title: 'Attainment', unit: 'percent' },
  goodputRps: { title: 'Goodput', unit: 'requests/s' },
  gpuShare: { title: 'GPU time', unit: 'percent' },
} as const;

/** More would not fit next to each other on a terminal. */
const MOST_SENDERS = 8;

/** Results of each class, then of each tenant: a table per figure with a row per policy or fleet. */
export function senderSections(
  all: readonly SenderFigures[],
  compared: 'policy' | 'fleet',
  rows: readonly string[],
): Section[] {
  return all.flatMap(({ kind, names, figures }) =>
    figures.map(({ title, unit, values, promised }) => {
      const line = (name: string, of: readonly (number | null)[]) => [
        { text: name },
        ...of.map(unit === 'percent' ? numberCell(formatPercentCell) : rateCell),
      ];
      const table = {
        columns: [
          { title: compared },
          ...names.map((name, i) => ({ title: name, numeric: true, pageOnly: i >= MOST_SENDERS })),
        ],
        rows: [
          ...rows.map((name, i) => line(name, values[i]!)),
          ...(promised === null ? [] : [line(`(${promised.name})`, promised.values)]),
        ],
      };
      const heading = `${title} by ${kind}, means in ${unit}`;
      return { title: heading, blocks: [{ text: heading, only: 'terminal' as const }, { table }] };
    }),
  );
}

/** Outcomes by class and by tenant. */
export type Senders = Readonly<Record<SenderKind, readonly SenderOutcome[]>>;

/** Results of policies or fleets in the same conditions, in their order; null if one has no finished run. */
interface ComparedCell {
  readonly results: readonly (Senders | null)[];
}

/** Means over the repetitions of one run. */
export function sendersOf(summaries: readonly MeasuredSummary[]): Senders {
  return { class: senderOutcomes(summaries, 'class'), tenant: senderOutcomes(summaries, 'tenant') };
}

/** Figures of classes, then of tenants; each only if all runs have the same ones. */
export function senderFigures(cells: readonly ComparedCell[]): SenderFigures[] {
  return (['class', 'tenant'] as const).flatMap((kind) => figuresOf(cells, kind) ?? []);
}

function figuresOf(cells: readonly ComparedCell[], kind: SenderKind): SenderFigures | null {
  const complete = cells.filter(({ results }) => results.every((result) => result !== null));
  const all = complete.flatMap(({ results }) => results.map((result) => result?.[kind] ?? []));
  const [senders = []] = all;
  if (senders.length === 0 || !sameIn(all, ({ name }) => name)) return null;
  const isWeighted = kind === 'class' && sameIn(all, ({ weight }) => weight);
  const isPromised = sameIn(all, ({ share }) => share) && senders.some(({ share }) => (share ?? 0) > 0);
  const promised = {
    name: kind === 'class' ? 'guaranteed' : 'share under overload',
    values: senders.map(({ share }) => share ?? 0),
  };
  const figure = (name: keyof typeof FIGURES): SenderFigure => ({
    ...FIGURES[name],
    values: complete[0]!.results.map((_, policy) =>
      senders.map((__, i) => meanOfKnown(complete.map(({ results }) => results[policy]![kind][i]![name]))),
    ),
    promised: name === 'gpuShare' && isPromised ? promised : null,
  });
  const seesGpus = all.every((list) => list.every(({ gpuShare }) => gpuShare !== null));
  return {
    kind,
    names: senders.map(({ name, weight }) => (isWeighted ? `${name} × ${weight}` : name)),
    figures: [
      figure('attainment'),
      figure('goodputRps'),
      ...(seesGpus && senders.length > 1 ? [figure('gpuShare')] : []),
    ],
  };
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
