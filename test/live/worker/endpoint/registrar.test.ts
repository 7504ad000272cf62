import { expect, it, onTestFinished } from 'vitest';
import { REAL_TIME } from '../../../../src/base/world/real-time.js';
import type { Time } from '../../../../src/base/world/time.js';
import { openRegistration } from '../../../../src/live/controller/registration/registration-endpoint.js';
import type { Registrations } from '../../../../src/live/controller/registration/registrations.js';
import { REAL_NETWORK } from '../../../../src/live/wire/real-network.js';
import { Registrars } from '../../../../src/live/worker/endpoint/registrar.js';
import { until } from '../../../cli/server-process.js';

/** A controller that counts who registers and who leaves. */
async function controllerAt(host: string, port: number) {
  const counts = { renewed: 0, left: 0 };
  const registrations = {
    renew: () => {
      counts.renewed++;
      return { leaseMs: 5000, joined: true, problem: '' };
    },
    leave: () => {
      counts.left++;
    },
  };
  const endpoint = await openRegistration(registrations as unknown as Registrations, {
    host,
    port,
  });
  onTestFinished(() => endpoint.close());
  return { counts, port: endpoint.port };
}

/** Looks addresses up a hundred times as often. */
const HASTY: Time = { ...REAL_TIME, every: (ms, run) => REAL_TIME.every(ms < 5000 ? ms : ms / 100, run) };

function registrars(controller: string, lookup = REAL_NETWORK.lookup, time = HASTY) {
  const said: string[] = [];
  const own = new Registrars({
    ...{ controller, token: '', registration: { address: '', port: 8003, instance: 'one' } },
    log: (line) => said.push(line),
    ...{ network: { ...REAL_NETWORK, lookup }, time },
  });
  onTestFinished(() => own.leave());
  return { own, said };
}

it('a worker registers with all controllers behind a name, and leaves those that are there no more', async () => {
  const first = await controllerAt('127.0.0.1', 0);
  const second = await controllerAt('127.0.0.2', first.port);
  let addresses = ['127.0.0.1', '127.0.0.2'];
  const { own } = registrars(`controllers.test:${first.port}`, async () => addresses);
  await until(() => first.counts.renewed > 0 && second.counts.renewed > 0);
  addresses = ['127.0.0.1'];
  await until(() => second.counts.left === 1);
  expect(first.counts.left).toBe(0);
  await own.leave();
  await until(() => first.counts.left === 1);
  expect(second.counts.left).toBe(1);
});

it('a name is looked up until it is found, and that it is not is said', async () => {
  const { counts, port } = await controllerAt('127.0.0.1', 0);
  let tries = 0;
  const { said } = registrars(`controllers.test:${port}`, async () => {
    if (++tries < 2) throw new Error('ENOTFOUND');
    return ['127.0.0.1'];
  });
  await until(() => counts.renewed > 0);
  expect(said[0]).toBe(`controller controllers.test:${port}: its name is not found: ENOTFOUND`);
  expect(said.filter((line) => line.includes('not found'))).toHaveLength(1);
});

it('one name of this machine is one controller, whatever addresses it has', async () => {
  const { counts, port } = await controllerAt('127.0.0.1', 0);
  const { said } = registrars(`localhost:${port}`);
  await until(() => counts.renewed > 1);
  expect(said).toEqual([`controller 127.0.0.1:${port}: has added this worker to its cluster`]);
});

it('a slow lookup is not repeated before it has ended', async () => {
  const { counts, port } = await controllerAt('127.0.0.1', 0);
  const answers: ((addresses: string[]) => void)[] = [];
  const ticks: (() => void)[] = [];
  const time: Time = {
    ...REAL_TIME,
    every: (ms, tick) => {
      ticks.push(tick);
      return REAL_TIME.every(ms, () => {});
    },
  };
  const lookup = () => new Promise<string[]>((resolve) => answers.push(resolve));
  registrars(`controllers.test:${port}`, lookup, time);
  const [lookAgain] = ticks;
  lookAgain();
  expect(answers).toHaveLength(1);
  answers[0](['127.0.0.1']);
  await until(() => counts.renewed > 0);
  lookAgain();
  expect(answers).toHaveLength(2);
});
