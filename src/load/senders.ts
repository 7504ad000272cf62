import type { RequestMaker } from './template.js';

/** How requests name their class and their tenant to a server, both by index among those of the run. */
export interface Senders {
  /** The protocol's `priority` of each class; null: none is sent. Empty: there are no classes. */
  readonly priorities: readonly (number | null)[];
  /** The header, or key of metadata, that names a tenant; null: there are no tenants. */
  readonly header: string | null;
  readonly tenants: readonly string[];
}

/** One class of one tenant. */
export interface Sender {
  readonly priority: number | null;
  /** The first tenant is that of requests that name none, and is named all the same. */
  readonly tenant: string | null;
}

const NO_SENDERS: Senders = { priorities: [], header: null, tenants: [] };

/** Of one class and tenant: requests of more lengths than this would take too much memory, so they are made again. */
const MOST_LENGTHS = 1024;

/** What makes the requests of one model for each class, tenant and length; made when the first such request is sent. */
export class SenderTemplates {
  /** By class and tenant, and then by length. */
  private readonly made: (Map<number, RequestMaker> | undefined)[] = [];

  /** `lengthFor`: the length of the inputs of a request for which this one is asked; 0: all have the same. */
  constructor(
    private readonly lengthFor: (length: number) => number,
    private readonly make: (sender: Sender, length: number) => RequestMaker,
    private readonly senders: Senders = NO_SENDERS,
  ) {
    // What cannot be encoded fails before the run.
    this.of(0, 0, 0);
  }

  of(requestClass: number, tenant: number, length: number): RequestMaker {
    const { priorities, tenants } = this.senders;
    const index = requestClass * Math.max(1, tenants.length) + tenant;
    let byLength = this.made[index];
    if (byLength === undefined) {
      byLength = new Map();
      this.made[index] = byLength;
    }
    const own = this.lengthFor(length);
    const known = byLength.get(own);
    if (known !== undefined) return known;
    const sender = { priority: priorities[requestClass] ?? null, tenant: tenants[tenant] ?? null };
    const made = this.make(sender, own);
    if (byLength.size === MOST_LENGTHS) byLength.clear();
    byLength.set(own, made);
    return made;
  }
}
