import { type ActionRows, OK } from './action-rows.js';
import type { Answer } from './request-audit.js';
import type { Findings } from './rules.js';

/** What is remembered of an INFER until the requests that it answered have passed. */
interface Infer {
  readonly model: number;
  readonly batchSize: number;
  readonly succeeded: boolean;
  readonly resultNs: number;
  readonly endNs: number;
  readonly line: number;
  requests: number;
}

/** Holds requests and INFERs against each other: who was served by what. Both must come in order of time. */
export class Served {
  /** By action id, in order of their results. */
  private readonly infers = new Map<number, Infer>();

  constructor(
    private readonly findings: Findings,
    private readonly files: { readonly requests: string; readonly actions: string },
    /** How far the clocks of workers and controller may be apart. */
    private readonly clockSlackNs: number,
  ) {}

  /** The result of an INFER. */
  result(row: ActionRows): void {
    this.infers.set(row.id, {
      model: row.model,
      batchSize: row.batchSize,
      succeeded: row.status === OK,
      resultNs: row.resultNs,
      endNs: row.endNs,
      line: row.line,
      requests: 0,
    });
  }

  /** A request was answered; all results up to then are known. */
  answer(answer: Answer): void {
    this.forget(answer.nowNs);
    const { findings, files } = this;
    const infer = this.infers.get(answer.action);
    findings.check('served');
    const wrong = mismatch(answer, infer);
    if (wrong !== '') findings.violated('served', files.requests, answer.line, wrong);
    if (infer === undefined) return;
    infer.requests++;
    if (!answer.executed) return;
    findings.check('answer');
    const earlyNs = infer.endNs - answer.nowNs;
    if (earlyNs <= this.clockSlackNs + 1) return;
    const what = `answered ${earlyNs} ns before the end of its INFER ${answer.action}`;
    findings.violated('answer', files.requests, answer.line, what);
  }

  /** Both logs have ended. */
  finish(): void {
    this.forget(Number.POSITIVE_INFINITY);
  }

  /** INFERs whose result came before `nowNs` have answered all their requests. */
  private forget(nowNs: number): void {
    for (const [id, infer] of this.infers) {
      if (infer.resultNs >= nowNs) return;
      this.infers.delete(id);
      if (!infer.succeeded) continue;
      const { findings, files } = this;
      const { requests, batchSize, line } = infer;
      findings.check('batch');
      if (requests > 0 && requests <= batchSize) continue;
      const what = `INFER ${id} of batch size ${batchSize} answered ${requests} requests`;
      findings.violated('batch', files.actions, line, what);
    }
  }
}

/** What is wrong with an answer and the INFER that it names, or ''. */
function mismatch({ action, model, executed, failed }: Answer, infer: Infer | undefined): string {
  if (action < 0) return executed ? 'executed, and names no INFER' : '';
  if (!executed && !failed) return `was never executed, and names INFER ${action}`;
  if (infer === undefined) return `names INFER ${action}, whose result did not come at that time`;
  if (infer.model !== model) return `is for model ${model}, its INFER ${action} for model ${infer.model}`;
  if (infer.succeeded === executed) return '';
  return executed ? `executed, and its INFER ${action} failed` : `failed, and its INFER ${action} succeeded`;
}
