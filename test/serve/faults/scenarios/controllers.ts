import { expect } from 'vitest';
import { until } from '../../../cli/server-process.js';
import { type Scenario, STARTING } from '../play.js';

/** What a controller that ends and one that starts may answer. */
const ENDING = new RegExp(`shutting down|draining|${STARTING.source}`);

/** What a client had under way breaks off when a controller ends, and so may a connection that comes at that moment. */
const STARTS_AGAIN = 2;

/** What happens to the process of a controller, besides what chaos draws. */
export const CONTROLLER_FAULTS: readonly Scenario[] = [
  {
    name: 'the controller is killed, and comes back to the same workers',
    breaks: STARTS_AGAIN,
    excuse: STARTING,
    inject: async (rig) => {
      await rig.controller?.kill('SIGKILL');
      await rig.startController();
    },
  },
  {
    name: 'the controller is asked to end, and comes back',
    breaks: STARTS_AGAIN,
    excuse: ENDING,
    inject: async (rig) => {
      expect(await rig.controller?.kill('SIGTERM')).toBe(0);
      await rig.startController();
    },
  },
  {
    name: 'a controller starts while a worker is away, which comes later',
    breaks: STARTS_AGAIN,
    excuse: STARTING,
    inject: async (rig, clients) => {
      await rig.workers[0].kill('SIGKILL');
      await rig.controller?.kill('SIGKILL');
      await rig.startController();
      await clients.someMore(30);
      await rig.restart(0);
      await rig.allUp();
      await rig.workers[1].kill('SIGKILL');
      await clients.someMore(30);
      await rig.restart(1);
    },
  },
  {
    name: 'a controller starts while a link is accepted, and nothing more',
    breaks: STARTS_AGAIN,
    excuse: STARTING,
    inject: async (rig, clients) => {
      await rig.controller?.kill('SIGKILL');
      rig.links[1].weather.greeting = 'silence';
      await rig.startController();
      await clients.someMore(30);
      rig.links[1].clear();
    },
  },
  {
    name: 'another controller comes, gets no worker, and ends',
    inject: async (rig, clients) => {
      const other = rig.newController();
      // One that is asked to end before it listens has not started, and says so by its status.
      await until(() => other.log.some(({ msg }) => msg === 'listening') && /stands by/.test(other.stderr));
      await clients.someMore(30);
      expect(await other.kill('SIGTERM')).toBe(0);
    },
  },
  {
    name: 'a thread of the controller hangs: frontend',
    breaks: STARTS_AGAIN,
    excuse: ENDING,
    inject: async (rig) => {
      const hung = rig.controller;
      hung?.send({ hang: 'frontend' });
      await until(() => hung?.hasEnded === true);
      expect(hung?.stderr).toMatch(/"code":"E_HUNG"/);
      // Node aborts where it cannot end the thread.
      expect([50, null]).toContain(await hung?.kill('SIGKILL'));
      await rig.startController();
    },
  },
];
