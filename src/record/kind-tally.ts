import { NS_PER_HOUR } from '../base/units.js';
import { type Action, INFER, LANE_EXEC, LANE_WEIGHTS, LOAD, STATUS_OK } from '../core/action.js';
import type { RunObserver } from '../core/observer.js';
import { OUTCOME_OK, type Outcome, type RequestTable } from '../core/request.js';
import { type Counted, countedNs, ratioOf, spanNs } from './counted.js';
import type { CostFigures, KindFigures } from './results.js';

/** One kind of GPUs; numbered consecutively kind by kind. */
interface TalliedKind {
  readonly name: string;
  readonly gpus: number;
  readonly pricePerHour: number | null;
}

/** Time that GPUs of a kind were in service, summed over them. */
export interface PaidKind {
  readonly paidNs: number;
  readonly onNs: number;
  /** Largest number paid for at the same time. */
  readonly most: number;
}

interface KindTallyOptions extends Counted {
  readonly kinds: readonly TalliedKind[];
}

/** Counts the work of the GPUs of each kind. */
export class KindTally implements RunObserver {
  private readonly kindOf: Uint8Array;
  /** By kind: busy time by lane; successful INFERs; requests answered in time. */
  private readonly busyNs: readonly [number, number][];
  private readonly infers: Float64Array;
  private readonly ok: Float64Array;

  constructor(private readonly options: KindTallyOptions) {
    const { kinds } = options;
    this.kindOf = Uint8Array.from(kinds.flatMap(({ gpus }, kind) => new Array<number>(gpus).fill(kind)));
    this.busyNs = kinds.map(() => [0, 0]);
    this.infers = new Float64Array(kinds.length);
    this.ok = new Float64Array(kinds.length);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    _nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    if (outcome !== OUTCOME_OK || action === null) return;
    if (requests.arrivalNs[slot] >= this.options.warmupNs) this.ok[this.kindOf[action.gpu]]++;
  }

  completed(action: Action): void {
    const { kind, status, gpu, sentNs } = action;
    if (kind !== INFER && kind !== LOAD) return;
    const lane = kind === INFER ? LANE_EXEC : LANE_WEIGHTS;
    this.busyNs[this.kindOf[gpu]][lane] += countedNs(this.options, action);
    if (kind === INFER && status === STATUS_OK && sentNs >= this.options.warmupNs)
      this.infers[this.kindOf[gpu]]++;
  }

  /** `paid`: time in service by kind, if it varied; null: the whole run. */
  figures(paid: readonly PaidKind[] | null): KindFigures[] {
    return this.options.kinds.map(({ name, gpus, pricePerHour }, kind) => {
      const one = paid?.[kind];
      const laneNs = one?.onNs ?? gpus * spanNs(this.options);
      return {
        kind: name,
        gpus: one?.most ?? gpus,
        ...(one === undefined ? {} : { gpuHours: one.paidNs / NS_PER_HOUR }),
        ...(pricePerHour === null ? {} : { pricePerHour }),
        ok: this.ok[kind],
        infer: this.infers[kind],
        execUtilization: ratioOf(this.busyNs[kind][LANE_EXEC], laneNs),
        weightsUtilization: ratioOf(this.busyNs[kind][LANE_WEIGHTS], laneNs),
      };
    });
  }

  /** Cost of the cluster; null if a kind has no price, or if there is no span over which to average. */
  cost(paid: readonly PaidKind[] | null): CostFigures | null {
    const ns = spanNs(this.options);
    let perHour = 0;
    for (const [kind, { gpus, pricePerHour }] of this.options.kinds.entries()) {
      const mean = paid === null ? gpus : ratioOf(paid[kind].paidNs, ns);
      if (pricePerHour === null || mean === null) return null;
      perHour += mean * pricePerHour;
    }
    const inTime = this.ok.reduce((sum, ok) => sum + ok, 0);
    const perMillionInTime = ns === 0 ? null : ratioOf((perHour * ns * 1e6) / NS_PER_HOUR, inTime);
    return { perHour, perMillionInTime };
  }
}
