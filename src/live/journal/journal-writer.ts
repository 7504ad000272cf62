import type { EscapementError } from '../../base/errors.js';
import { GrowingFile } from '../../base/files/growing-file.js';
import type { DiskAndTime } from '../../base/world/disk.js';
import type { Action } from '../../core/action.js';
import type { ModelSpec } from '../../core/model.js';
import type { PipelineSpec } from '../../core/pipelines.js';
import { formatHeader, formatPipeline, type JournalHeader } from './journal-header.js';

/** Anything else would break the line, and with it the whole journal. */
const ONE_WORD = /^[!-~]{1,55}$/;

/**
 * Records all inputs of a controller, in order: replayed offline, they lead to the same decisions. One line of JSON,
 * then one line per call of the controller: a letter and numbers, times in ns.
 *
 * | line | call |
 * | --- | --- |
 * | `o MODEL ARRIVAL SLO USER [CLASS TENANT [LENGTH]]` | `offer`; without the last two, or three, they are 0 |
 * | `f PIPELINE ARRIVAL SLO USER CLASS TENANT COUNT…` | `offerPipeline` |
 * | `n SLOT STEP COUNT` | `setCount` |
 * | `w TRACEPARENT` | none: trace of the request in the preceding line |
 * | `c SLOT` | `cancel` |
 * | `r ID STATUS BEGIN END CLOCK` | `result` |
 * | `d GPU` | `gpuDown` |
 * | `u GPU KIND MODEL…` | `gpuUp` with the models present |
 * | `p MODEL JSON` | `putModel` |
 * | `a MODEL GPU…` | `setAbsent` |
 * | `t MODEL` | `retireModel` |
 * | `g SLOTS` | `grow` |
 * | `l PIPELINE JSON` | `putPipeline` |
 * | `s NOW` | `step` |
 * | `e DIGEST` | the end, with the controller's digest |
 *
 * A killed process loses at most the last second; its journal lacks the last line and replays up to where it stops.
 */
export class JournalWriter {
  private readonly file: GrowingFile;
  private hasRequests = false;

  /**
   * Compressed if `name` ends in `.gz`. An existing journal is never overwritten: this one gets the next number. Throws
   * `E_FILE_WRITE`; `onFailure` is called if the disk refuses later, after which nothing more is written.
   */
  constructor(
    name: string,
    header: JournalHeader,
    onFailure: (error: EscapementError) => void,
    world: DiskAndTime = {},
  ) {
    this.file = new GrowingFile(name, onFailure, world);
    this.file.write(`${formatHeader(header)}\n`);
    this.file.flush();
  }

  /** Name of the file created. */
  get path(): string {
    return this.file.path;
  }

  offer(
    model: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    trace: string | null = null,
    requestClass = 0,
    tenant = 0,
    length = 0,
  ): void {
    this.hasRequests = true;
    const known = requestClass !== 0 || tenant !== 0 || length !== 0;
    const sender = known ? ` ${requestClass} ${tenant}` : '';
    const measured = length === 0 ? '' : ` ${length}`;
    this.file.write(`o ${model} ${arrivalNs} ${sloNs} ${user}${sender}${measured}\n`);
    this.trace(trace);
  }

  offerPipeline(
    pipeline: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    trace: string | null,
    requestClass: number,
    tenant: number,
    counts: Int32Array,
  ): void {
    this.hasRequests = true;
    const numbers = [pipeline, arrivalNs, sloNs, user, requestClass, tenant, ...counts];
    this.file.write(`f ${numbers.join(' ')}\n`);
    this.trace(trace);
  }

  setCount(slot: number, step: number, count: number): void {
    this.file.write(`n ${slot} ${step} ${count}\n`);
  }

  cancel(slot: number): void {
    this.file.write(`c ${slot}\n`);
  }

  result({ id, status, beginNs, endNs, clock }: Action): void {
    this.file.write(`r ${id} ${status} ${beginNs} ${endNs} ${clock}\n`);
  }

  gpuDown(gpu: number): void {
    this.file.write(`d ${gpu}\n`);
  }

  gpuUp(gpu: number, models: readonly number[], kind: number): void {
    this.file.write(`u ${[gpu, kind, ...models].join(' ')}\n`);
  }

  putModel(model: number, spec: ModelSpec): void {
    this.file.write(`p ${model} ${JSON.stringify(spec)}\n`);
  }

  setAbsent(model: number, gpus: readonly number[]): void {
    this.file.write(`a ${[model, ...gpus].join(' ')}\n`);
  }

  retireModel(model: number): void {
    this.file.write(`t ${model}\n`);
  }

  grow(slots: number): void {
    this.file.write(`g ${slots}\n`);
  }

  putPipeline(index: number, spec: PipelineSpec): void {
    this.file.write(`l ${index} ${formatPipeline(spec)}\n`);
  }

  step(nowNs: number): void {
    this.file.write(`s ${nowNs}\n`);
  }

  /** Passes all lines so far to the system; done automatically at least once a second. */
  flush(): void {
    this.file.flush();
  }

  /** Closes it, and deletes it if no request ever came, so that the next one may reuse its number. */
  async discard(digest: string): Promise<void> {
    await this.close(digest);
    if (!this.hasRequests) this.file.remove();
  }

  /** Resolves when everything is on its way to the disk. */
  close(digest: string): Promise<void> {
    this.file.write(`e ${digest}\n`);
    return this.file.close();
  }

  private trace(trace: string | null): void {
    if (trace !== null && ONE_WORD.test(trace)) this.file.write(`w ${trace}\n`);
  }
}
