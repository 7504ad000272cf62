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

/** What makes the requests of one model for each class and tenant; made when the first such request is sent. */
export class SenderTemplates {
  private readonly made: (RequestMaker | undefined)[] = [];

  constructor(
    private readonly make: (sender: Sender) => RequestMaker,
    private readonly senders: Senders = NO_SENDERS,
  ) {
    // What cannot be encoded fails before the run.
    this.of(0, 0);
  }

  of(requestClass: number, tenant: number): RequestMaker {
    const { priorities, tenants } = this.senders;
    const index = requestClass * Math.max(1, tenants.length) + tenant;
    const known = this.made[index];
    if (known !== undefined) return known;
    const made = this.make({
      priority: priorities[requestClass] ?? null,
      tenant: tenants[tenant] ?? null,
    });
    this.made[index] = made;
    return made;
  }
}
