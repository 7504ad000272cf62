import type { FleetObserver, GpuState } from '../core/fleet-observer.js';
import { column, type LogColumn, LogFile, type LoggedCluster, placesOf } from './log-columns.js';

/** Columns of gpus.tsv: one row per change of a GPU's state, in order of time. */
export const FLEET_COLUMNS: readonly LogColumn[] = [
  column('t', 'when, since the start of the run', 'ns'),
  column('worker_id', 'worker machine, from 0'),
  column('gpu_id', 'GPU within its worker, from 0'),
  column(
    'state',
    '0 off, 1 ordered and starting: it is paid for from here on, 2 on, 3 draining; off before the first row',
  ),
];

/** Logs the states of GPUs. Throws `E_FILE_WRITE`. */
export class FleetLog extends LogFile implements FleetObserver {
  private readonly places: readonly string[];

  constructor(path: string, cluster: LoggedCluster) {
    super(path, FLEET_COLUMNS);
    this.places = placesOf(cluster);
  }

  gpuChanged(gpu: number, state: GpuState, nowNs: number): void {
    this.write(`${nowNs}\t${this.places[gpu]}\t${state}\n`);
  }
}
