import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readTrace } from '../live/recording/trace-reader.js';
import { tempDir } from './run-cli.js';
import { infer, ServerProcess, tinyProfile, until } from './server-process.js';

it.skipIf(process.platform === 'win32')(
  'SIGUSR2 starts a timeline of a server that runs, and the next one writes it (Windows has no such signal)',
  async () => {
    const recordingDir = tempDir();
    const server = new ServerProcess([
      ...['serve', '--device', `simulated:${tinyProfile()}`],
      ...['--http-port', '0', '--grpc-port', 'off', '--metrics-port', 'off'],
      ...['--set', `runtime.recordingDir=${recordingDir}`, '--set', 'slo=10s'],
    ]);
    const { http } = await server.ready();
    const said = (what: string) => server.log.some(({ msg }) => msg.startsWith(what));
    void server.kill('SIGUSR2');
    await until(() => said('recording, for'));
    expect(await infer(http, 'tiny')).toBe(200);
    void server.kill('SIGUSR2');
    await until(() => said('the recording is written'));
    const written = server.log.find(({ msg }) => msg.startsWith('the recording is written'));
    const { file } = written as unknown as { file: string };
    const trace = readTrace(file);
    expect(trace.spans.map(({ begin }) => begin.name)).toContain('request ok');
    expect(await server.kill('SIGTERM')).toBe(0);
    expect(readdirSync(recordingDir)).toHaveLength(1);
  },
);
