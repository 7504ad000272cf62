import { CAUSE_LABELS, CAUSES } from '../record/causes.js';
import { type Dimension, figureOf } from '../record/figures.js';
import { offeredMs } from '../record/latency.js';
import type { ModelFigures, RequestFigures, RunParts } from '../record/results.js';
import { FURTHER_COUNTS } from '../record/schema-summary.js';
import { formatCount, formatSlo, round3 } from '../text/numbers.js';
import { countCell, msCell, percentCell, rateCell } from './cells.js';
import type { CellText, Column, Table } from './document.js';

/** Results of one part of a run's requests. */
export interface Part extends Pick<RequestFigures, 'attainment' | 'requests' | 'failures'> {
  readonly name: string;
  readonly figures: Readonly<Record<string, CellText>>;
}

/** A run's requests by one dimension. */
export interface Breakdown {
  /** `class`, `length of input`. */
  readonly dimension: string;
  /** For file names and headings. */
  readonly name: string;
  /** In the order of the run. */
  readonly parts: readonly Part[];
}

type PartOf<D extends Dimension> = NonNullable<RunParts[D]>[number];

/** Name of each part and further figures of it, by dimension. Models have a table of their own. */
const DESCRIBED: {
  readonly [D in Exclude<Dimension, 'model'>]: {
    readonly dimension: string;
    readonly name: string;
    nameOf(part: PartOf<D>): string;
    more?(part: PartOf<D>): Part['figures'];
    /** Figures of its requests; default: `requestCells`. */
    cells?(part: PartOf<D>): Part['figures'];
  };
} = {
  group: {
    ...{ dimension: 'group', name: 'groups', nameOf: ({ key }) => key },
    more: ({ sloMs }) => ({ SLO: { text: sloMs === null ? 'own' : formatSlo(sloMs) } }),
  },
  class: {
    ...{ dimension: 'class', name: 'classes', nameOf: ({ key, weight }) => `${key} × ${weight}` },
    more: ({ gpuShare, share }) => shares(gpuShare, share === 0 ? null : share),
  },
  tenant: {
    ...{ dimension: 'tenant', name: 'tenants', nameOf: ({ key }) => key },
    more: ({ gpuShare, share, failures }) => ({
      ...shares(gpuShare, share),
      ...(failures === undefined
        ? {}
        : {
            [CAUSE_LABELS.overRate]: countCell(failures.overRate),
            [CAUSE_LABELS.overShare]: countCell(failures.overShare),
          }),
    }),
  },
  length: {
    ...{ dimension: 'length of input', name: 'lengths' },
    nameOf: ({ key }) => `up to ${formatCount(Number(key))}`,
  },
  kind: {
    ...{ dimension: 'kind of GPU', name: 'kinds', nameOf: ({ key }) => key },
    // Requests that no GPU executed belong to no kind: shares and percentiles would flatter.
    cells: ({ goodputRps }) => ({ 'in time/s': rateCell(goodputRps) }),
    more: ({ gpus, gpuHours, infer, execUtilization, weightsUtilization }) => ({
      GPUs: countCell(gpus),
      ...(gpuHours === undefined ? {} : { 'GPU-hours': { text: String(round3(gpuHours)) } }),
      INFER: countCell(infer),
      'EXEC busy': percentCell(execUtilization),
      'WEIGHTS busy': percentCell(weightsUtilization),
    }),
  },
};

/** Breakdowns of requests, each by a dimension that they have; models apart. */
export function breakdownsOf(by: Omit<RunParts, 'model'>, ofRequests = requestCells): Breakdown[] {
  return (Object.keys(DESCRIBED) as Exclude<Dimension, 'model'>[]).flatMap((dimension) => {
    const parts: readonly PartOf<typeof dimension>[] = by[dimension] ?? [];
    // Each dimension describes its own parts, which the type of a union of them cannot say.
    const { nameOf, more, cells = ofRequests, ...named } = DESCRIBED[dimension] as (typeof DESCRIBED)['kind'];
    if (parts.length === 0) return [];
    return {
      ...named,
      parts: (parts as readonly PartOf<'kind'>[]).map((part) =>
        partOf(nameOf(part), part, { ...more?.(part), ...cells(part) }),
      ),
    };
  });
}

/** Models with their failures by cause; null if there are none. */
export function failingModels(models: readonly ModelFigures[]): Breakdown | null {
  const present = CAUSES.filter((cause) => models.some(({ failures }) => (failures?.[cause] ?? 0) > 0));
  const counts = FURTHER_COUNTS.filter((name) => models[0]?.[name] !== undefined);
  const parts = models.map((model) =>
    partOf(model.key, model, {
      requests: countCell(model.requests.offered),
      ...requestCells(model),
      ...Object.fromEntries(counts.map((name) => [figureOf(name)!.label, countCell(model[name])])),
      ...Object.fromEntries(
        present.map((cause) => [CAUSE_LABELS[cause], countCell(model.failures?.[cause])]),
      ),
    }),
  );
  return parts.length === 0 ? null : { dimension: 'model', name: 'failures', parts };
}

function partOf(
  name: string,
  { attainment, requests, failures }: RequestFigures,
  figures: Part['figures'],
): Part {
  return { name, attainment, requests, figures, ...(failures === undefined ? {} : { failures }) };
}

/** Part of the requests of a running server. */
interface LivePart extends RequestFigures {
  readonly key: string;
  /** Number of parts that it stands for; absent: one. */
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

/** Breakdowns of what a running server does, models included, the most active senders first. */
export function liveBreakdowns({ model, ...by }: LiveParts): Breakdown[] {
  const cells = (figures: RequestFigures) => ({
    ...requestCells(figures),
    [CAUSE_LABELS.refused]: countCell(figures.failures?.refused),
  });
  const models = mostActive(model).map((part) =>
    partOf(part.key, part, {
      copies: countCell(part.copies),
      queued: countCell(part.queued),
      ...cells(part),
      queue: msCell(part.queueMs),
      exec: msCell(part.execMs),
    }),
  );
  const senders = {
    ...(by.class && { class: mostActive(by.class) }),
    ...(by.tenant && { tenant: mostActive(by.tenant) }),
  };
  return [
    ...breakdownsOf({ ...by, ...senders }, cells),
    { dimension: 'model', name: 'models', parts: models },
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
  const columns: Column[] = [{ title: dimension }, ...titles.map((title) => ({ title, numeric: true }))];
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

/** Empty if a client measured. */
function shares(gpuShare: number | null | undefined, share: number | null): Part['figures'] {
  if (gpuShare === undefined) return {};
  return { 'GPU time': percentCell(gpuShare), ...(share === null ? {} : { share: percentCell(share) }) };
}
