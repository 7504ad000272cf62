import { it } from 'vitest';
import { play } from './play.js';
import { WORKER_FAULTS } from './scenarios/workers.js';

it.each([
  ['clockwork', ['policy.kind=clockwork']],
  ['escapement', ['policy.kind=escapement']],
])('under %s, faults of workers cost no request', { timeout: 900_000 }, async (_, settings) => {
  await play(WORKER_FAULTS, { settings });
});
