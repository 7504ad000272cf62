import type { RequestClass } from '../../core/classes.js';
import type { PolicyContext } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';

/** Maximum weight of a request whose tenant is above its share, relative to the lightest of others. */
export const ABOVE_SHARE_WEIGHT = 0.2;

/**
 * The declared classes and, if shares go first, a second copy of each for requests of tenants above their shares. All
 * second copies weigh less than any first one, so shares take precedence over weights.
 */
export class SharedClasses {
  readonly list: readonly RequestClass[];
  /** Number of classes, the first in the list, whose requests go first because of their tenants' shares. */
  readonly first: number;
  private readonly requests: RequestTable;

  constructor({ classes, requests, hasShares }: PolicyContext) {
    this.requests = requests;
    this.first = hasShares ? classes.length : 0;
    const weights = classes.map(({ weight }) => weight);
    const factor = (ABOVE_SHARE_WEIGHT * Math.min(...weights)) / Math.max(...weights);
    const above = classes.map(({ name, weight }) => ({ name, weight: weight * factor, share: 0 }));
    this.list = hasShares ? [...classes, ...above] : classes;
  }

  /** Index of the request's weight in the list. */
  of(slot: number): number {
    const { requestClass, isAboveShare } = this.requests;
    return requestClass[slot] + (isAboveShare[slot] === 1 ? this.first : 0);
  }
}
