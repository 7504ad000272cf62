import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ServerProcess, tinyProfile, until } from '../cli/server-process.js';

/** A process whose threads warn when it gets a message. */
function warningProcess(args: readonly string[]): ServerProcess {
  const file = fileURLToPath(new URL('warn.mjs', import.meta.url));
  const env = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${file}` };
  return new ServerProcess(args, { env, hears: true });
}

/** Asks for warnings; resolves when each of these threads has warned and the process has ended. */
async function warningsOf(subject: ServerProcess, threads: readonly string[]) {
  const warnings = () =>
    subject.log.filter((line) => 'name' in line && line.name === 'MadeUpWarning') as unknown as {
      readonly thread: string;
      readonly level: string;
      readonly msg: string;
    }[];
  subject.send({});
  await until(() => threads.every((thread) => warnings().some((warning) => warning.thread === thread)));
  await subject.kill('SIGTERM');
  return warnings();
}

const PORTS = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
const FRONTENDS = ['main', 'frontend-http', 'frontend-grpc'];

it.each([
  ['a server', FRONTENDS],
  ['a controller', FRONTENDS],
  ['a worker', ['main']],
])('what Node warns of in any thread of %s is a line of its log, once', async (what, threads) => {
  const device = ['--device', `simulated:${tinyProfile()}`];
  const worker = warningProcess(['worker', ...device, '--port', '0', '--metrics-port', 'off']);
  const { port } = await worker.ready();
  const subject =
    what === 'a worker'
      ? worker
      : warningProcess(
          what === 'a server'
            ? ['serve', ...device, ...PORTS]
            : ['controller', '--worker', `127.0.0.1:${port}`, ...PORTS],
        );
  await subject.ready();

  const warnings = await warningsOf(subject, threads);

  expect(warnings.filter(({ level }) => level !== 'warn')).toEqual([]);
  const texts = warnings.map(({ msg }) => msg);
  expect(texts).toEqual([...new Set(texts)]);
  for (const text of texts) expect(subject.stderr.split(text)).toHaveLength(2);
  expect(subject.stderr.match(/^(?!\{).*$/gm)).toEqual(['']);
  expect(subject.stdout).toBe('');
});
