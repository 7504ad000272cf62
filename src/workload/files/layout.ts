import { EscapementError } from '../../base/errors.js';

/** What a trace file's header says: its kind and where its columns are. */
export type Layout = ArrivalsLayout | Azure2019Layout | Azure2021Layout | AzureLlmLayout;

export type LayoutOf<K extends Layout['kind']> = Extract<Layout, { kind: K }>;

interface ArrivalsLayout {
  readonly kind: 'arrivals';
  /** Whether a last column tells the length of each input. */
  readonly lengths: boolean;
}

export interface Azure2019Layout {
  readonly kind: 'azure-2019';
  /** Column of the first minute, the number of minutes, and what the file calls the first. */
  readonly column: number;
  readonly minutes: number;
  readonly firstMinute: number;
}

export interface Azure2021Layout {
  readonly kind: 'azure-2021';
  readonly app: number;
  readonly func: number;
  readonly end: number;
  readonly duration: number;
}

export interface AzureLlmLayout {
  readonly kind: 'azure-llm';
  readonly timestamp: number;
}

export const ARRIVALS_HEADER = ['arrival_ns', 'model_id', 'slo_ns'] as const;
/** The column that may follow. */
export const LENGTH_COLUMN = 'length';

const KNOWN: Readonly<Record<Layout['kind'], string>> = {
  arrivals: `${ARRIVALS_HEADER.join(',')}[,${LENGTH_COLUMN}]`,
  'azure-2019': 'HashOwner,HashApp,HashFunction,Trigger,1..1440',
  'azure-2021': 'app,func,end_timestamp,duration',
  'azure-llm': 'TIMESTAMP,ContextTokens,GeneratedTokens',
};

/** Recognises a trace by its header; throws `E_TRACE_HEADER` that names the known ones. */
export function detectLayout(header: readonly string[], file: string): Layout {
  const layout =
    arrivalsLayout(header) ?? azure2019Layout(header, file) ?? azure2021Layout(header) ?? llmLayout(header);
  if (layout !== null) return layout;
  throw new EscapementError(
    'E_TRACE_HEADER',
    `unknown header "${shown(header)}"; known are ${knownHeaders()}`,
    {
      file,
      line: 1,
    },
  );
}

/** The same where the experiment says which kind it must be. */
export function requireLayout<K extends Layout['kind']>(
  kind: K,
  header: readonly string[],
  file: string,
): LayoutOf<K> {
  const layout = detectLayout(header, file);
  if (layout.kind !== kind) {
    const what = `is a trace of kind ${layout.kind}, but ${kind} was asked for (header ${KNOWN[kind]})`;
    throw new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
  }
  return layout as LayoutOf<K>;
}

/** For a file without a single line. */
export function emptyTrace(file: string): EscapementError {
  return new EscapementError('E_TRACE_HEADER', `is empty; known headers are ${knownHeaders()}`, { file });
}

/** For a file with nothing after its header. */
export function noRows(file: string): EscapementError {
  return new EscapementError('E_TRACE_VALUE', 'has a header and no rows', { file });
}

function knownHeaders(): string {
  return Object.entries(KNOWN)
    .map(([kind, header]) => `${header} (${kind})`)
    .join(', ');
}

function shown(header: readonly string[]): string {
  const text = header.slice(0, 6).join(',');
  return header.length > 6 || text.length > 120 ? `${text.slice(0, 120)},…` : text;
}

function arrivalsLayout(header: readonly string[]): ArrivalsLayout | null {
  const lengths = header.length === ARRIVALS_HEADER.length + 1 && header.at(-1) === LENGTH_COLUMN;
  const columns = header.length - (lengths ? 1 : 0);
  const same = columns === ARRIVALS_HEADER.length && ARRIVALS_HEADER.every((name, i) => name === header[i]);
  return same ? { kind: 'arrivals', lengths } : null;
}

function azure2019Layout(header: readonly string[], file: string): Azure2019Layout | null {
  if (!header.includes('HashFunction')) return null;
  const minuteOf = header.map(minuteNumber);
  const column = minuteOf.findIndex((minute) => minute !== null);
  if (column < 0) return null;
  const labels = minuteOf.slice(column);
  for (let i = 0; i < labels.length; i++) {
    if (labels[i] === labels[0]! + i) continue;
    const what = `the minutes must be the last columns and ascend one by one; found "${header[column + i]}" after "${header[column + i - 1]}"`;
    throw new EscapementError('E_TRACE_HEADER', what, { file, line: 1 });
  }
  return { kind: 'azure-2019', column, minutes: labels.length, firstMinute: labels[0]! };
}

/** `17`, `minute_17` and `17_minute` are all in use. */
function minuteNumber(name: string): number | null {
  const match = /^(?:minute_(\d+)|(\d+)_minute|(\d+))$/.exec(name);
  return match === null ? null : Number(match[1] ?? match[2] ?? match[3]);
}

function azure2021Layout(header: readonly string[]): Azure2021Layout | null {
  const [app, func, end, duration] = KNOWN['azure-2021'].split(',').map((name) => header.indexOf(name));
  return Math.min(app, func, end, duration) < 0 ? null : { kind: 'azure-2021', app, func, end, duration };
}

function llmLayout(header: readonly string[]): AzureLlmLayout | null {
  const timestamp = header.indexOf('TIMESTAMP');
  return timestamp < 0 ? null : { kind: 'azure-llm', timestamp };
}
