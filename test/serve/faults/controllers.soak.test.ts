import { expect, it } from 'vitest';
import { play } from './play.js';
import { Rig } from './rig.js';
import { CONTROLLER_FAULTS } from './scenarios/controllers.js';

it('faults of a controller cost no more than what it was at', { timeout: 900_000 }, async () => {
  await play(CONTROLLER_FAULTS);
});

it('a worker ends in its time, though its controller hangs', async () => {
  const rig = await new Rig({ workers: 1 }).start();
  await rig.allUp();
  rig.controller?.signal('SIGSTOP');
  const begin = performance.now();
  expect(await rig.workers[0].kill('SIGTERM')).toBe(0);
  expect(performance.now() - begin).toBeLessThan(20_000);
  rig.controller?.signal('SIGCONT');
});
