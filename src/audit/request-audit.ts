import { LogReader } from '../base/files/log-reader.js';
import { IdSet } from './id-set.js';
import { Latencies } from './latencies.js';
import type { Lengths } from './lengths.js';
import type { Findings, Rule } from './rules.js';

const COLUMNS = [
  't',
  'request_id',
  'result',
  'user_id',
  'model_id',
  'latency',
  'deadline',
  'deadline_met',
  'arrival_count',
  'departure_count',
] as const;
/** Columns missing in logs of earlier versions. */
const OPTIONAL = ['action_id', 'cause', 'class_id', 'tenant_id', 'length', 'step_id', 'parent_id'] as const;

/** `result`. */
const EXECUTED = 0;
const ERROR = 1;
const TIMEOUT = 4;
const REJECTED = 7;
/** Withdrawn by its client, and not counted as offered. */
const CANCELLED = 8;

/** `cause`: refused by a limit of its tenant. */
export const OVER_RATE = 7;
export const OVER_SHARE = 8;
/** `cause`: given up between two steps of a pipeline. */
export const REST_TOO_LONG = 9;

/** Outcomes of requests, and further counts of them, by the names of run.json. */
export const OUTCOMES = ['ok', 'late', 'timeout', 'rejected', 'error'] as const;
export const FURTHER_COUNTS = ['coldStarts', 'coldInTime'] as const;

/** Outcomes of a group of requests. */
export class Tally {
  ok = 0;
  late = 0;
  timeout = 0;
  rejected = 0;
  error = 0;
  coldStarts = 0;
  coldInTime = 0;
  /** Rejected requests that were beyond a limit of their tenant. */
  overRate = 0;
  overShare = 0;
  /** Latencies of requests answered in time, and of those executed too late. */
  readonly inTime = new Latencies();
  readonly tooLate = new Latencies();

  get offered(): number {
    return this.ok + this.late + this.timeout + this.rejected + this.error;
  }
}

function count(tally: Tally, result: number, met: number, latencyNs: number, cold: boolean): void {
  if (result === EXECUTED) {
    if (met === 1) tally.ok++;
    else tally.late++;
    (met === 1 ? tally.inTime : tally.tooLate).add(Math.max(0, latencyNs));
  } else if (result === TIMEOUT) tally.timeout++;
  else if (result === REJECTED) tally.rejected++;
  else tally.error++;
  if (cold) tally.coldStarts++;
  if (cold && result === EXECUTED && met === 1) tally.coldInTime++;
}

interface RequestAuditOptions {
  readonly path: string;
  readonly findings: Findings;
  /** Arrival from which requests are counted. */
  readonly warmupNs: number;
  /** First user of each group, ascending from 0. */
  readonly firstUsers: readonly number[];
  /** Null: all inputs of a model have one length. */
  readonly lengths: Lengths | null;
  /** Number of models, after which pipelines are numbered; Infinity: there are none. */
  readonly models: number;
}

/** Answer of a request, from its row. */
export interface Answer {
  readonly id: number;
  readonly arrivalNs: number;
  readonly nowNs: number;
  readonly model: number;
  readonly executed: boolean;
  readonly refused: boolean;
  readonly timedOut: boolean;
  /** True if its client withdrew it. */
  readonly cancelled: boolean;
  readonly inTime: boolean;
  /** Number of GPUs that held the model on arrival, and when it was answered. */
  readonly arrivalCopies: number;
  readonly copies: number;
  /** True if it arrived after the warm-up. */
  readonly counted: boolean;
  /** Id of its INFER, −1 for none, NaN if not in the log. */
  readonly action: number;
  /** Number of its cause, −1 for none, NaN if not in the log. */
  readonly cause: number;
  /** Index of its class; NaN: no classes. */
  readonly classId: number;
  /** Index of its tenant; NaN: no tenants. */
  readonly tenantId: number;
  /** Length of its input, 0 if unknown; NaN: no model takes several. */
  readonly length: number;
  /** True for the request of a pipeline. */
  readonly isPipeline: boolean;
  /** Number of its step and id of its pipeline's request; NaN or below 0: it is not of a step. */
  readonly step: number;
  readonly parent: number;
  readonly line: number;
}

/** Tallies of counted requests by the number of their group, class, tenant or model, or by minimum padded length. */
type Tallies = Readonly<
  Record<'group' | 'class' | 'tenant' | 'model' | 'length' | 'pipeline' | 'step', Map<number, Tally>>
>;

/** Checks each request, and recomputes the claims of a summary: a tally for each part by each dimension. */
export class RequestAudit {
  readonly by: Tallies = {
    group: new Map(),
    class: new Map(),
    tenant: new Map(),
    model: new Map(),
    length: new Map(),
    pipeline: new Map(),
    step: new Map(),
  };
  /** Requests that clients withdrew; all other figures exclude them. */
  cancelled = 0;
  private readonly log: LogReader;
  private readonly ids = new IdSet();
  private lastNs = 0;

  constructor(private readonly options: RequestAuditOptions) {
    for (const group of options.firstUsers.keys()) this.by.group.set(group, new Tally());
    this.log = new LogReader(options.path, COLUMNS, OPTIONAL);
  }

  /** False if the log is of a version without INFER ids. */
  get namesActions(): boolean {
    return this.log.has('action_id');
  }

  /** False if the log does not show which requests a limit refused. */
  get namesLimits(): boolean {
    return this.log.has('cause');
  }

  /** Reads the whole log; passes on each answer, in order. */
  read(onAnswer: (answer: Answer) => void): void {
    const { log, options, ids } = this;
    while (log.next()) this.row(onAnswer);
    if (ids.missing === 0) return;
    const what = `${ids.missing} requests have no row, the first of them is request ${ids.firstMissing}`;
    options.findings.violated('outcome', options.path, log.line, what);
  }

  close(): void {
    this.log.close();
  }

  private row(onAnswer: (answer: Answer) => void): void {
    const { log } = this;
    const { findings, warmupNs } = this.options;
    const [
      nowNs,
      id,
      result,
      ,
      model,
      latencyNs,
      sloNs,
      met,
      arrivalCopies,
      copies,
      action,
      cause,
      classId,
      tenantId,
      length,
      step,
      parent,
    ] = log.values;
    const isPipeline = model >= this.options.models;
    const isStep = parent >= 0;
    findings.check('order');
    if (nowNs < this.lastNs) this.violated('order', `t is ${this.lastNs - nowNs} ns less than before`);
    this.lastNs = Math.max(this.lastNs, nowNs);
    if (latencyNs < 0) this.violated('order', `answered ${-latencyNs} ns before it arrived`);
    findings.check('outcome');
    if (!this.ids.add(id)) this.violated('outcome', `request ${id} was already answered`);
    this.checkSlo(result, met, latencyNs, sloNs);
    const counted = nowNs - latencyNs >= warmupNs;
    if (counted && result === CANCELLED) this.cancelled += isStep ? 0 : 1;
    else if (counted) this.tally(latencyNs, isStep, isPipeline);
    onAnswer({
      id,
      arrivalNs: nowNs - latencyNs,
      nowNs,
      model,
      executed: result === EXECUTED,
      refused: result === REJECTED,
      timedOut: result === TIMEOUT,
      cancelled: result === CANCELLED,
      inTime: met === 1,
      arrivalCopies,
      copies,
      counted,
      action,
      cause,
      classId,
      tenantId,
      length,
      isPipeline,
      step,
      parent,
      line: this.log.line,
    });
  }

  /** Adds the row to the tallies of its parts. */
  private tally(latencyNs: number, isStep: boolean, isPipeline: boolean): void {
    const { log } = this;
    const [, , result, user, model, , , met, arrivalCopies, , , cause, classId, tenantId, length, step] =
      log.values;
    const { group, class: classes, tenant, model: models, length: lengths, pipeline, step: steps } = this.by;
    const add = (tallies: Map<number, Tally>, part: number) => {
      const tally = tallies.get(part) ?? new Tally();
      tallies.set(part, tally);
      count(tally, result, met, latencyNs, arrivalCopies === 0);
      if (cause === OVER_RATE) tally.overRate++;
      else if (cause === OVER_SHARE) tally.overShare++;
    };
    if (isStep) add(steps, step);
    else {
      add(group, this.groupOf(user));
      if (log.has('class_id')) add(classes, classId);
      if (log.has('tenant_id')) add(tenant, tenantId);
    }
    if (isPipeline) add(pipeline, model - this.options.models);
    else add(models, model);
    const padded = this.options.lengths?.leastFor(model, length) ?? 0;
    if (padded > 0) add(lengths, padded);
  }

  private checkSlo(result: number, met: number, latencyNs: number, sloNs: number): void {
    this.options.findings.check('slo');
    if (![EXECUTED, ERROR, TIMEOUT, REJECTED, CANCELLED].includes(result)) {
      this.violated('outcome', `result ${result} is not a valid result of a request`);
    }
    if (met === 1 && result !== EXECUTED) this.violated('slo', 'in time, but not executed');
    else if (met === 1 && latencyNs > sloNs) {
      this.violated('slo', `in time, but ${latencyNs - sloNs} ns later than its SLO`);
    } else if (met !== 1 && result === EXECUTED && latencyNs <= sloNs) {
      this.violated('slo', 'late, but within its SLO');
    }
  }

  private groupOf(user: number): number {
    return Math.max(
      0,
      this.options.firstUsers.findLastIndex((first) => first <= user),
    );
  }

  private violated(rule: Rule, what: string): void {
    this.options.findings.violated(rule, this.options.path, this.log.line, what);
  }
}
