import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FleetAudit } from '../../src/audit/fleet.js';

/** On from 0, drains at 100, off at 150, on again from 200. */
const ROWS = [
  [0, 2],
  [100, 3],
  [150, 0],
  [160, 1],
  [200, 2],
];
/** Longer than all of that: workers' clocks differ by so much. */
const SLACK_NS = 1000;

function audit(): FleetAudit {
  const path = join(mkdtempSync(join(tmpdir(), 'escapement-')), 'gpus.tsv');
  const lines = ROWS.map(([t, state]) => `${t}\t0\t0\t${state}\n`);
  writeFileSync(path, `t\tworker_id\tgpu_id\tstate\n${lines.join('')}`);
  return new FleetAudit(path, false);
}

describe('an action', () => {
  it.each([
    ['before its GPU drained', 90, 0, ''],
    ['while it drained', 120, 0, 'was sent an action after it had begun to drain'],
    ['once it was back', 200, 1, ''],
  ])('that was sent %s belongs to that time, however far clocks are apart', (_, sentNs, period, wrong) => {
    const fleet = audit();
    expect(fleet.wrong).toEqual([]);
    const action = { gpuKey: 0, sentNs, beginNs: sentNs, endNs: sentNs + 10 };
    expect(fleet.check(action, SLACK_NS)).toEqual({ period, wrong });
  });
});
