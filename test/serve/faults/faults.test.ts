import { expect, it } from 'vitest';
import { sleep } from './counting-clients.js';
import { Rig } from './rig.js';

it('loses, doubles and fails no request while a worker dies, a link breaks and bytes are corrupted', async () => {
  const rig = await new Rig().start(2);
  await rig.allUp();
  const clients = rig.clients(10_000);
  await clients.someMore(50);

  await rig.workers[0].kill('SIGKILL');
  await clients.someMore(50);
  await rig.restart(0);
  await rig.allUp();

  rig.links[1].cut();
  await clients.someMore(50);
  await rig.allUp();

  rig.links[0].weather.corruptEvery = 10;
  while (rig.links[0].flipped < 6) await sleep(20);
  rig.links[0].clear();
  await rig.allUp();
  await clients.someMore(50);

  const { sent, ok, lost, broken, wrong, failures } = await clients.stop();
  expect({ lost, broken, wrong, failures: [...failures] }).toEqual({
    lost: 0,
    broken: 0,
    wrong: [],
    failures: [],
  });
  expect(ok).toBe(sent);
  const lines = rig.controller?.stderr.trimEnd().split('\n') ?? [];
  expect(lines.filter((line) => !line.startsWith('{'))).toEqual([]);
});
