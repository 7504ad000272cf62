import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { ACTION_NAMES } from '../../src/core/action.js';
import type { ArrivalSource } from '../../src/core/arrivals.js';
import { OUTCOME_NAMES } from '../../src/core/request.js';
import type { Simulator } from '../../src/sim/index.js';
import { type Run, run } from './fixtures.js';
import { GOLDEN_RUNS } from './golden-runs.js';

/** Clients of golden runs wait. */
const ANSWERS = OUTCOME_NAMES.filter((name) => name !== 'cancelled');

/**
 * What each golden run decided. A digest that changes means that decisions changed: if that was the purpose,
 * renew the file with
 *
 *     UPDATE_GOLDEN=1 npx vitest run test/sim/golden.test.ts
 *
 * and look in its diff at what the change did to outcomes and actions.
 */
const FILE = fileURLToPath(new URL('../golden/digests.json', import.meta.url));
const UPDATE = process.env.UPDATE_GOLDEN === '1';

interface Golden {
  readonly digest: string;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly actions: Readonly<Record<string, number>>;
}

const golden = (existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {}) as Record<string, Golden>;
const found: Record<string, Golden> = {};

describe('golden runs decide what they always did, and obey Little’s law', () => {
  it.each(GOLDEN_RUNS)('%s', async (name, options) => {
    const { source, ...rest } = await options();
    const watched = new WatchedSource(source);
    const ended = await run({
      ...rest,
      source: watched.source,
      onStart: (simulator) => {
        watched.simulator = simulator;
      },
    });
    found[name] = summary(ended);
    if (!UPDATE) expect(found[name]).toEqual(golden[name]);
    // L = λW: requests present, summed over time, are the times that requests spend, summed over requests.
    const spentNs = ended.answers.reduce((sum, { arrivalNs, nowNs }) => sum + (nowNs - arrivalNs), 0);
    expect(spentNs).toBeGreaterThan(0);
    expect([watched.presentNs, ended.simulator.controller.requests.size]).toEqual([spentNs, 0]);
  });

  it('are all told apart by their digests', () => {
    const digests = Object.values(UPDATE ? found : golden).map(({ digest }) => digest);
    expect(digests).toHaveLength(GOLDEN_RUNS.length);
    expect(new Set(digests).size).toBe(digests.length);
  });

  afterAll(() => {
    if (UPDATE) writeFileSync(FILE, `${JSON.stringify(found, null, 2)}\n`);
  });
});

function summary({ digest, answers, actions }: Run): Golden {
  const count = (names: readonly string[], of: readonly number[]) =>
    Object.fromEntries(names.map((name, i) => [name, of.filter((value) => value === i).length]));
  return {
    digest,
    outcomes: count(
      ANSWERS,
      answers.map(({ outcome }) => outcome),
    ),
    actions: count(
      ACTION_NAMES,
      actions.map(({ kind }) => kind),
    ),
  };
}

/** The simulator asks a source for its time once an instant is over, and before the next one begins. */
class WatchedSource {
  simulator: Simulator | null = null;
  /** Requests present × time. */
  presentNs = 0;
  readonly source: ArrivalSource;
  private size = 0;
  private sinceNs = 0;

  constructor(source: ArrivalSource) {
    this.source = new Proxy(source, {
      get: (target, key) => {
        if (key === 'timeNs') this.look();
        const value = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  private look(): void {
    if (this.simulator === null) return;
    const { nowNs, controller } = this.simulator;
    this.presentNs += this.size * (nowNs - this.sinceNs);
    this.sinceNs = nowNs;
    this.size = controller.requests.size;
  }
}
