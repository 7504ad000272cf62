import { advise, type Fix, untilReboot } from '../check.js';
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

/** GPUs of the driver, or the reason why there is no answer. */
export interface Answer {
  readonly gpus: readonly GpuFacts[];
  readonly problem: Problem | null;
}

interface Problem {
  readonly found: string;
  readonly fix?: Fix | null;
}

export const MISSING: Problem = {
  found: 'no nvidia-smi: this machine has no NVIDIA driver',
  fix: advise('install the driver: https://www.nvidia.com/drivers'),
};
/** Exit status of nvidia-smi if the driver is not loaded (its manual). */
const NOT_LOADED = 9;

function problemOf(outcome: Exclude<RunOutcome, { kind: 'ok' }>): Problem {
  if (outcome.kind === 'missing') return MISSING;
  if (outcome.kind === 'timed-out') {
    const fix = advise('reboot; if it hangs again, dmesg | grep -i xid shows which GPU fails');
    return { found: `nvidia-smi did not answer within ${outcome.limitMs / 1000} s`, fix };
  }
  const { status, message } = outcome;
  const found = `nvidia-smi failed: ${message || 'no message'}${status === null ? '' : ` (exit status ${status})`}`;
  if (/is not a valid field/.test(message))
    return { found, fix: advise('update the driver to 535 or newer') };
  if (/version mismatch/i.test(message))
    return { found, fix: advise('reboot: the driver was updated while the old one is still loaded') };
  return { found, fix: status === NOT_LOADED ? untilReboot('modprobe nvidia') : null };
}

const CSV = '--format=csv,noheader,nounits';

/** Queries all facts about the machine's GPUs. */
export async function queryGpus(run: Run): Promise<Answer> {
  const outcome = await run([`--query-gpu=${Object.values(FIELDS).join(',')}`, CSV]);
  if (outcome.kind !== 'ok') return { gpus: [], problem: problemOf(outcome) };
  const rows = rowsIn(outcome.stdout);
  if (rows === null) {
    const line = firstLine(outcome.stdout);
    const found = line === '' ? 'nvidia-smi printed nothing' : `nvidia-smi printed: ${line}`;
    return { gpus: [], problem: { found } };
  }
  if (rows.length === 0) return { gpus: [], problem: null };
  // If it fails, only the checks that need it are skipped.
  const apps = await run(['--query-compute-apps=gpu_uuid,pid,process_name', CSV]);
  const processes = (uuid = '') => (apps.kind === 'ok' ? processesIn(apps.stdout, uuid) : null);
  return { gpus: rows.map((row) => ({ row, processes: processes(row.uuid) })), problem: null };
}

/** Answer to `--query-gpu` of all fields; null if it is something else. */
function rowsIn(stdout: string): Row[] | null {
  const lines = table(stdout);
  if (lines[0]?.[0]?.startsWith('No devices were found')) return [];
  const fields = Object.keys(FIELDS) as Field[];
  const isGpu = (values: readonly string[]) =>
    values.length === fields.length && /^\d{1,4}$/.test(values[fields.indexOf('index')] ?? '');
  if (lines.length === 0 || !lines.every(isGpu)) return null;
  return lines.map((values) => Object.fromEntries(fields.map((field, i) => [field, values[i]])));
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
