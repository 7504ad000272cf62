import type { RequestClass } from '../../core/classes.js';
import type { PolicyContext } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';

/** What a request of a tenant that is above its share weighs at most, relative to the lightest of others. */
const ABOVE_SHARE_WEIGHT = 0.1;

/**
 * The declared classes, and where shares go first all of them again, for requests of tenants above their shares: none
 * of those weighs as much as any of the first, so shares come before weights.
 */
export class SharedClasses {
  readonly list: readonly RequestClass[];
  private readonly requests: RequestTable;
  private readonly declared: number;

  constructor(
    { classes, requests }: PolicyContext,
    private readonly sharesFirst: boolean,
  ) {
    this.requests = requests;
    this.declared = classes.length;
    const weights = classes.map(({ weight }) => weight);
    const factor = (ABOVE_SHARE_WEIGHT * Math.min(...weights)) / Math.max(...weights);
    const above = classes.map(({ name, weight }) => ({ name, weight: weight * factor, share: 0 }));
    this.list = sharesFirst ? [...classes, ...above] : classes;
  }

  /** Index in the list of what the request weighs. */
  of(slot: number): number {
    const { requestClass, isAboveShare } = this.requests;
    const isAbove = this.sharesFirst && isAboveShare[slot] === 1;
    return requestClass[slot] + (isAbove ? this.declared : 0);
  }
}
