import type { ClassStatus, ClusterStatus, TenantStatus } from '../../live/observe/status/cluster-status.js';
import { padEnd, padStart, widthOf } from './cells.js';
import { attainment, NOTHING, percent, rate } from './figures.js';
import { fillLine, type Line, type Style, span } from './line.js';

type Sender = ClassStatus & Partial<TenantStatus>;

interface Column {
  readonly label: string;
  readonly text: (sender: Sender) => string;
  /** Requests that failed: worth a color if there are some. */
  readonly isBad?: boolean;
}

const WIDTH = 7;
const MOST_NAME_COLUMNS = 24;

const COLUMNS: readonly Column[] = [
  { label: 'ARR/S', text: ({ offeredRps }) => rate(offeredRps) },
  { label: 'GOOD/S', text: ({ goodputRps }) => rate(goodputRps) },
  { label: 'SLO%', text: (sender) => shareText(attainment(sender)) },
  { label: 'SHARE%', text: ({ share }) => shareText(share) },
  { label: 'USED%', text: ({ usedShare }) => shareText(usedShare) },
  { label: '>RATE/S', text: ({ overRateRps = 0 }) => rate(overRateRps), isBad: true },
  { label: '>SHR/S', text: ({ overShareRps = 0 }) => rate(overShareRps), isBad: true },
  { label: 'REF/S', text: ({ refusedRps }) => rate(refusedRps), isBad: true },
];
const OF_TENANTS = new Set(['>RATE/S', '>SHR/S']);

/** Classes and tenants as rows, where the server has some, the most active first; in at most `rows` lines each, at least two. */
export function senderLines(
  { classes = [], tenants = [] }: ClusterStatus,
  columns: number,
  rows: number,
): Line[] {
  const ofClasses = COLUMNS.filter(({ label }) => !OF_TENANTS.has(label));
  return [
    ...table('CLASS', classes, ofClasses, columns, rows),
    ...table('TENANT', tenants as readonly Sender[], COLUMNS, columns, rows),
  ];
}

function table(
  title: string,
  senders: readonly Sender[],
  chosen: readonly Column[],
  columns: number,
  rows: number,
): Line[] {
  if (senders.length === 0) return [];
  const most = Math.max(1, rows - 1);
  const active = senders.toSorted((a, b) => b.offeredRps - a.offeredRps).slice(0, most);
  const others = senders.length - active.length;
  const label = others === 0 ? title : `${title}, ${others} more`;
  const longest = active.reduce((width, { name }) => Math.max(width, widthOf(name)), label.length);
  const nameColumns = Math.min(longest, MOST_NAME_COLUMNS);
  // Those that do not fit are left out, the last ones first.
  const fitting = Math.max(1, Math.floor((columns - nameColumns - 1) / (WIDTH + 1)));
  const shown = chosen.slice(0, fitting);
  const heading = [` ${padEnd(label, nameColumns)}`, ...shown.map((each) => padStart(each.label, WIDTH + 1))];
  return [
    fillLine([span(heading.join(''), 'heading')], columns, 'heading'),
    ...active.map((sender) => row(sender, nameColumns, shown)),
  ];
}

function row(sender: Sender, nameColumns: number, shown: readonly Column[]): Line {
  const isIdle = sender.offeredRps === 0;
  const style = (text: string, { isBad = false }: Column): Style => {
    if (isIdle || text === '0') return 'dim';
    return isBad ? 'bad' : 'plain';
  };
  return [
    span(` ${padEnd(sender.name, nameColumns)}`, isIdle ? 'dim' : 'bold'),
    ...shown.map((column) => {
      const text = column.text(sender);
      return span(padStart(text, WIDTH + 1), style(text, column));
    }),
  ];
}

function shareText(share: number | null): string {
  return share === null ? NOTHING : percent(share);
}
