import { LogReader } from '../base/files/log-reader.js';

/** `state` of gpus.tsv. */
const OFF = 0;
const STARTING = 1;
const ON = 2;
const DRAINING = 3;

/** A period for which a GPU was billed; Infinity marks an event that did not come. */
interface Period {
  readonly fromNs: number;
  onNs: number;
  drainsNs: number;
  offNs: number;
}

/** Fields of an action that a fleet can check. */
interface FleetAction {
  readonly gpuKey: number;
  readonly sentNs: number;
  readonly beginNs: number;
  readonly endNs: number;
}

/** GPUs according to gpus.tsv: they may have actions only while in service, and are billed until they leave. */
export class FleetAudit {
  private readonly periods = new Map<number, Period[]>();
  /** Impossible rows: line and problem. */
  readonly wrong: { readonly line: number; readonly what: string }[] = [];

  /** `mayFail`: GPUs may go without having drained. */
  constructor(
    readonly path: string,
    private readonly mayFail: boolean,
  ) {
    const log = new LogReader(path, ['t', 'worker_id', 'gpu_id', 'state']);
    let lastNs = 0;
    while (log.next()) {
      const [t, worker, gpu, state] = log.values;
      if (t < lastNs) this.wrong.push({ line: log.line, what: `t is ${lastNs - t} ns less than before` });
      lastNs = Math.max(lastNs, t);
      this.row(worker * 65536 + gpu, state, t, log.line);
    }
    log.close();
  }

  /**
   * Returns the period of its GPU that an action was in, and the problem with it, or ''. `slackNs` applies to ends of
   * actions only: send times are by the controller's clock, like this log.
   */
  check({ gpuKey, sentNs, beginNs, endNs }: FleetAction, slackNs: number): { period: number; wrong: string } {
    const periods = this.periods.get(gpuKey) ?? [];
    const period = periods.findLastIndex(({ onNs }) => onNs <= sentNs);
    if (period < 0) return { period, wrong: 'was sent an action before it was ever on' };
    const { drainsNs, offNs } = periods[period];
    if (sentNs > drainsNs) return { period, wrong: 'was sent an action after it had begun to drain' };
    if (endNs > offNs + slackNs)
      return { period, wrong: `worked for ${endNs - Math.max(beginNs, offNs)} ns while it was off` };
    return { period, wrong: '' };
  }

  /** Billed time between two moments, summed over GPUs. */
  paidNs(fromNs: number, toNs: number): number {
    return this.sum(fromNs, toNs, ({ fromNs: orderedNs }) => orderedNs);
  }

  /** Time on or draining between two moments, summed over GPUs. */
  onNs(fromNs: number, toNs: number): number {
    return this.sum(fromNs, toNs, ({ onNs }) => onNs);
  }

  private sum(fromNs: number, toNs: number, beginOf: (period: Period) => number): number {
    let sumNs = 0;
    for (const periods of this.periods.values()) {
      for (const period of periods) {
        sumNs += Math.max(0, Math.min(toNs, period.offNs) - Math.max(fromNs, beginOf(period)));
      }
    }
    return sumNs;
  }

  private row(key: number, state: number, t: number, line: number): void {
    const periods = this.periods.get(key) ?? [];
    this.periods.set(key, periods);
    const last = periods.at(-1);
    const never = Number.POSITIVE_INFINITY;
    const isOff = last === undefined || last.offNs < never;
    const isOn = last !== undefined && !isOff && last.onNs < never;
    if (isOff && (state === STARTING || (state === ON && t === 0))) {
      periods.push({ fromNs: t, onNs: state === ON ? t : never, drainsNs: never, offNs: never });
    } else if (last !== undefined && !isOff && !isOn && state === ON) last.onNs = t;
    else if (isOn && last.drainsNs === never && state === DRAINING) last.drainsNs = t;
    else if (
      last !== undefined &&
      !isOff &&
      state === OFF &&
      (!isOn || last.drainsNs < never || this.mayFail)
    )
      last.offNs = t;
    else this.wrong.push({ line, what: `state ${state} cannot follow` });
  }
}
