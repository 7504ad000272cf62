import { table } from '../markdown.js';
import { isDisturbed, type TrialRow } from './trial.js';

/** A row and the aims that it missed; null: it gave no result. */
export interface JudgedRow {
  readonly attack: string;
  readonly row: TrialRow | null;
  readonly missed: readonly string[];
}

const MB = 1e6;
const HEADER = ['attack', 'server', 'quiet p99', 'p99', 'failures', 'memory before, worst, after', 'misses'];
/** The paragraph and the table that `renewPage` writes. */
const SECTION = /^[\d,]+ of the [\d,]+ rows reach every aim\.[\s\S]*?\n\n(?:\|[^\n]*\n)+/m;

/** The text of a page with what these rows say in place of what it said of others. Throws if it says nothing of that kind. */
export function renewPage(text: string, rows: readonly JudgedRow[]): string {
  if (!SECTION.test(text)) throw new Error('the page has no "… of the … rows reach every aim." with a table');
  return text.replace(SECTION, () => section(rows));
}

function section(rows: readonly JudgedRow[]): string {
  const missing = rows.filter(({ missed }) => missed.length > 0);
  const failing = missing.filter(({ missed }) => missed.includes('failures'));
  const measured = rows.flatMap(({ row }) => (row === null ? [] : [row]));
  const quiet = measured.map((row) => row.quiet.p99Ms);
  const died = measured.filter(({ alive }) => !alive).length;
  const sentences = [
    `${rows.length - missing.length} of the ${rows.length} rows reach every aim.`,
    died === 0 ? 'No process ended.' : `In ${died} of them a process ended.`,
    `The quiet p99 was ${ms(Math.min(...quiet))} to ${ms(Math.max(...quiet))}.`,
    `${measured.filter(isDisturbed).length} rows were disturbed.`,
    `Requests of the client failed in ${failing.length} of the ${missing.length} rows that miss an aim:`,
  ];
  return `${wrapped(sentences.join(' '))}\n\n${table(HEADER, [...missing].sort(worstFirst).map(cells))}`;
}

/** Most failures first, then the longest p99. */
function worstFirst({ row: a }: JudgedRow, { row: b }: JudgedRow): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  return b.victim.failures - a.victim.failures || b.victim.p99Ms - a.victim.p99Ms;
}

function cells({ attack, row, missed }: JudgedRow): string[] {
  if (row === null) return [attack, '', '', '', '', '', missed.join(', ')];
  const { quiet, victim, rssBytes, setting } = row;
  const memory = [rssBytes.before, rssBytes.worst, rssBytes.after].map((bytes) => Math.round(bytes / MB));
  return [
    isDisturbed(row) ? `${attack} (disturbed)` : attack,
    setting,
    ms(quiet.p99Ms),
    ms(victim.p99Ms),
    victim.failures === 0 ? '0' : `${victim.failures} of ${victim.requests.toLocaleString('en-US')}`,
    `${memory.join(', ')} MB`,
    missed.join(', '),
  ];
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

/** At most as wide as the rest of a page. */
function wrapped(text: string): string {
  return text.replace(/(.{1,128})(?: |$)/g, '$1\n').trimEnd();
}
