import { CAUSE_LABELS, CAUSES } from '../record/causes.js';
import { DIMENSIONS, type Dimension } from '../record/dimensions.js';
import { figureOf } from '../record/figures.js';
import { offeredMs } from '../record/latency.js';
import type { ModelFigures, RequestFigures, RunParts } from '../record/results.js';
import { FURTHER_COUNTS } from '../record/schema-summary.js';
import { formatCount, formatSlo, round3 } from '../text/numbers.js';
import {
  type CellText,
  type Column,
  countCell,
  msCell,
  percentCell,
  rateCell,
  type Table,
} from './document.js';

/** Results of one part of a run's requests. */
interface Part {
  readonly name: string;
  readonly figures: Readonly<Record<string, CellText>>;
}

/** A run's requests by one dimension. */
export interface Breakdown {
  readonly dimension: Dimension;
  /** In the order of the run. */
  readonly parts: readonly Part[];
}

/** A part of any dimension, with the figures that only its dimension has. */
type AnyPart = RequestFigures & { readonly key: string } & Partial<
    Omit<Parts<'group'> & Parts<'class'> & Parts<'step'> & Parts<'kind'>, keyof RequestFigures | 'key'>
  >;
type Parts<D extends Dimension> = NonNullable<RunParts[D]>[number];

/** Breakdowns of a run's requests, one per dimension; of models only those that were variants. */
export function breakdownsOf(by: Partial<RunParts>, ofRequests = requestCells): Breakdown[] {
  const variants = by.model?.filter(({ accuracy }) => accuracy !== undefined);
  return (Object.keys(DIMENSIONS) as Dimension[]).flatMap((dimension) => {
    const parts: readonly AnyPart[] = (dimension === 'model' ? variants : by[dimension]) ?? [];
    if (parts.length === 0) return [];
    // Requests that no GPU executed have no kind, so shares and percentiles by kind would look too good.
    const cells =
      dimension === 'kind'
        ? ({ goodputRps }: AnyPart) => ({ 'in time/s': rateCell(goodputRps) })
        : ofRequests;
    return {
      dimension,
      parts: parts.map((part) => ({
        name: nameOf(dimension, part),
        figures: { ...ownCells(part), ...cells(part) },
      })),
    };
  });
}

function nameOf(dimension: Dimension, { key, weight }: AnyPart): string {
  if (dimension === 'length') return `up to ${formatCount(Number(key))}`;
  return weight === undefined ? key : `${key} × ${weight}`;
}

/** Figures that only some dimensions have, by title. */
function ownCells(part: AnyPart): Part['figures'] {
  const { accuracy, accurateAttainment, failedHere } = part;
  const { sloMs, gpuShare, share, failures, gpus, gpuHours, infer, execUtilization, weightsUtilization } =
    part;
  const cells: Record<string, CellText | false> = {
    SLO: sloMs !== undefined && { text: sloMs === null ? 'own' : formatSlo(sloMs) },
    accuracy: accuracy !== undefined && percentCell(accuracy),
    [figureOf('accurateAttainment')!.label]:
      accurateAttainment !== undefined && percentCell(accurateAttainment),
    'failed here': failedHere !== undefined && countCell(failedHere),
    'GPU time': share !== undefined && gpuShare !== undefined && percentCell(gpuShare),
    share: share !== undefined && share > 0 && gpuShare !== undefined && percentCell(share),
    [CAUSE_LABELS.overRate]: failures !== undefined && failures.overRate > 0 && countCell(failures.overRate),
    [CAUSE_LABELS.overShare]:
      failures !== undefined && failures.overShare > 0 && countCell(failures.overShare),
    GPUs: gpus !== undefined && countCell(gpus),
    'GPU-hours': gpuHours !== undefined && { text: String(round3(gpuHours)) },
    INFER: infer !== undefined && countCell(infer),
    'EXEC busy': execUtilization !== undefined && percentCell(execUtilization),
    'WEIGHTS busy': weightsUtilization !== undefined && percentCell(weightsUtilization),
  };
  return Object.fromEntries(
    Object.entries(cells).filter((cell): cell is [string, CellText] => cell[1] !== false),
  );
}

/** Models with their failures by cause; null if there are none. */
export function failingModels(models: readonly ModelFigures[]): Breakdown | null {
  const present = CAUSES.filter((cause) => models.some(({ failures }) => (failures?.[cause] ?? 0) > 0));
  const counts = FURTHER_COUNTS.filter((name) => models[0]?.[name] !== undefined);
  const parts = models.map((model) => ({
    name: model.key,
    figures: {
      requests: countCell(model.requests.offered),
      ...requestCells(model),
      ...Object.fromEntries(counts.map((name) => [figureOf(name)!.label, countCell(model[name])])),
      ...Object.fromEntries(
        present.map((cause) => [CAUSE_LABELS[cause], countCell(model.failures?.[cause])]),
      ),
    },
  }));
  return parts.length === 0 ? null : { dimension: 'model', parts };
}

/** Part of the requests of a running server. */
interface LivePart extends RequestFigures {
  readonly key: string;
  /** Number of parts merged into it; absent: one. */
  readonly others?: number;
}

interface LiveParts extends Omit<RunParts, 'model'> {
  readonly model: readonly (LivePart & {
    readonly copies: number;
    readonly queued: number;
    readonly queueMs: number | null;
    readonly execMs: number | null;
  })[];
}

/** Breakdowns of a running server's requests, models included, the most active senders first. */
export function liveBreakdowns({ model, ...by }: LiveParts): Breakdown[] {
  const cells = (figures: RequestFigures) => ({
    ...requestCells(figures),
    [CAUSE_LABELS.refused]: countCell(figures.failures?.refused),
  });
  const models = mostActive(model).map((part) => ({
    name: part.key,
    figures: {
      copies: countCell(part.copies),
      queued: countCell(part.queued),
      ...cells(part),
      queue: msCell(part.queueMs),
      exec: msCell(part.execMs),
    },
  }));
  const senders = {
    ...(by.class && { class: mostActive(by.class) }),
    ...(by.tenant && { tenant: mostActive(by.tenant) }),
  };
  return [
    ...breakdownsOf({ ...by, ...senders }, cells),
    { dimension: 'model' as const, parts: models },
  ].filter(({ parts }) => parts.length > 0);
}

function mostActive<T extends LivePart>(parts: readonly T[]): T[] {
  return parts
    .toSorted(
      (a, b) =>
        Number(a.others !== undefined) - Number(b.others !== undefined) ||
        (b.offeredRps ?? 0) - (a.offeredRps ?? 0),
    )
    .map((part) => ({
      ...part,
      key: part.others === undefined ? part.key : `${formatCount(part.others)} others`,
    }));
}

/** A breakdown as a table; figures that no part has are left out. */
export function breakdownTable({ dimension, parts }: Breakdown): Table {
  const byLength = parts.map(({ figures }) => Object.keys(figures)).sort((a, b) => b.length - a.length);
  const titles = [...new Set(byLength.flat())];
  const columns: Column[] = [
    { title: DIMENSIONS[dimension].label },
    ...titles.map((title) => ({ title, numeric: true })),
  ];
  const rows = parts.map(({ name, figures }) => [
    { text: name },
    ...titles.map((title) => figures[title] ?? { text: '–', sort: -1 }),
  ]);
  return { columns, rows, sortable: true };
}

/** Rates and latencies of requests, by title. */
function requestCells(figures: RequestFigures): Part['figures'] {
  const { offeredRps, goodputRps, attainment } = figures;
  return {
    'offered/s': rateCell(offeredRps),
    'in time/s': rateCell(goodputRps),
    attainment: percentCell(attainment),
    p50: msCell(offeredMs(figures, 'p50')),
    p95: msCell(offeredMs(figures, 'p95')),
    p99: msCell(offeredMs(figures, 'p99')),
  };
}
