import { MIB } from '../../../base/units.js';
import { ALL_FIELDS, FIELDS, type Field, type Row, reported, reportedNumber } from './fields.js';
import {
  type ClockPair,
  type GpuProcess,
  parseAutoBoost,
  parseHighestClocks,
  parseProcesses,
  parseRows,
  parseUnknownField,
} from './parse.js';
import type { Run, RunOutcome } from './run.js';

export interface GpuFacts {
  readonly row: Row;
  /** Whether auto boost is on; null where the GPU has no such setting. */
  readonly autoBoost: boolean | null;
  /** Null where the driver lists no supported clocks. */
  readonly highest: ClockPair | null;
  /** Compute processes on it; null where the driver did not say. */
  readonly processes: readonly GpuProcess[] | null;
}

export type Answer =
  | { readonly kind: 'gpus'; readonly gpus: readonly GpuFacts[] }
  | { readonly kind: 'garbage'; readonly line: string }
  | Exclude<RunOutcome, { kind: 'ok' }>;

/** All that nvidia-smi tells of the machine's GPUs. */
export async function queryGpus(run: Run): Promise<Answer> {
  const answer = await ask(run, ALL_FIELDS);
  if (answer.kind !== 'rows') return answer;
  if (answer.rows.length === 0) return { kind: 'gpus', gpus: [] };
  // What these do not report is left out, so that a failure costs only its own checks. All at once: without persistence
  // mode each call would wake the GPUs again.
  const [clocks, processes, details] = await Promise.all([
    run(['--query-supported-clocks=gpu_uuid,memory,graphics', CSV]),
    run(['--query-compute-apps=gpu_uuid,pid,process_name', CSV]),
    run(['-q', '-d', 'CLOCK']),
  ]);
  const highestOf = clocks.kind === 'ok' ? parseHighestClocks(clocks.stdout) : null;
  const processesOf = processes.kind === 'ok' ? parseProcesses(processes.stdout) : null;
  const autoBoostOf = details.kind === 'ok' ? parseAutoBoost(details.stdout) : null;
  const gpus = answer.rows.map((row) => ({
    row,
    autoBoost: autoBoostOf?.get(row.busId ?? '') ?? null,
    highest: highestOf?.get(row.uuid ?? '') ?? null,
    processes: processesOf === null ? null : (processesOf.get(row.uuid ?? '') ?? []),
  }));
  return { kind: 'gpus', gpus };
}

interface GpuMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/**
 * The memory of each GPU in nvidia-smi's order (that of the PCI bus); null where there is no nvidia-smi, it
 * does not answer, or a GPU has no memory of its own or is divided into MIG instances.
 */
export async function gpuMemory(run: Run): Promise<readonly GpuMemory[] | null> {
  const answer = await ask(run, ['index', 'mig', 'memoryTotalMib', 'memoryFreeMib']);
  if (answer.kind !== 'rows') return null;
  const all = answer.rows.map(memoryOf);
  return all.every((memory) => memory !== null) ? all : null;
}

/** Null where the GPU has no memory of its own, or no process can have all of it. */
export function memoryOf(row: Row): GpuMemory | null {
  const totalMib = reportedNumber(row, 'memoryTotalMib');
  const freeMib = reportedNumber(row, 'memoryFreeMib');
  if (totalMib === null || freeMib === null || reported(row, 'mig') === 'Enabled') return null;
  return { totalBytes: totalMib * MIB, freeBytes: freeMib * MIB };
}

const CSV = '--format=csv,noheader,nounits';

type Asked = { readonly kind: 'rows'; readonly rows: readonly Row[] } | Exclude<Answer, { kind: 'gpus' }>;

/**
 * Asks for fields. If the driver does not know one, nvidia-smi answers none of them: that one is replaced by its older
 * name or left out, and all are asked for again, at most once per name.
 */
async function ask(run: Run, fields: readonly Field[]): Promise<Asked> {
  const names = new Map<Field, readonly string[]>(fields.map((field) => [field, FIELDS[field]]));
  for (;;) {
    const asked = [...names.keys()];
    const query = asked.map((field) => names.get(field)?.[0]).join(',');
    const outcome = await run([`--query-gpu=${query}`, CSV]);
    const complaint =
      outcome.kind === 'ok' ? outcome.stdout : outcome.kind === 'failed' ? outcome.message : '';
    const unknown = parseUnknownField(complaint);
    const field = asked.find((one) => names.get(one)?.[0] === unknown);
    // A GPU without a number cannot be reported.
    if (unknown !== null && field !== undefined && field !== 'index') {
      const older = names.get(field)?.slice(1) ?? [];
      if (older.length > 0) names.set(field, older);
      else names.delete(field);
      continue;
    }
    if (outcome.kind !== 'ok') return outcome;
    const answer = parseRows(outcome.stdout, asked);
    return 'rows' in answer ? { kind: 'rows', rows: answer.rows } : { kind: 'garbage', line: answer.garbage };
  }
}
