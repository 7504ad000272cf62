import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ServerProcess, tinyProfile, until } from '../cli/server-process.js';

it('what Node warns of in any thread of a server is a line of its log, once', async () => {
  const file = fileURLToPath(new URL('warn.mjs', import.meta.url));
  const env = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${file}` };
  const args = ['--device', `simulated:${tinyProfile()}`];
  for (const port of ['http', 'grpc', 'metrics']) args.push(`--${port}-port`, '0');
  const server = new ServerProcess(['serve', ...args], { env, hears: true });
  await server.ready();
  const warnings = () =>
    server.log.filter((line) => 'name' in line && line.name === 'MadeUpWarning') as unknown as {
      readonly thread: string;
      readonly level: string;
      readonly msg: string;
    }[];
  server.send({});
  const threads = () => new Set(warnings().map(({ thread }) => thread));
  await until(() => ['main', 'frontend-http', 'frontend-grpc'].every((thread) => threads().has(thread)));
  await server.kill('SIGTERM');
  expect(warnings().filter(({ level }) => level !== 'warn')).toEqual([]);
  const texts = warnings().map(({ msg }) => msg);
  expect(texts).toEqual([...new Set(texts)]);
  for (const text of texts) expect(server.stderr.split(text)).toHaveLength(2);
  expect(server.stderr.match(/^(?!\{).*$/gm)).toEqual(['']);
  expect(server.stdout).toBe('');
});
