import { it } from 'vitest';
import { play, type Scenario } from './play.js';
import { CLIENT_FAULTS } from './scenarios/clients.js';
import { CONTROLLER_FAULTS } from './scenarios/controllers.js';
import { FRAME_FAULTS, LINK_FAULTS } from './scenarios/links.js';
import { WORKER_FAULTS } from './scenarios/workers.js';

/** Those that take no time, of each family; all of them are in the long tests. */
const QUICK = [
  'a worker is killed, and comes back',
  'the GPU of a worker fails from inside, and its thread is replaced',
  'the clock of a worker jumps ahead by an hour',
  'all links are cut at once',
  'a link corrupts one of 3 chunks',
  'a link flips a bit in the body of a message',
  'a link breaks in the middle of a frame',
  'a link says everything twice',
  'clients vanish before their answers come',
  'a frontend thread fails from inside, again and again',
  'a thread of the controller hangs: links',
  'the controller is killed, and comes back to the same workers',
];

it('no fault loses, doubles or fails a request that it need not', { timeout: 600_000 }, async () => {
  const all = [...WORKER_FAULTS, ...LINK_FAULTS, ...FRAME_FAULTS, ...CLIENT_FAULTS, ...CONTROLLER_FAULTS];
  await play(QUICK.map((name) => found(all, name)));
});

function found(scenarios: readonly Scenario[], name: string): Scenario {
  const scenario = scenarios.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  return scenario;
}
