import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_TIMEOUT } from '../../src/core/request.js';
import { CauseFinder } from '../../src/record/causes.js';
import { RequestLog } from '../../src/record/logs.js';
import { action, MS, RESNET50, tableWith } from './fixtures.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'escapement-logs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('RequestLog', () => {
  it("has the columns of Clockwork's telemetry, then the INFER and the cause", () => {
    const path = join(folder, 'requests.tsv');
    const log = new RequestLog(path, [RESNET50], new CauseFinder([RESNET50]));
    log.answered(
      tableWith({ arrivalNs: 5 * MS, user: 3, arrivalCopies: 0 }),
      0,
      OUTCOME_OK,
      30 * MS,
      1,
      action({ id: 7 }),
    );
    log.answered(
      tableWith({ arrivalNs: 5 * MS, sloNs: 10 * MS }),
      0,
      OUTCOME_LATE,
      30 * MS,
      2,
      action({ id: 8 }),
    );
    log.answered(tableWith({ arrivalNs: 5 * MS, sloNs: 3_333_333 }), 0, OUTCOME_TIMEOUT, 6 * MS, 1, null);
    log.close();
    const [header, ...rows] = readFileSync(path, 'utf8').split('\n');
    expect(header).toBe(
      't\trequest_id\tresult\tuser_id\tmodel_id\tslo_factor\tlatency\tdeadline\tdeadline_met\tarrival_count\tdeparture_count\tis_coldstart\taction_id\tcause',
    );
    expect(rows).toEqual([
      '30000000\t0\t0\t3\t0\t25\t25000000\t100000000\t1\t0\t1\t1\t7\t-1',
      '30000000\t0\t0\t0\t0\t2.5\t25000000\t10000000\t0\t1\t2\t0\t8\t0',
      '6000000\t0\t4\t0\t0\t0.8333\t1000000\t3333333\t0\t1\t1\t0\t-1\t3',
      '',
    ]);
  });
});
