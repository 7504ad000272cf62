import { it } from 'vitest';
import { run } from '../sim/fixtures.js';
import { optionsOf } from '../sim/random-run.js';
import { LiteralClockwork } from '../policies/clockwork/literal.js';
it('dbg', async () => {
  const drawn: any = JSON.parse(process.env.CASE as string);
  const o = drawn.policy.options;
  const fast = await run(optionsOf(drawn));
  const lit = await run({ ...optionsOf(drawn), policy: (c: any) => new LiteralClockwork(c, { scheduleAheadNs: o.scheduleAhead, latestDeltaNs: o.latestDelta, maxBatch: o.maxBatch, maxExecNs: o.maxExec }) });
  const k = (a: any) => `${a.id} kind${a.kind} gpu${a.gpu} m${a.model} b${a.batchSize} n${a.count} sent ${a.sentNs} handled ${a.handledNs} status ${a.status} dur ${a.expectedDurationNs}`;
  const byId = (r: any) => r.actions.slice().sort((a: any, b: any) => a.id - b.id).map(k);
  const A = byId(fast), B = byId(lit);
  let i = 0; while (i < A.length && A[i] === B[i]) i++;
  console.log('first diff', i, A.length, B.length);
  for (let j = Math.max(0, i - 14); j < i + 3; j++) console.log('F', A[j], '\nL', B[j]);
});
