import {
  ActionRows,
  INFER,
  INFER_TOO_LATE,
  LOAD,
  LOAD_TOO_LATE,
  OK,
  RAN_AND_FAILED,
  UNLOAD,
  WORKER_LOST,
} from './action-rows.js';
import type { CauseTally } from './causes.js';
import type { FleetAudit } from './fleet.js';
import { IdSet } from './id-set.js';
import { Lane } from './lane.js';
import type { Findings, Rule } from './rules.js';
import type { Served } from './served.js';
import { Weights } from './weights.js';

/** Tolerance for times, which are mostly whole ns; windows may have fractions, partly lost in the log. */
const ROUNDING_NS = 1;

export interface ActionAuditOptions {
  readonly path: string;
  readonly findings: Findings;
  readonly served: Served | null;
  readonly causes: CauseTally | null;
  /** Null: all GPUs are there throughout. */
  readonly fleet: FleetAudit | null;
  /** Actions count if sent from `warmupNs` on, busy time if before `endNs`. */
  readonly warmupNs: number;
  readonly endNs: number;
  /** Delay between a lane taking up an action and its start. */
  readonly overheadNs: number;
  /** Tolerance in comparisons of a worker's times with each other, and with the controller's. */
  readonly slackNs: number;
  readonly clockSlackNs: number;
  readonly oneLane: boolean;
  /** Pages of a worker's GPU with this number. */
  readonly cachePagesOf: (worker: number, gpu: number) => number;
  readonly pagesOf: (model: number) => number;
}

interface Gpu {
  readonly exec: Lane;
  readonly weightsLane: Lane;
  readonly weights: Weights;
  /** Number of the GPU's on-period in which its last action ran. */
  period: number;
}

/** Checks each action, and recomputes the figures that a summary claims. */
export class ActionAudit {
  load = 0;
  unload = 0;
  infer = 0;
  tooLate = 0;
  /** Successful INFERs by batch size. */
  readonly inferByBatch = new Map<number, number>();
  execBusyNs = 0;
  weightsBusyNs = 0;
  /** Time that failed actions may have occupied their lanes; the log lacks it. */
  untoldBusyNs = 0;

  private readonly rows: ActionRows;
  private readonly ids = new IdSet();
  private readonly gpus = new Map<number, Gpu>();
  private lastNs = 0;
  /** True if the current row lies in the future. */
  private ahead = false;

  constructor(private readonly options: ActionAuditOptions) {
    this.rows = new ActionRows(options.path);
  }

  /** Reads all results that had arrived by `nowNs`. */
  readUntil(nowNs: number): void {
    const { rows } = this;
    while (this.ahead || rows.next()) {
      this.ahead = rows.resultNs > nowNs;
      if (this.ahead) return;
      this.row();
    }
  }

  close(): void {
    this.rows.close();
  }

  private row(): void {
    const { rows, options } = this;
    this.checkRow();
    options.findings.check('result');
    if (!this.ids.add(rows.id)) this.violated('result', `action ${rows.id} already had a result`);
    this.count();
    const gpu = this.gpuOf(rows.gpuKey);
    if (options.fleet !== null) this.checkFleet(gpu, options.fleet);
    if (rows.type === INFER) options.served?.result(rows);
    if (rows.status === WORKER_LOST) gpu.weights.lost();
    if (RAN_AND_FAILED.includes(rows.status)) this.untoldBusyNs = Number.POSITIVE_INFINITY;
    else if (rows.status !== OK) this.untoldBusyNs += options.slackNs;
    if (rows.status !== OK) return;
    if (rows.type === INFER) this.inferRan(gpu);
    else if (rows.type === LOAD) {
      options.causes?.loaded(rows.model, rows.copies, rows.resultNs);
      this.loadRan(gpu);
    } else if (rows.type === UNLOAD) this.unloaded(gpu);
  }

  /** Checks that the action was sent and ran while the GPU was there; a restarted GPU holds nothing. */
  private checkFleet(gpu: Gpu, fleet: FleetAudit): void {
    const { rows, options } = this;
    options.findings.check('fleet');
    const { period, wrong } = fleet.check(rows, options.clockSlackNs + ROUNDING_NS);
    if (wrong !== '') this.violated('fleet', `${rows.gpuName} ${wrong}`);
    if (period > gpu.period) gpu.weights.emptied();
    gpu.period = Math.max(gpu.period, period);
  }

  private inferRan(gpu: Gpu): void {
    const { rows, options } = this;
    const { model, beginNs, endNs, line } = rows;
    this.checkTimes(gpu.exec);
    this.execBusyNs += this.countedNs();
    options.findings.check('weights');
    const wrong = gpu.weights.infer(model, beginNs, endNs, line, options.slackNs);
    if (wrong !== '') this.violated('weights', `INFER of model ${model} on ${rows.gpuName}: ${wrong}`);
  }

  private loadRan(gpu: Gpu): void {
    const { rows, options } = this;
    this.checkTimes(gpu.weightsLane);
    this.weightsBusyNs += this.countedNs();
    gpu.weights.load(rows.model, rows.beginNs, rows.endNs, rows.line);
    options.findings.check('pages');
    const cachePages = options.cachePagesOf(rows.worker, rows.gpu);
    if (gpu.weights.pages <= cachePages) return;
    this.violated('pages', `${rows.gpuName} holds ${gpu.weights.pages} pages of ${cachePages}`);
  }

  private unloaded(gpu: Gpu): void {
    const { rows, options } = this;
    const running = gpu.weights.unload(rows.model, rows.endNs, rows.line, options.slackNs);
    if (running === 0) return;
    this.violated(
      'weights',
      `UNLOAD of model ${rows.model} on ${rows.gpuName} during its INFER (line ${running})`,
    );
  }

  /** Checks the window and the lane of an action that ran. */
  private checkTimes(lane: Lane): void {
    const { rows, options } = this;
    const { findings, overheadNs } = options;
    const { beginNs, endNs, earliestNs, latestNs, line } = rows;
    const slackNs = options.slackNs + ROUNDING_NS;
    const clockSlackNs = options.clockSlackNs + ROUNDING_NS;
    findings.check('window');
    if (beginNs < earliestNs - slackNs) {
      this.violated('window', `action ${rows.id} began ${earliestNs - beginNs} ns before its window`);
    } else if (beginNs > latestNs + overheadNs + slackNs) {
      this.violated('window', `action ${rows.id} began ${beginNs - latestNs} ns after its window`);
    }
    if (Math.abs(endNs - beginNs - rows.durationNs) > ROUNDING_NS) {
      this.violated('order', 'worker_exec_complete is not worker_exec_begin and worker_exec_duration');
    }
    if (beginNs < rows.sentNs - clockSlackNs) {
      this.violated('order', `action ${rows.id} began ${rows.sentNs - beginNs} ns before it was sent`);
    }
    if (endNs > rows.resultNs + clockSlackNs) {
      this.violated(
        'order',
        `the result of action ${rows.id} came ${endNs - rows.resultNs} ns before its end`,
      );
    }
    findings.check('lane');
    const overlapped = lane.add(beginNs, endNs, line, slackNs);
    if (overlapped !== 0)
      this.violated('lane', `${rows.gpuName} ran it and line ${overlapped} at the same time`);
  }

  private checkRow(): void {
    const { rows, options } = this;
    options.findings.check('order');
    if (rows.resultNs < this.lastNs)
      this.violated('order', `t is ${this.lastNs - rows.resultNs} ns less than before`);
    this.lastNs = Math.max(this.lastNs, rows.resultNs);
    if (Math.abs(rows.resultNs - rows.sentNs - rows.roundTripNs) > ROUNDING_NS) {
      this.violated('order', 't is not action_sent and controller_action_duration');
    }
  }

  private count(): void {
    const { rows } = this;
    if (rows.sentNs < this.options.warmupNs) return;
    if (rows.type === LOAD) this.load++;
    else if (rows.type === UNLOAD) this.unload++;
    else if (rows.type === INFER) this.infer++;
    if (rows.status === LOAD_TOO_LATE || rows.status === INFER_TOO_LATE) this.tooLate++;
    if (rows.type !== INFER || rows.status !== OK) return;
    this.inferByBatch.set(rows.batchSize, (this.inferByBatch.get(rows.batchSize) ?? 0) + 1);
  }

  /** Run time of the action between warm-up and nominal end. */
  private countedNs(): number {
    const { warmupNs, endNs } = this.options;
    return Math.max(0, Math.min(this.rows.endNs, endNs) - Math.max(this.rows.beginNs, warmupNs));
  }

  private gpuOf(key: number): Gpu {
    const known = this.gpus.get(key);
    if (known !== undefined) return known;
    const exec = new Lane();
    const gpu = {
      exec,
      weightsLane: this.options.oneLane ? exec : new Lane(),
      weights: new Weights(this.options.pagesOf),
      period: 0,
    };
    this.gpus.set(key, gpu);
    return gpu;
  }

  private violated(rule: Rule, what: string): void {
    this.options.findings.violated(rule, this.options.path, this.rows.line, what);
  }
}
