import { expect, it } from 'vitest';
import { tempDir } from '../../cli/run-cli.js';
import { get, tinyProfile } from '../../cli/server-process.js';
import { sleep } from './clients/counting-clients.js';
import { newIdentity, noOpenssl } from './identities.js';
import { play, type Scenario } from './play.js';
import { faultyProcess, Rig, type RigOptions } from './rig.js';
import { CLIENT_FAULTS } from './scenarios/clients.js';
import { CONTROLLER_FAULTS } from './scenarios/controllers.js';
import { encryptionFaults } from './scenarios/encryption.js';
import { LINK_FAULTS } from './scenarios/links.js';
import { DOUBLING, IDLE, modelFaults, writeModels } from './scenarios/models.js';
import { DISK_FAULTS, RESOURCE_FAULTS } from './scenarios/resources.js';
import { WORKER_FAULTS } from './scenarios/workers.js';

const TIMEOUT = { timeout: 900_000 };
const CLOCKWORK = { settings: ['policy.kind=clockwork'] };
const links = (names: RegExp) => LINK_FAULTS.filter(({ name }) => names.test(name));

it.each<[string, readonly Scenario[], RigOptions?]>([
  ['faults of workers under clockwork', WORKER_FAULTS, CLOCKWORK],
  ['faults of workers under escapement', WORKER_FAULTS],
  ['faults of controllers', CONTROLLER_FAULTS],
  ['faults of links', LINK_FAULTS],
  ['late links under narrow windows', links(/late|carries/), CLOCKWORK],
  ['clients that break off, and processes that run out of something', [...CLIENT_FAULTS, ...RESOURCE_FAULTS]],
  ['a journal or log that cannot be written', DISK_FAULTS, { keepsFiles: false }],
])('%s: no request is lost or failed without need', TIMEOUT, async (_, scenarios, options) => {
  await play(scenarios, options);
});

it('faults of encrypted links, and of certificates, cost no request', TIMEOUT, async ({ skip }) => {
  skip(noOpenssl, 'openssl, which makes the certificates, is not installed');
  const ours = newIdentity();
  await play([...encryptionFaults(ours), ...links(/ten times|at once|corrupts/)], {
    linkTls: ours,
    clientTls: newIdentity(),
  });
});

it(
  'losses of workers while ONNX models are replaced, sleep and wake up cost no request',
  TIMEOUT,
  async () => {
    const repository = tempDir();
    writeModels(repository);
    await play(modelFaults(repository), {
      device: ['--repository', repository, '--memory', '256MiB'],
      subjects: DOUBLING,
      controllerArgs: ['--model-control', 'poll', '--poll-interval', '300ms', '--idle-unload', IDLE],
    });
  },
);

it('a worker ends in its time, though its controller hangs', async () => {
  const rig = await new Rig({ workers: 1 }).start();
  await rig.allUp();
  rig.controller?.signal('SIGSTOP');
  const begin = performance.now();
  expect(await rig.workers[0].kill('SIGTERM')).toBe(0);
  expect(performance.now() - begin).toBeLessThan(20_000);
  rig.controller?.signal('SIGCONT');
});

it('a server that was stopped for longer than a thread may hang is live at once', async () => {
  const ports = ['--http-port', '0', '--grpc-port', 'off', '--metrics-port', 'off'];
  const server = faultyProcess(['serve', '--device', `simulated:${tinyProfile()}`, ...ports]);
  const { http } = await server.ready();
  server.signal('SIGSTOP');
  await sleep(11_000);
  server.signal('SIGCONT');
  for (let i = 0; i < 20; i++) {
    expect((await get(http, '/v2/health/live')).status).toBe(200);
    await sleep(50);
  }
});
