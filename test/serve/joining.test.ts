import { Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { Clock } from '../../src/base/clock/clock.js';
import { NS_PER_S } from '../../src/base/units.js';
import type { Fleet } from '../../src/live/controller/fleet.js';
import { FleetWorker } from '../../src/live/controller/fleet-worker.js';
import { EventLog } from '../../src/live/observe/event-log.js';
import { Registrar } from '../../src/live/worker/endpoint/registrar.js';
import { REAL_WORLD } from '../../src/live/world/real-world.js';
import { openJoining } from '../../src/serve/joining.js';
import { until } from '../cli/server-process.js';
import { description, FakeWorker } from '../live/controller/fake-worker.js';
import { keptLog } from './fixtures.js';

class MovedClock extends Clock {
  aheadNs = 0;

  override nowNs(): number {
    return super.nowNs() + this.aheadNs;
  }
}

const JOINED = { gpuNumbers: [0], drivenBy: 'this', phase: 'serving' } as const;

/** A port for registrations, its log, and the workers that were added. */
async function open() {
  const clock = new MovedClock();
  const { log, lines } = keptLog();
  const newLink = ({ address }: { address: string }) => new FakeWorker(address);
  const registry = new Registry();
  const joining = await openJoining(
    { host: '127.0.0.1', port: 0, token: 'secret', maxGpus: 1, newLink },
    REAL_WORLD,
    clock,
    new EventLog(log),
    registry,
  );
  onTestFinished(() => joining.close());
  const members: FleetWorker[] = [];
  const add: Fleet['add'] = (registration, newLink) => {
    const member = new FleetWorker(newLink, REAL_WORLD.time, registration);
    members.push(Object.assign(member, { ...JOINED, description: description() }));
    return member;
  };
  joining.begin({ staticWorker: () => null, mayDial: true, add, leave: () => {} } as unknown as Fleet);
  const register = (token: string, instance: string, address = 'gpu-7:9000') => {
    const controller = `127.0.0.1:${joining.port}`;
    const registration = { address, port: 9000, instance };
    const own = new Registrar({ controller, token, registration, log: () => {} });
    onTestFinished(() => own.leave());
    return own;
  };
  const said = (what: string) => lines.filter(({ msg }) => msg.includes(what));
  return { clock, members, register, said, metrics: () => registry.metrics() };
}

it('says who is turned away and why, once a minute, and counts each', async () => {
  const { register, said, metrics } = await open();
  register('secret', 'one');
  await until(() => said('has joined').length === 1);
  register('', 'two');
  register('secret', 'three');
  const wrong = /^escapement_registrations_turned_away_total\{reason="token"\} ([5-9]|\d\d)/m;
  await until(async () => wrong.test(await metrics()));
  const from = 'a worker that registers from 127.0.0.1 is rejected: ';
  const token = said(`${from}the token is not the one that this controller asks for`);
  expect(token.map(({ level }) => level)).toEqual([40]);
  const address = said(`${from}it claims to serve at gpu-7:9000, where another worker is connected`);
  expect(address).toHaveLength(1);
  const text = await metrics();
  expect(text).toMatch(/_turned_away_total\{reason="address"\} [1-9]/);
  expect(text).toMatch(/_turned_away_total\{reason="protocol"\} 0$/m);
});

it('warns of a worker that has died, not of one that has left', async () => {
  const { members, register, said, clock } = await open();
  const leaving = register('secret', 'one', 'gpu-1:9000');
  register('secret', 'two', 'gpu-2:9000');
  await until(() => said('has joined').length === 2);
  await leaving.leave();
  for (const member of members) Object.assign(member, { drivenBy: 'none', phase: 'connecting' });
  members.find(({ link }) => link.name === 'gpu-1:9000')!.phase = 'gone';
  await until(() => said('has left').length === 1);
  expect(said('has left')).toMatchObject([{ level: 30, msg: 'worker gpu-1:9000 has left: it shuts down' }]);
  // It does not renew its lease so soon.
  await until(() => {
    clock.aheadNs += 6 * NS_PER_S;
    return said('gpu-2:9000 has left').length > 0;
  });
  expect(said('gpu-2:9000 has left')[0]).toMatchObject({
    level: 40,
    msg: 'worker gpu-2:9000 has left: its lease has ended',
  });
});
