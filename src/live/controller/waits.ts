import { NS_PER_MS } from '../../base/units.js';
import { type Action, LOAD, STATUS_OK } from '../../core/action.js';
import type { RequestTable } from '../../core/request.js';
import { statusName } from '../../core/status-names.js';

/** LOADs of one model. */
interface Loads {
  underWay: number;
  /** Send time of the first of those in progress. */
  sinceNs: number;
  /** Times of the last successful one. */
  beginNs: number;
  endNs: number;
}

/** Determines what a request not executed in time waited for, other than its turn. */
export class Waits {
  /** By model. */
  private readonly loads: Loads[] = [];

  /** Records an action decided by the core. */
  sent({ kind, model, sentNs }: Action): void {
    if (kind !== LOAD) return;
    const loads = this.loadsOf(model);
    if (loads.underWay === 0) loads.sinceNs = sentNs;
    loads.underWay++;
  }

  /** Records its result. */
  ended({ kind, model, status, beginNs, endNs }: Action): void {
    if (kind !== LOAD) return;
    const loads = this.loadsOf(model);
    loads.underWay--;
    if (status === STATUS_OK) Object.assign(loads, { beginNs, endNs });
  }

  /** Call when the model is gone. */
  forgetModel(model: number): void {
    delete this.loads[model];
  }

  /** Text; '' if it only waited for its turn. `asleepNs`: time taken to read its model again. */
  of(
    { model, arrivalNs, failedStatus }: RequestTable,
    slot: number,
    asleepNs: number,
    nowNs: number,
  ): string {
    const parts: string[] = [];
    if (asleepNs > 0) parts.push(`${ms(asleepNs)} until its model, which was asleep, had been read again`);
    const loads = this.loads[model[slot]];
    const fromNs = arrivalNs[slot];
    if (loads !== undefined && loads.endNs > fromNs)
      parts.push(`${ms(loads.endNs - Math.max(loads.beginNs, fromNs))} for the LOAD of its model`);
    else if (loads !== undefined && loads.underWay > 0)
      parts.push(
        `${ms(nowNs - Math.max(loads.sinceNs, fromNs))} for the LOAD of its model, which has not ended`,
      );
    if (failedStatus[slot] !== STATUS_OK)
      parts.push(`for an INFER that ended with ${statusName(failedStatus[slot])}`);
    return parts.join(', ');
  }

  private loadsOf(model: number): Loads {
    this.loads[model] ??= { underWay: 0, sinceNs: 0, beginNs: 0, endNs: Number.NEGATIVE_INFINITY };
    return this.loads[model];
  }
}

function ms(ns: number): string {
  return `${(ns / NS_PER_MS).toFixed(3)} ms`;
}
