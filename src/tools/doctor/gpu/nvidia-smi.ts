import { MIB } from '../../../base/units.js';
import { runChild } from '../child.js';

/** Runs nvidia-smi with these arguments; never rejects. */
export type Run = (args: readonly string[]) => Promise<RunOutcome>;

export type RunOutcome =
  | { readonly kind: 'ok'; readonly stdout: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'timed-out'; readonly limitMs: number }
  /** `status` is null if a signal ended it or it could not be started; `message` is its first output. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly message: string };

/** A working driver needs milliseconds, or a second or two to wake a GPU without persistence mode. */
const NVIDIA_SMI_LIMIT_MS = 5_000;
/** Exit status of a query whose answer is complete although some board's infoROM is corrupt (manual of nvidia-smi). */
const CORRUPT_INFOROM = 14;
const LONGEST_LINE = 160;

/** The real nvidia-smi. */
export function nvidiaSmi({ command = 'nvidia-smi', limitMs = NVIDIA_SMI_LIMIT_MS } = {}): Run {
  return async (args) => {
    const outcome = await runChild(command, args, limitMs);
    if (outcome.kind === 'unfit') return { kind: 'failed', status: null, message: outcome.message };
    if (outcome.kind !== 'ended') return outcome;
    const { status, stdout, stderr } = outcome;
    if (status === 0 || status === CORRUPT_INFOROM) return { kind: 'ok', stdout };
    // It prints most errors to stdout.
    return { kind: 'failed', status, message: firstLine(stderr) || firstLine(stdout) };
  };
}

/** First non-blank line, made presentable: no control characters, limited length. */
export function firstLine(text: string): string {
  const line = text.split(/[\r\n]+/).find((one) => one.trim() !== '') ?? '';
  const shown = line.replace(/\p{C}/gu, '?').trim();
  return shown.length > LONGEST_LINE ? `${shown.slice(0, LONGEST_LINE)}…` : shown;
}

/** Fields queried for each GPU. Drivers from 535 on know all of them; CUDA 12 needs 525. */
const FIELDS = {
  index: 'index',
  uuid: 'uuid',
  name: 'name',
  driver: 'driver_version',
  persistence: 'persistence_mode',
  computeMode: 'compute_mode',
  mig: 'mig.mode.current',
  throttle: 'clocks_event_reasons.active',
  graphicsMhz: 'clocks.current.graphics',
  maxGraphicsMhz: 'clocks.max.graphics',
  applicationsGraphicsMhz: 'clocks.applications.graphics',
  utilizationPercent: 'utilization.gpu',
  memoryTotalMib: 'memory.total',
  memoryFreeMib: 'memory.free',
} as const;

type Field = keyof typeof FIELDS;
/** Output of nvidia-smi by field; absent if not queried. */
type Row = Readonly<Partial<Record<Field, string>>>;

/** [N/A], [Not Supported], [Unknown Error], [Insufficient Permissions], [Requested functionality …]. */
const NO_VALUE = /^(\[.*\]|N\/A|)$/s;

/** Value of a field; null if the GPU or driver has none. */
export function reported(row: Row, field: Field): string | null {
  const text = row[field];
  return text === undefined || NO_VALUE.test(text) ? null : text;
}

export function reportedNumber(row: Row, field: Field): number | null {
  const text = reported(row, field);
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

/** Why there is no value, in nvidia-smi's words. */
export function notReported(row: Row, field: Field): string {
  return `nvidia-smi says: ${firstLine((row[field] ?? '').replace(/^\[|\]$/g, ''))}`;
}

export interface GpuFacts {
  readonly row: Row;
  /** Its compute processes, as `PID NAME`; null if the driver did not report them. */
  readonly processes: readonly string[] | null;
}

export type Answer =
  | { readonly kind: 'gpus'; readonly gpus: readonly GpuFacts[] }
  /** Unexpected output; empty if there was none. */
  | { readonly kind: 'garbage'; readonly line: string }
  | Exclude<RunOutcome, { kind: 'ok' }>;

const CSV = '--format=csv,noheader,nounits';

/** Queries all facts about the machine's GPUs. */
export async function queryGpus(run: Run): Promise<Answer> {
  const answer = await askRows(run, Object.keys(FIELDS) as Field[]);
  if (answer.kind !== 'rows') return answer;
  if (answer.rows.length === 0) return { kind: 'gpus', gpus: [] };
  // Its failure costs only the checks that need it.
  const apps = await run(['--query-compute-apps=gpu_uuid,pid,process_name', CSV]);
  const processes = (uuid = '') => (apps.kind === 'ok' ? processesIn(apps.stdout, uuid) : null);
  return { kind: 'gpus', gpus: answer.rows.map((row) => ({ row, processes: processes(row.uuid) })) };
}

interface GpuMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** Null if the GPU has no memory of its own, or no process can have all of it. */
export function memoryOf(row: Row): GpuMemory | null {
  const totalMib = reportedNumber(row, 'memoryTotalMib');
  const freeMib = reportedNumber(row, 'memoryFreeMib');
  if (totalMib === null || freeMib === null || reported(row, 'mig') === 'Enabled') return null;
  return { totalBytes: totalMib * MIB, freeBytes: freeMib * MIB };
}

type Asked = { readonly kind: 'rows'; readonly rows: readonly Row[] } | Exclude<Answer, { kind: 'gpus' }>;

async function askRows(run: Run, fields: readonly Field[]): Promise<Asked> {
  const outcome = await run([`--query-gpu=${fields.map((field) => FIELDS[field]).join(',')}`, CSV]);
  return outcome.kind === 'ok' ? rowsIn(outcome.stdout, fields) : outcome;
}

/** Answer to `--query-gpu` of these fields. */
function rowsIn(stdout: string, fields: readonly Field[]): Asked {
  const lines = table(stdout);
  if (lines[0]?.[0]?.startsWith('No devices were found')) return { kind: 'rows', rows: [] };
  const isGpu = (values: readonly string[]) =>
    values.length === fields.length && /^\d{1,4}$/.test(values[fields.indexOf('index')] ?? '');
  if (lines.length === 0 || !lines.every(isGpu)) return { kind: 'garbage', line: firstLine(stdout) };
  return {
    kind: 'rows',
    rows: lines.map((values) => Object.fromEntries(fields.map((field, i) => [field, values[i]]))),
  };
}

/** Processes on a GPU in the answer to `--query-compute-apps=gpu_uuid,pid,process_name`. A name may contain commas. */
function processesIn(stdout: string, uuid: string): string[] {
  return table(stdout)
    .filter(([gpu, pid = '']) => gpu === uuid && /^\d{1,10}$/.test(pid))
    .map(([, pid, ...name]) => `${pid} ${name.join(', ')}`);
}

/** Cells of a table; nvidia-smi quotes nothing, and may print warnings about a board before or after it. */
function table(stdout: string): string[][] {
  return stdout
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !line.startsWith('WARNING:'))
    .map((line) => line.split(',').map(firstLine));
}
