import type { ClassStatus, ClusterStatus, TenantStatus } from '../../live/observe/status/cluster-status.js';
import { formatPercent, formatRate } from '../../text/numbers.js';

/** Contents of one table of the page. */
interface SenderTable {
  readonly caption: string;
  readonly head: readonly string[];
  /** Name first; the most active ones, in descending order of activity. */
  readonly rows: readonly (readonly string[])[];
  /** Number of those left out. */
  readonly left: number;
  /** `classes` or `tenants`. */
  readonly kind: 'classes' | 'tenants';
}

const MOST = 20;

type Column<T> = readonly [name: string, text: (sender: T) => string];
type Sender = ClassStatus | TenantStatus;

const RATES: readonly Column<Sender>[] = [
  ['Offered', ({ offeredRps }) => perS(offeredRps)],
  ['Goodput', ({ goodputRps }) => perS(goodputRps)],
  ['In time', (sender) => shareOf(inTime(sender))],
];
const REFUSED: Column<Sender> = ['Refused, SLO', ({ refusedRps }) => perS(refusedRps)];
const GPU_TIME: Column<Sender> = ['GPU time', ({ usedShare }) => shareOf(usedShare)];

const OF_CLASSES: readonly Column<ClassStatus>[] = [
  ['Class', ({ name }) => name],
  ['Weight', ({ weight }) => String(weight)],
  ...RATES,
  REFUSED,
  ['Guaranteed', ({ share }) => shareOf(share === 0 ? null : share)],
  GPU_TIME,
];
const OF_TENANTS: readonly Column<TenantStatus>[] = [
  ['Tenant', ({ name }) => name],
  ...RATES,
  ['Refused, rate', ({ overRateRps }) => perS(overRateRps)],
  ['Refused, share', ({ overShareRps }) => perS(overShareRps)],
  REFUSED,
  ['Share', ({ share }) => shareOf(share)],
  GPU_TIME,
];

/** Tables of classes and of tenants, for those that the server has. */
export function senderTables({ classes = [], tenants = [] }: ClusterStatus): SenderTable[] {
  return [
    ...tableOf('classes', 'Classes', classes, OF_CLASSES),
    ...tableOf('tenants', 'Tenants', tenants, OF_TENANTS),
  ];
}

function tableOf<T extends Sender>(
  kind: SenderTable['kind'],
  title: string,
  senders: readonly T[],
  columns: readonly Column<T>[],
): SenderTable[] {
  if (senders.length === 0) return [];
  const shown = senders.toSorted((a, b) => b.offeredRps - a.offeredRps).slice(0, MOST);
  return [
    {
      kind,
      caption: `${title}, the most active first`,
      head: columns.map(([name]) => name),
      rows: shown.map((sender) => columns.map(([, text]) => text(sender))),
      left: senders.length - shown.length,
    },
  ];
}

/** Share answered in time; null: nothing was answered. */
function inTime({ goodputRps, failedRps }: Sender): number | null {
  const all = goodputRps + failedRps;
  return all === 0 ? null : goodputRps / all;
}

function perS(rps: number): string {
  return `${formatRate(rps)}/s`;
}

function shareOf(share: number | null): string {
  return share === null ? '–' : formatPercent(share);
}
