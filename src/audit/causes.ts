import { NS_PER_MS } from '../base/units.js';
import { ABORTED, INFER_TOO_LATE, OK, WEIGHTS_CHANGED, WEIGHTS_MISSING, WORKER_LOST } from './action-rows.js';
import { type Answer, OVER_RATE, OVER_SHARE, REST_TOO_LONG } from './request-audit.js';
import type { Findings } from './rules.js';
import type { Served } from './served.js';

/** Causes of failure, named as in `failures` of run.json. */
type Causes = Record<
  | 'late'
  | 'refused'
  | 'timedOutCold'
  | 'timedOutQueued'
  | 'missedWindow'
  | 'deviceError'
  | 'workerLost'
  | 'overRate'
  | 'overShare'
  | 'restTooLong',
  number
>;

/** Derives from both logs why each request failed, and counts the causes. */
export class CauseTally {
  private readonly byModel = new Map<number, Causes>();
  /** Causes of all requests but those of pipeline steps. */
  readonly all = none();

  /** By model: time at which its only copy was loaded. */
  private readonly heldSinceNs = new Map<number, number>();

  /** `modelInferMs`: by model, time of an INFER of one request. */
  constructor(
    private readonly served: Served,
    private readonly modelInferMs: readonly number[],
    private readonly findings: Findings,
    /** Path of requests.tsv. */
    private readonly path: string,
  ) {}

  /** Records a successful LOAD, after which `copies` GPUs hold the model. */
  loaded(model: number, copies: number, nowNs: number): void {
    if (copies === 1) this.heldSinceNs.set(model, nowNs);
  }

  /** Records an answer; all results up to then are known. */
  answer(answer: Answer): void {
    const cause = answer.inTime || answer.cancelled ? null : this.causeOf(answer);
    this.checkRow(answer, cause);
    if (cause === null || !answer.counted) return;
    if (!(answer.parent >= 0)) this.all[cause]++;
    let causes = this.byModel.get(answer.model);
    if (causes === undefined) {
      causes = none();
      this.byModel.set(answer.model, causes);
    }
    causes[cause]++;
  }

  /** Checks the cause in the row. Logs of earlier versions have none. */
  private checkRow(answer: Answer, cause: keyof Causes | null): void {
    if (Number.isNaN(answer.cause)) return;
    this.findings.check('cause');
    const expected = cause === null ? -1 : Object.keys(none()).indexOf(cause);
    if (answer.cause === expected) return;
    const what = `cause is ${answer.cause}, but the logs show ${cause === null ? '-1' : `${expected}, ${cause}`}`;
    this.findings.violated('cause', this.path, answer.line, what);
  }

  of(model: number): Causes {
    return this.byModel.get(model) ?? none();
  }

  /** True if the model was nowhere loaded for long enough to execute the request. */
  private isCold({ model, copies, arrivalCopies, nowNs }: Answer): boolean {
    if (copies === 0) return true;
    if (arrivalCopies > 0) return false;
    // A pipeline is cold if one of its models was.
    if (model >= this.modelInferMs.length) return true;
    const heldNs = nowNs - (this.heldSinceNs.get(model) ?? Number.NEGATIVE_INFINITY);
    return heldNs < Math.round(this.modelInferMs[model] * NS_PER_MS);
  }

  private causeOf(answer: Answer): keyof Causes {
    const { executed, refused, timedOut, action, cause, isPipeline } = answer;
    if (executed) return 'late';
    if (refused) {
      // Only the row shows which limit refused it.
      if (cause === OVER_RATE) return 'overRate';
      return cause === OVER_SHARE ? 'overShare' : 'refused';
    }
    if (cause === REST_TOO_LONG && timedOut && isPipeline) return 'restTooLong';
    const status = this.served.failedStatus(action) ?? OK;
    switch (status) {
      case INFER_TOO_LATE:
      case WEIGHTS_MISSING:
      case WEIGHTS_CHANGED:
        return 'missedWindow';
      case WORKER_LOST:
        return 'workerLost';
      case OK:
      case ABORTED:
        if (!timedOut) return 'deviceError';
        return this.isCold(answer) ? 'timedOutCold' : 'timedOutQueued';
      default:
        return 'deviceError';
    }
  }
}

function none(): Causes {
  return {
    late: 0,
    refused: 0,
    timedOutCold: 0,
    timedOutQueued: 0,
    missedWindow: 0,
    deviceError: 0,
    workerLost: 0,
    overRate: 0,
    overShare: 0,
    restTooLong: 0,
  };
}
