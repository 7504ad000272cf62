import { it } from 'vitest';
import { play } from './play.js';
import { CONTROLLER_FAULTS } from './scenarios/controllers.js';
import { LINK_FAULTS } from './scenarios/links.js';
import { WORKER_FAULTS } from './scenarios/workers.js';

/** One of each family, that ends by an event. The swarm has all in virtual time, `npm run soak` among real processes. */
const FEW = [
  'a worker is killed, and comes back',
  'all links are cut at once',
  'the controller is killed, and comes back to the same workers',
];

it('no fault loses, doubles or fails a request that it need not', async () => {
  const all = [...WORKER_FAULTS, ...LINK_FAULTS, ...CONTROLLER_FAULTS];
  await play(
    FEW.map((name) => {
      const scenario = all.find((each) => each.name === name);
      if (scenario === undefined) throw new Error(`no scenario ${name}`);
      return scenario;
    }),
  );
});
