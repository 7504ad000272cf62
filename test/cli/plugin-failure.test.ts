import { expect, it } from 'vitest';
import { tempDir, writeIn } from './run-cli.js';
import { infer, ServerProcess, tinyProfile } from './server-process.js';

/** Keeps requests, and throws when it schedules with one waiting. */
const PLUGIN = `let waiting = 0;
export default {
  kind: 'mine', summary: 'throws', options: {},
  create: () => ({
    name: 'mine', admit: (slot, nowNs) => { waiting++; return nowNs + 1e9; }, timedOut() {}, finished() {},
    weightsLost() {}, weightsFound() {}, lanesChanged() {}, queued: () => waiting, nextWakeNs: () => Infinity,
    schedule() { if (waiting > 0) throw new Error('boom'); },
  }),
};
`;

it('a server whose policy throws ends with the code and one line, not with a stack', async () => {
  const plugin = writeIn(tempDir(), 'mine.mjs', PLUGIN);
  const server = new ServerProcess([
    ...['serve', '--device', `simulated:${tinyProfile()}`, '--plugin', plugin],
    ...['--http-port', '0', '--grpc-port', 'off', '--metrics-port', 'off'],
    ...['--set', 'policy.kind=mine', '--set', 'slo=10s'],
  ]);
  const { http } = await server.ready();
  await expect(infer(http, 'tiny')).rejects.toThrow();
  expect(await server.kill('SIGTERM')).toBe(37);
  const text = server.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  expect(text).toEqual([
    expect.stringMatching(/^escapement: E_PLUGIN: .*mine\.mjs: schedule of policy mine failed: Error: boom/),
  ]);
});
