import type { Field, Row } from './fields.js';
import { firstLine } from './run.js';

/** Clocks that can be set together, in MHz. */
export interface ClockPair {
  readonly memoryMhz: number;
  readonly graphicsMhz: number;
}

export interface GpuProcess {
  readonly pid: number;
  readonly name: string;
}

type Rows =
  | { readonly rows: readonly Row[] }
  /** The first line of what came instead; empty if nothing came. */
  | { readonly garbage: string };

/** The answer to `--query-gpu` of these fields. */
export function parseRows(stdout: string, fields: readonly Field[]): Rows {
  const rows: Row[] = [];
  const lines = answerLines(stdout);
  if (lines.length === 0) return { garbage: '' };
  if (lines[0]?.startsWith(NO_GPU)) return { rows };
  for (const line of lines) {
    const values = columns(line);
    const row: Row = Object.fromEntries(fields.map((field, i) => [field, values[i]]));
    if (values.length !== fields.length || !/^\d{1,4}$/.test(row.index ?? '')) {
      return { garbage: firstLine(stdout) };
    }
    rows.push(row);
  }
  return { rows };
}

/** The name of the field that this driver does not know, if that is its complaint. */
export function parseUnknownField(message: string): string | null {
  return /Field "([^"]+)" is not a valid field to query/.exec(message)?.[1] ?? null;
}

/**
 * The answer to `--query-supported-clocks=gpu_uuid,memory,graphics`: for each GPU, the highest graphics clock at the
 * highest memory clock.
 */
export function parseHighestClocks(stdout: string): ReadonlyMap<string, ClockPair> {
  const highest = new Map<string, ClockPair>();
  for (const line of answerLines(stdout)) {
    const [uuid = '', memory = '', graphics = ''] = columns(line);
    if (!isMhz(memory) || !isMhz(graphics)) continue;
    const pair = { memoryMhz: Number(memory), graphicsMhz: Number(graphics) };
    const best = highest.get(uuid);
    if (best === undefined || isHigher(pair, best)) highest.set(uuid, pair);
  }
  return highest;
}

/** The answer to `--query-compute-apps=gpu_uuid,pid,process_name`, by GPU. */
export function parseProcesses(stdout: string): ReadonlyMap<string, readonly GpuProcess[]> {
  const processes = new Map<string, GpuProcess[]>();
  for (const line of answerLines(stdout)) {
    const [uuid = '', pid = '', ...name] = columns(line);
    if (!/^\d{1,10}$/.test(pid)) continue;
    const ofGpu = processes.get(uuid) ?? [];
    // A name may contain commas.
    ofGpu.push({ pid: Number(pid), name: name.join(', ') });
    processes.set(uuid, ofGpu);
  }
  return processes;
}

/**
 * The answer to `-q -d CLOCK`: whether auto boost is on by default, by bus id. GPUs that have no such setting
 * are absent. There is no field of `--query-gpu` for it.
 */
export function parseAutoBoost(stdout: string): ReadonlyMap<string, boolean> {
  const autoBoost = new Map<string, boolean>();
  let busId = '';
  for (const line of stdout.split(/\r?\n/)) {
    busId = /^GPU ([0-9A-Fa-f:.]+)\s*$/.exec(line)?.[1] ?? busId;
    const value = /^\s+Auto Boost Default\s*:\s*(On|Off)\s*$/.exec(line)?.[1];
    if (value !== undefined) autoBoost.set(busId, value === 'On');
  }
  return autoBoost;
}

const NO_GPU = 'No devices were found';

/** Lines of a table; nvidia-smi may put warnings about a board before or behind it. */
function answerLines(stdout: string): string[] {
  return stdout.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('WARNING:'));
}

/** nvidia-smi quotes nothing; what it prints may end up on a terminal. */
function columns(line: string): string[] {
  return line.split(',').map(firstLine);
}

function isMhz(text: string): boolean {
  return /^\d{1,6}$/.test(text);
}

function isHigher(a: ClockPair, b: ClockPair): boolean {
  return a.memoryMhz !== b.memoryMhz ? a.memoryMhz > b.memoryMhz : a.graphicsMhz > b.graphicsMhz;
}
