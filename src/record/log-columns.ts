import { OutputFile } from '../base/files/output-file.js';

/** A column of a log. All values are numbers. */
export interface LogColumn {
  readonly name: string;
  /** Absent: a whole number that has no unit. Only a ratio has a fraction. */
  readonly unit?: 'ns' | 'ratio';
  readonly describe: string;
}

export function column(name: string, describe: string, unit?: LogColumn['unit']): LogColumn {
  return { name, describe, ...(unit === undefined ? {} : { unit }) };
}

/** Table of numbers that grows during a run: tab-separated text under a header. Every member throws `E_FILE_WRITE`. */
export class LogFile extends OutputFile {
  constructor(
    path: string,
    readonly columns: readonly LogColumn[],
  ) {
    super(path);
    this.write(`${columns.map(({ name }) => name).join('\t')}\n`);
  }
}

/** Cluster whose GPUs are assigned to worker machines in contiguous blocks. */
export interface LoggedCluster {
  readonly gpus: number;
  readonly workers: number;
}

/** Columns `worker_id` and `gpu_id` of each GPU. */
export function placesOf({ gpus, workers }: LoggedCluster): string[] {
  const workerOf = Array.from({ length: gpus }, (_, gpu) => Math.floor((gpu * workers) / gpus));
  return workerOf.map((worker, gpu) => `${worker}\t${gpu - workerOf.indexOf(worker)}`);
}
