import { describe, expect, it } from 'vitest';
import { PhasedSource } from '../../../../src/tools/bench/scaling/phased-source.js';

interface Played {
  readonly log: string[];
  readonly models: number[];
  readonly source: PhasedSource;
}

/** Answers the oldest request each time that nothing is due; `fails` says which answers (from 1) are failures. */
function playAll(phases: readonly number[], clients: number, fails: readonly number[] = []): Played {
  const log: string[] = [];
  const models: number[] = [];
  const source = new PhasedSource({
    clients,
    mix: [0.75, 0.25],
    sloNs: 1e9,
    phases,
    pauseNs: 1000,
    begin: (phase, dueNs) => log.push(`begin ${phase} at ${dueNs}`),
    end: (phase, nowNs) => log.push(`end ${phase} at ${nowNs}`),
  });
  const outstanding: number[] = [];
  let nowNs = 0;
  let answers = 0;
  let most = 0;
  for (;;) {
    if (source.timeNs !== Number.POSITIVE_INFINITY && (source.timeNs <= nowNs || outstanding.length === 0)) {
      nowNs = Math.max(nowNs, source.timeNs);
      outstanding.push(source.user);
      models.push(source.model);
      source.advance();
      most = Math.max(most, outstanding.length);
      continue;
    }
    const user = outstanding.shift();
    if (user === undefined) break;
    nowNs += 1_000_000;
    if (fails.includes(++answers)) source.again();
    source.answered(user, nowNs);
  }
  log.push(`${models.length} requests, ${most} at once`);
  return { log, models, source };
}

describe('phased source', () => {
  it('plays phases of a fixed number of requests, each when the one before is answered', () => {
    expect(playAll([3, 5], 2).log).toEqual([
      'begin 0 at 0',
      'end 0 at 3000000',
      'begin 1 at 3001000',
      'end 1 at 8001000',
      '8 requests, 2 at once',
    ]);
  });

  it('deals requests to models by their shares', () => {
    const { models } = playAll([40], 4);
    expect(models.filter((model) => model === 1)).toHaveLength(10);
  });

  it('sends again what had no result, the last request of a phase, too', () => {
    expect(playAll([3, 2], 2, [1, 4]).log).toEqual([
      'begin 0 at 0',
      'end 0 at 5000000',
      'begin 1 at 5001000',
      'end 1 at 7001000',
      '7 requests, 2 at once',
    ]);
  });

  it('uses no more clients than there are requests', () => {
    expect(playAll([2], 10).log.at(-1)).toBe('2 requests, 2 at once');
  });

  it('has nothing more after the last phase', () => {
    expect(playAll([1], 1).source.timeNs).toBe(Number.POSITIVE_INFINITY);
  });
});
