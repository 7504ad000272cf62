import { describe, expect, it } from 'vitest';
import type { ClusterStatus, TenantStatus } from '../../../src/live/observe/status/cluster-status.js';
import { senderTables } from '../../../src/play/live/sender-tables.js';

const rates = { offeredRps: 100, goodputRps: 60, failedRps: 40, refusedRps: 5 };
const tenant = (name: string, figures: Partial<TenantStatus> = {}): TenantStatus => ({
  ...{ name, share: 0.25, usedShare: 0.3, ...rates, overRateRps: 25, overShareRps: 10, ...figures },
});
const tables = (status: Partial<ClusterStatus>) => senderTables(status as ClusterStatus);

describe('the tables of who sends', () => {
  it('are of tenants: in time, what was refused and why, and the share next to GPU time', () => {
    expect(tables({ tenants: [tenant('acme'), tenant('research', { offeredRps: 200 })] })).toEqual([
      {
        kind: 'tenants',
        caption: 'Tenants, the most active first',
        head: [
          ...['Tenant', 'Offered', 'Goodput', 'In time'],
          ...['Refused, rate', 'Refused, share', 'Refused, SLO', 'Share', 'GPU time'],
        ],
        rows: [
          ['research', '200/s', '60/s', '60.0 %', '25/s', '10/s', '5/s', '25.0 %', '30.0 %'],
          ['acme', '100/s', '60/s', '60.0 %', '25/s', '10/s', '5/s', '25.0 %', '30.0 %'],
        ],
        left: 0,
      },
    ]);
  });

  it('are of classes: their weights and what is guaranteed', () => {
    const gold = { name: 'gold', weight: 10, share: 0.1, usedShare: 0.5, ...rates };
    const [{ head, rows }] = tables({ classes: [gold, { ...gold, name: 'jobs', weight: 0.5, share: 0 }] });
    expect(head).toEqual([
      ...['Class', 'Weight', 'Offered', 'Goodput', 'In time', 'Refused, SLO', 'Guaranteed', 'GPU time'],
    ]);
    expect(rows).toEqual([
      ['gold', '10', '100/s', '60/s', '60.0 %', '5/s', '10.0 %', '50.0 %'],
      ['jobs', '0.5', '100/s', '60/s', '60.0 %', '5/s', '–', '50.0 %'],
    ]);
  });

  it('say nothing of what did not happen: no answers, no GPU time', () => {
    const idle = tenant('idle', { offeredRps: 0, goodputRps: 0, failedRps: 0, usedShare: null });
    expect(tables({ tenants: [idle] })[0].rows).toEqual([
      ['idle', '0/s', '0/s', '–', '25/s', '10/s', '5/s', '25.0 %', '–'],
    ]);
  });

  it('end after the 20 most active, and are not there where nothing is configured', () => {
    const many = Array.from({ length: 23 }, (_, i) => tenant(`t${i}`, { offeredRps: i }));
    const [{ rows, left }] = tables({ tenants: many });
    expect([rows.length, rows[0][0], rows.at(-1)?.[0], left]).toEqual([20, 't22', 't3', 3]);
    expect(tables({})).toEqual([]);
  });
});
