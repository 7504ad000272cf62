import type { ClusterStatus } from '../../live/observe/status/cluster-status.js';
import { printable } from './cells.js';

/** What there is to show. */
export interface StatusFeed {
  readonly url: string;
  /** The latest that was got. */
  readonly status: ClusterStatus;
  /** Why there is no newer one; empty: it is new. */
  readonly problem: string;
}

function named<T extends { readonly name: string }>(one: T): T {
  return { ...one, name: printable(one.name) };
}

/** The same with all texts printable: names are chosen by others. */
export function printableFeed({ url, status, problem }: StatusFeed): StatusFeed {
  const { requests, gpus, models, classes, tenants } = status;
  const totals = Object.entries(requests.totals).map(([outcome, total]) => [printable(outcome), total]);
  return {
    url: printable(url),
    problem: printable(problem),
    status: {
      ...status,
      policy: printable(status.policy),
      host: printable(status.host),
      requests: { ...requests, totals: Object.fromEntries(totals) },
      gpus: gpus.map((gpu) => ({
        ...gpu,
        worker: printable(gpu.worker),
        kind: printable(gpu.kind),
        lanes: gpu.lanes.map((lane) => ({
          ...lane,
          lane: printable(lane.lane),
          running: printable(lane.running),
        })),
      })),
      ...(classes === undefined ? {} : { classes: classes.map(named) }),
      ...(tenants === undefined ? {} : { tenants: tenants.map(named) }),
      models: models.map(named),
    },
  };
}
