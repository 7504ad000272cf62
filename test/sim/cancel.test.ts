import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkRun } from '../../src/audit/check-run.js';
import { parseExperiment } from '../../src/config/load.js';
import type { ArrivalSource } from '../../src/core/arrivals.js';
import { POLICIES } from '../../src/policies/registry.js';
import { type Engine, run as runExperiment } from '../../src/run/run.js';
import { SIMULATED } from '../../src/run/simulated.js';
import { tempDir } from '../cli/run-cli.js';
import { ListSource, MS, poisson, type Run, resnets, run } from './fixtures.js';

describe('in every simulated run in which clients go', () => {
  it.each(POLICIES.map(({ kind }) => kind))(
    'what is withdrawn as it comes is as good as never sent, under %s',
    async (policy) => {
      const slosNs = [100 * MS];
      const models = resnets(3);
      const stays = poisson({ seed: 5, rateRps: 900, durationNs: 500 * MS, models: 3, slosNs });
      const cluster = { models, gpus: 2, pages: 16, seed: 1, defaultSloNs: 100 * MS, policy };
      const doubled = stays.flatMap((arrival) => [arrival, { ...arrival, model: (arrival.model + 1) % 3 }]);
      const source = new ListSource(doubled, (nth) => (nth % 2 === 0 ? Number.POSITIVE_INFINITY : 0));
      const withThem = await run({ ...cluster, source, checks: true });
      const without = await run({ ...cluster, source: new ListSource(stays), checks: true });
      expect(withThem.actions).toEqual(without.actions);
      const seen = ({ answers }: Run) => answers.map(({ id, user, ...rest }) => rest);
      expect(seen(withThem)).toEqual(seen(without));
    },
  );
});

/** Every fourth client goes after half a millisecond. */
function leaving(source: ArrivalSource): ArrivalSource {
  const advance = source.advance.bind(source);
  let count = 0;
  source.advance = () => {
    advance();
    source.patienceNs = ++count % 4 === 0 ? 0.5 * MS : Number.POSITIVE_INFINITY;
  };
  return source;
}

it('counts them apart, which the audit confirms', async () => {
  const text = `name: cancelled
cluster: { gpus: 2, pages: 30 }
models: { kind: fit, name: model, parameters: 10M, copies: 4 }
workload: { kind: poisson, rate: 2000/s, duration: 1s }
slo: 100ms
warmup: 200ms
output: { requestLog: true, actionLog: true }
`;
  const experiment = await parseExperiment(text, 'cancelled.yaml');
  const outDir = join(tempDir(), 'out');
  mkdirSync(outDir);
  const engine: Engine = {
    ...SIMULATED,
    drive: (task) => SIMULATED.drive({ ...task, source: leaving(task.source) }),
  };
  const { result } = await runExperiment(experiment, engine, { outDir });
  writeFileSync(join(outDir, 'run.json'), JSON.stringify(result));
  const { cancelled = 0, requests } = result.summary;
  expect(cancelled).toBeGreaterThan(50);
  expect(requests.offered).toBeGreaterThan(cancelled);
  const { claims, ok, violations } = checkRun(outDir, { slackNs: 0 });
  expect(violations).toEqual([]);
  expect(claims.find(({ figure }) => figure === 'cancelled')).toMatchObject({ claimed: cancelled, ok: true });
  expect(ok).toBe(true);
  const wrong = { ...result, summary: { ...result.summary, cancelled: cancelled + 1 } };
  writeFileSync(join(outDir, 'run.json'), JSON.stringify(wrong));
  expect(checkRun(outDir, { slackNs: 0 }).ok).toBe(false);
});
