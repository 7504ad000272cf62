import type { Deployment } from './deployment.js';
import type { Tickets } from './tickets.js';

/** How often it is looked whether a model is idle, as a share of the time after which it is. */
export const IDLE_LOOKS = 4;

/** A look at all models. One is idle if as many looks as `IDLE_LOOKS` in a row have seen no new request: then it sleeps. */
export function idleLook(deployment: Deployment, tickets: Tickets): () => Promise<void> {
  let before = new Map<number, Seen>();
  return async () => {
    const seen = new Map<number, Seen>();
    for (const row of deployment.table.all()) {
      if (row.state !== 'ready' || tickets.indexOf(row.ticket) < 0) continue;
      const uses = tickets.usesOf(row.ticket);
      const last = before.get(row.ticket);
      const looks = last?.uses === uses ? last.looks + 1 : 0;
      seen.set(row.ticket, { uses, looks });
      if (looks >= IDLE_LOOKS) await deployment.sleep(row);
    }
    before = seen;
  };
}

/** Requests of a ticket so far, and for how many looks there were no more. */
interface Seen {
  readonly uses: number;
  readonly looks: number;
}
