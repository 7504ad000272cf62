import { NS_PER_HOUR } from '../base/units.js';
import { type Action, INFER, LANE_EXEC, LANE_WEIGHTS, LOAD, STATUS_OK } from '../core/action.js';
import type { RunObserver } from '../core/observer.js';
import { OUTCOME_OK, type Outcome, type RequestTable } from '../core/request.js';
import type { CostFigures, KindFigures } from './results.js';

/** One kind of GPUs; their numbers follow those of the kind before. */
interface TalliedKind {
  readonly name: string;
  readonly gpus: number;
  readonly pricePerHour: number | null;
}

/** For how long there were GPUs of a kind, summed over them. */
export interface PaidKind {
  readonly paidNs: number;
  readonly onNs: number;
  /** The most that were paid for at a time. */
  readonly most: number;
}

interface KindTallyOptions {
  readonly kinds: readonly TalliedKind[];
  /** What is counted begins at the end of the warm-up and ends at the nominal end of the workload, ns. */
  readonly warmupNs: number;
  readonly durationNs: number;
}

/** Counts what the GPUs of each kind did. */
export class KindTally implements RunObserver {
  private readonly kindOf: Uint8Array;
  /** By kind: time that its lanes were busy, by lane; INFERs that succeeded; requests that were answered in time. */
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

  completed({ kind, status, gpu, sentNs, beginNs, endNs }: Action): void {
    if (kind !== INFER && kind !== LOAD) return;
    const { warmupNs, durationNs } = this.options;
    const countedNs = Math.min(endNs, durationNs) - Math.max(beginNs, warmupNs);
    const lane = kind === INFER ? LANE_EXEC : LANE_WEIGHTS;
    if (countedNs > 0) this.busyNs[this.kindOf[gpu]][lane] += countedNs;
    if (kind === INFER && status === STATUS_OK && sentNs >= warmupNs) this.infers[this.kindOf[gpu]]++;
  }

  /** `paid`: for how long there were GPUs, where that changed; null: all of the time. */
  figures(paid: readonly PaidKind[] | null): KindFigures[] {
    const { kinds, warmupNs, durationNs } = this.options;
    return kinds.map(({ name, gpus, pricePerHour }, kind) => {
      const one = paid?.[kind];
      const laneNs = one?.onNs ?? gpus * (durationNs - warmupNs);
      return {
        kind: name,
        gpus: one?.most ?? gpus,
        ...(one === undefined ? {} : { gpuHours: one.paidNs / NS_PER_HOUR }),
        ...(pricePerHour === null ? {} : { pricePerHour }),
        ok: this.ok[kind],
        infer: this.infers[kind],
        execUtilization: laneNs === 0 ? 0 : this.busyNs[kind][LANE_EXEC] / laneNs,
        weightsUtilization: laneNs === 0 ? 0 : this.busyNs[kind][LANE_WEIGHTS] / laneNs,
      };
    });
  }

  /** What the cluster costs; null: not all kinds have a price. */
  cost(paid: readonly PaidKind[] | null): CostFigures | null {
    const { kinds, warmupNs, durationNs } = this.options;
    let perHour = 0;
    for (const [kind, { gpus, pricePerHour }] of kinds.entries()) {
      if (pricePerHour === null) return null;
      const mean = paid === null ? gpus : paid[kind].paidNs / (durationNs - warmupNs);
      perHour += mean * pricePerHour;
    }
    const inTime = this.ok.reduce((sum, ok) => sum + ok, 0);
    const hours = (durationNs - warmupNs) / NS_PER_HOUR;
    return { perHour, perMillionInTime: inTime === 0 ? null : (perHour * hours * 1e6) / inTime };
  }
}
