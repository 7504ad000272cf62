import { type ActionRows, OK } from './action-rows.js';
import type { Lengths } from './lengths.js';
import type { Answer } from './request-audit.js';
import type { Findings } from './rules.js';
import type { SenderShares } from './sender-shares.js';

/** An INFER, remembered until the requests that it answered have passed. */
interface Infer {
  readonly model: number;
  readonly batchSize: number;
  readonly succeeded: boolean;
  readonly resultNs: number;
  readonly endNs: number;
  readonly line: number;
  /** Padded length; NaN: not in the log. */
  readonly padded: number;
  requests: number;
  /** Counted time, ns, and the classes and tenants of its requests; empty if there are none. */
  readonly countedNs: number;
  readonly classes: number[];
  readonly tenants: number[];
  /** Length needed by its longest input. */
  needed: number;
}

type Known = Pick<Infer, 'model' | 'succeeded'>;

/** GPU time by sender; null: no classes, or no tenants. */
export interface SharesOf {
  readonly class: SenderShares | null;
  readonly tenant: SenderShares | null;
}

/** Matches requests with the INFERs that served them. Both must come in order of time. */
export class Served {
  /** By action id, in order of results. */
  private readonly infers = new Map<number, Infer>();
  /** Status of every failed INFER: a request may be given up long after it. */
  private readonly failed = new Map<number, { readonly model: number; readonly status: number }>();

  constructor(
    private readonly findings: Findings,
    private readonly files: { readonly requests: string; readonly actions: string },
    /** Maximum difference between the clocks of workers and controller. */
    private readonly clockSlackNs: number,
    /** Null: all inputs of a model have one length. */
    private readonly lengths: Lengths | null,
    private readonly shares: SharesOf,
  ) {}

  /** Records the result of an INFER. */
  result(row: ActionRows): void {
    if (row.status !== OK) this.failed.set(row.id, { model: row.model, status: row.status });
    this.infers.set(row.id, {
      model: row.model,
      batchSize: row.batchSize,
      succeeded: row.status === OK,
      resultNs: row.resultNs,
      endNs: row.endNs,
      line: row.line,
      padded: row.paddedLength,
      requests: 0,
      countedNs: (this.shares.class ?? this.shares.tenant)?.countedNs(row) ?? 0,
      classes: [],
      tenants: [],
      needed: 0,
    });
  }

  /** Status of a failed INFER; undefined if it did not fail, or is unknown. */
  failedStatus(action: number): number | undefined {
    return this.failed.get(action)?.status;
  }

  /** Records an answer; all results up to then are known. */
  answer(answer: Answer): void {
    this.forget(answer.nowNs);
    const { findings, files } = this;
    const infer = this.infers.get(answer.action);
    findings.check('served');
    const wrong = mismatch(answer, infer ?? this.earlierFailure(answer));
    if (wrong !== '') findings.violated('served', files.requests, answer.line, wrong);
    if (infer === undefined) return;
    infer.requests++;
    if (this.shares.class !== null) infer.classes.push(answer.classId);
    if (this.shares.tenant !== null) infer.tenants.push(answer.tenantId);
    if (this.lengths !== null)
      infer.needed = Math.max(infer.needed, this.lengths.paddedFor(answer.model, answer.length));
    if (!answer.executed) return;
    findings.check('answer');
    const earlyNs = infer.endNs - answer.nowNs;
    if (earlyNs <= this.clockSlackNs + 1) return;
    const what = `answered ${earlyNs} ns before the end of its INFER ${answer.action}`;
    findings.violated('answer', files.requests, answer.line, what);
  }

  /** Call after both logs have ended. */
  finish(): void {
    this.forget(Number.POSITIVE_INFINITY);
  }

  /** The earlier INFER whose failure put the request back in the queue. */
  private earlierFailure({ executed, action }: Answer): Known | undefined {
    const failed = executed ? undefined : this.failed.get(action);
    return failed === undefined ? undefined : { model: failed.model, succeeded: false };
  }

  /** Drops INFERs with results before `nowNs`, which have answered all their requests. */
  private forget(nowNs: number): void {
    for (const [id, infer] of this.infers) {
      if (infer.resultNs >= nowNs) return;
      this.infers.delete(id);
      if (!infer.succeeded) continue;
      const { findings, files } = this;
      const { requests, batchSize, line } = infer;
      this.shares.class?.add(infer.countedNs, infer.classes);
      this.shares.tenant?.add(infer.countedNs, infer.tenants);
      this.checkLength(id, infer);
      findings.check('batch');
      if (requests > 0 && requests <= batchSize) continue;
      const what = `INFER ${id} of batch size ${batchSize} answered ${requests} requests`;
      findings.violated('batch', files.actions, line, what);
    }
  }

  /** Call when all requests of the INFER have been seen. */
  private checkLength(id: number, { model, padded, needed, line }: Infer): void {
    if (this.lengths === null) return;
    this.findings.check('length');
    const wrong = this.lengths.problem(model, padded, needed);
    if (wrong !== '') this.findings.violated('length', this.files.actions, line, `INFER ${id} ${wrong}`);
  }
}

/** Mismatch between an answer and the INFER that it names, or ''. */
function mismatch({ action, model, executed, refused }: Answer, infer: Known | undefined): string {
  if (action < 0) return executed ? 'executed, but names no INFER' : '';
  // A request queued again after its INFER failed may be refused then.
  if (refused && infer?.succeeded !== false) return `was refused, but names INFER ${action}`;
  if (infer === undefined) return `names INFER ${action}, whose result did not come at that time`;
  if (infer.model !== model)
    return `is for model ${model}, but its INFER ${action} is for model ${infer.model}`;
  if (infer.succeeded === executed) return '';
  return executed ? `executed, but its INFER ${action} failed` : `failed, but its INFER ${action} succeeded`;
}
