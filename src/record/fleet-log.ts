import type { FleetObserver, GpuState } from '../core/fleet-observer.js';
import { type LogColumn, LogFile } from './log-columns.js';

/** Columns of gpus.tsv: one row per change of a GPU's state, in order of time. */
export const FLEET_COLUMNS: readonly LogColumn[] = [
  { name: 't', unit: 'ns', describe: 'when, since the start of the run' },
  { name: 'worker_id', describe: 'worker machine, from 0' },
  { name: 'gpu_id', describe: 'GPU within its worker, from 0' },
  {
    name: 'state',
    describe:
      '0 off, 1 ordered and starting: it is paid for from here on, 2 on, 3 draining; off before the first row',
  },
];

interface FleetLogOptions {
  readonly gpus: number;
  readonly workers: number;
}

/** Logs the states of GPUs. Throws `E_FILE_WRITE`. */
export class FleetLog extends LogFile implements FleetObserver {
  private readonly workerOf: Int32Array;

  constructor(path: string, { gpus, workers }: FleetLogOptions) {
    super(path, FLEET_COLUMNS);
    this.workerOf = Int32Array.from({ length: gpus }, (_, gpu) => Math.floor((gpu * workers) / gpus));
  }

  gpuChanged(gpu: number, state: GpuState, nowNs: number): void {
    const worker = this.workerOf[gpu];
    this.write(`${nowNs}\t${worker}\t${gpu - this.workerOf.indexOf(worker)}\t${state}\n`);
  }
}
