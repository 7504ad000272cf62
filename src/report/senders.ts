import type { MeasuredSummary } from '../record/figures.js';
import type { RunParts } from '../record/results.js';
import { percentCell, rateCell, type Section } from './document.js';
import { meanOf, meanOfKnown } from './statistics.js';

/** Results of one class or tenant with one policy in one cell, mean over seeds. */
interface SenderOutcome {
  readonly name: string;
  /** Promised part of GPU time: of a class always (0: none), of a tenant under overload. */
  readonly share: number;
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

/**
 * Results of each class, then of each tenant, if all runs have the same ones: a table with a row per sender and policy,
 * the means over the cells that all policies finished.
 */
export function senderSections(policies: readonly string[], cells: readonly ComparedCell[]): Section[] {
  const complete = cells.filter(({ results }) => results.every((result) => result !== null));
  return (['class', 'tenant'] as const).flatMap((kind) => {
    const all = complete.flatMap(({ results }) => results.map((result) => result![kind]));
    const [senders = []] = all;
    const names = new Set(all.map((list) => JSON.stringify(list.map(({ name }) => name))));
    if (senders.length === 0 || names.size > 1) return [];
    const rows = senders.flatMap(({ name }, i) =>
      policies.map((policy, row) => {
        const mean = (read: (sender: SenderOutcome) => number | null) =>
          meanOfKnown(complete.map(({ results }) => read(results[row]![kind][i]!)));
        return [
          { text: name },
          { text: policy },
          percentCell(mean(({ attainment }) => attainment)),
          rateCell(mean(({ goodputRps }) => goodputRps)),
          percentCell(mean(({ gpuShare }) => gpuShare)),
          percentCell(mean(({ share }) => share)),
        ];
      }),
    );
    const figures = ['attainment', 'in time/s', 'GPU time', PROMISED[kind]];
    const columns = [
      ...[{ title: kind }, { title: 'policy' }],
      ...figures.map((title) => ({ title, numeric: true })),
    ];
    return { title: `By ${kind}, means over cells`, blocks: [{ table: { columns, rows, sortable: true } }] };
  });
}

const PROMISED = { class: 'guaranteed', tenant: 'share under overload' };

/** Means over the repetitions of one run. */
export function sendersOf(summaries: readonly MeasuredSummary[]): Senders {
  return { class: senderOutcomes(summaries, 'class'), tenant: senderOutcomes(summaries, 'tenant') };
}

/** Empty if there are no classes, or no tenants. */
function senderOutcomes(summaries: readonly MeasuredSummary[], kind: SenderKind): SenderOutcome[] {
  const lists = summaries.map(({ by }): NonNullable<RunParts['tenant']> => by[kind] ?? []);
  return (lists[0] ?? []).map((sender, i) => {
    const all = lists.flatMap((list) => list[i] ?? []);
    const gpuShares = all.flatMap(({ gpuShare }) => gpuShare ?? []);
    return {
      name: sender.key,
      share: sender.share,
      goodputRps: meanOfKnown(all.map(({ goodputRps }) => goodputRps)),
      attainment: meanOfKnown(all.map(({ attainment }) => attainment)),
      gpuShare: gpuShares.length < all.length ? null : meanOf(gpuShares),
    };
  });
}
