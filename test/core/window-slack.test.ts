import { describe, expect, it } from 'vitest';
import { Action, STATUS_INFER_TOO_LATE, STATUS_OK } from '../../src/core/action.js';
import { WindowSlack } from '../../src/core/window-slack.js';

const MS = 1_000_000;

/** An action of GPU 1 that was planned to begin by 10 ms. */
function ended(slackMs: number, status: number, beginMs: number): Action {
  const slackNs = slackMs * MS;
  return Object.assign(new Action(1), {
    gpu: 1,
    status,
    latestNs: 10 * MS + slackNs,
    slackNs,
    beginNs: beginMs * MS,
  });
}

describe('WindowSlack', () => {
  it('is half as much again as what was missed, on that GPU alone', () => {
    const slack = new WindowSlack(2);
    slack.ended(ended(0, STATUS_INFER_TOO_LATE, 50));
    expect([slack.get(0), slack.get(1)]).toEqual([0, 60 * MS]);
  });

  it('counts from the window as it was planned, so that many misses at once do not pile up', () => {
    const slack = new WindowSlack(2);
    slack.ended(ended(0, STATUS_INFER_TOO_LATE, 50));
    slack.ended(ended(60, STATUS_INFER_TOO_LATE, 90));
    expect(slack.get(1)).toBe(120 * MS);
  });

  it('shrinks with each action that did not need it, to what actions need', () => {
    const slack = new WindowSlack(2);
    slack.ended(ended(0, STATUS_INFER_TOO_LATE, 50));
    slack.ended(ended(60, STATUS_OK, 12));
    expect(slack.get(1)).toBe(59.4 * MS);
    for (let i = 0; i < 1000; i++) slack.ended(ended(60, STATUS_OK, 12));
    expect(slack.get(1)).toBe(2 * MS);
    for (let i = 0; i < 2000; i++) slack.ended(ended(60, STATUS_OK, 8));
    expect(slack.get(1)).toBe(0);
  });

  it('grows with every miss, also with one whose times do not show it', () => {
    const slack = new WindowSlack(2);
    slack.ended(ended(0, STATUS_INFER_TOO_LATE, 9));
    const first = slack.get(1);
    slack.ended(ended(0, STATUS_INFER_TOO_LATE, 9));
    expect(slack.get(1)).toBeGreaterThan(first);
    expect(first).toBeGreaterThan(0);
  });
});
