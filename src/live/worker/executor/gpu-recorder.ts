import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiledNextTo } from '../../../base/compiled.js';
import { NS_PER_S } from '../../../base/units.js';
import { NO_OPERATORS, type OperatorRuns } from '../../operator-runs.js';
import { type ReadOperators, runsOf } from '../../operator-table.js';
import { within } from '../../within.js';
import type { Threads } from '../../world/threads.js';
import type { World } from '../../world/world.js';
import { type RecordedReport, RecordSwitch } from './protocol.js';

/** Time for host threads to end a recording, which they do when idle. */
const STOP_NS = 10 * NS_PER_S;

/** Records the operators of one GPU for the machine: its host threads write profiles, which are read at the end. */
export class GpuRecorder {
  readonly control = new RecordSwitch();
  /** Exists only while recording. */
  readonly folder: string;
  private reports: RecordedReport[] = [];
  private allReported: () => void = () => {};

  constructor(
    private readonly hosts: number,
    private readonly wake: () => void,
    private readonly world: Pick<World, 'time' | 'threads' | 'newId'>,
  ) {
    this.folder = join(tmpdir(), `escapement-operators-${world.newId()}`);
  }

  /** No effect while recording. Throws if the folder cannot be made. */
  start(): void {
    if (this.isOn) return;
    mkdirSync(this.folder, { mode: 0o700 });
    this.control.turn();
    this.wake();
  }

  /** Empty unless recording. Rejects if the profiles cannot be read. */
  async stop(): Promise<OperatorRuns> {
    if (!this.isOn) return NO_OPERATORS;
    this.reports = [];
    this.control.turn();
    this.wake();
    try {
      await this.reported();
      return await readOperators(this.reports, this.world.threads);
    } finally {
      this.removeFolder();
    }
  }

  /** Handles the end of a host thread's recording. */
  take(report: RecordedReport): void {
    // Not that of an earlier recording that timed out.
    if (this.isOn || report.number !== this.control.number - 1) return;
    this.reports.push(report);
    if (this.reports.length === this.hosts) this.allReported();
  }

  /** Call when the threads report nothing more. */
  close(): void {
    if (this.isOn) this.control.turn();
    this.allReported();
    this.removeFolder();
  }

  private get isOn(): boolean {
    return this.control.number % 2 === 1;
  }

  private async reported(): Promise<void> {
    const reported = new Promise<void>((resolve) => {
      this.allReported = resolve;
    });
    await within(this.world.time, reported, STOP_NS);
  }

  private removeFolder(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** In a thread of its own, since it takes some µs per operator. */
function readOperators(reports: readonly RecordedReport[], threads: Threads): Promise<OperatorRuns> {
  if (reports.every(({ logs }) => logs.length === 0)) return Promise.resolve(NO_OPERATORS);
  return new Promise((resolve, reject) => {
    const entry = compiledNextTo(import.meta.url, 'operator-reader-thread.js');
    const thread = threads.start(entry, { workerData: reports });
    thread.on('message', ({ table, dropped }: ReadOperators) =>
      resolve({ operators: runsOf(table), dropped }),
    );
    thread.on('error', reject);
    thread.on('exit', () => reject(new Error('the thread that reads recorded operators has ended')));
  });
}
