import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSmallServer } from '../../tools/conform/small-server.js';
import { runCli, tempDir } from '../run-cli.js';

const conform = async (defect: string, ...args: string[]) =>
  runCli(['conform', `http://127.0.0.1:${await openSmallServer(defect)}`, '--timeout', '3s', ...args]);

describe('conform', () => {
  it('succeeds with a server that conforms, and says what it found', async () => {
    const { status, stdout } = await conform('', '--only', 'http', '--only', 'grpc.live');
    expect(stdout).toContain('small 1, model twice, version 1');
    expect(stdout).toMatch(/✔ http\.infer-id +the id of a request comes back/);
    expect(stdout).toMatch(/– grpc\.live +skipped: no --grpc HOST:PORT/);
    expect(stdout).toContain('0 failed, 0 absent, 1 skipped. No required case failed.');
    expect(status).toBe(0);
  });

  it('does not call a run good that decided nothing', async () => {
    const { status, stdout } = await conform('', '--only', 'repository.unload-load');
    expect(stdout).toContain('0 passed, 0 failed, 0 absent, 1 skipped. No case could be decided.');
    expect(status).toBe(0);
  });

  it('exits with 7 and shows the exchange if a required case fails', async () => {
    const junit = join(tempDir(), 'conform.xml');
    const { status, stdout, stderr } = await conform('wrong-id', '--only', 'http', '--junit', junit);
    expect(status).toBe(7);
    expect(stderr).toContain('E_CONFORM: 2 cases failed: http.infer-id, http.infer-id-text');
    expect(stdout).toContain('"42" came back as "0"');
    expect(stdout).toContain('sent     POST /v2/models/twice/infer');
    const xml = readFileSync(junit, 'utf8');
    expect(xml).toContain('failures="2"');
    expect(xml).toContain('<failure message="&quot;42&quot; came back as &quot;0&quot;" type="required">');
  });

  it('says who asks for what failed', async () => {
    const { stdout } = await conform('never-binary', '--only', 'binary.output', '--only', 'errors.bad-json');
    expect(stdout.replace(/\s+/g, ' ')).toMatch(/✘ binary\.output .* \(required by the extension\) found /);
    const { stdout: plain } = await conform('plain-errors', '--only', 'errors.bad-json');
    expect(plain.replace(/\s+/g, ' ')).toContain('(required) found the body is not JSON');
  });

  it('counts advice with --strict only', async () => {
    expect((await conform('blames-itself', '--only', 'errors')).status).toBe(0);
    expect((await conform('blames-itself', '--only', 'errors', '--strict')).status).toBe(7);
  });

  it('prints one JSON object with --json', async () => {
    const { stdout } = await conform('wrong-id', '--only', 'http.infer-id', '--json');
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ model: 'twice', failed: ['http.infer-id'], totals: { pass: 0, fail: 1 } });
    expect(report.cases[0].exchanges[0].got).toContain('"id":"0"');
  });

  it('prints nothing of a server that could move the cursor of a terminal', async () => {
    const { stdout } = await conform('escapes', '--only', 'http.server-metadata');
    expect(stdout).toContain('small');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not appear.
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it('says what a server needs that requires a token', async () => {
    const { status, stderr } = await conform('wants-token');
    expect(stderr).toContain('the status is 401, not 200; pass a file with its token to --token-file');
    expect(status).toBe(48);
  });

  it.each([
    [['nonsense'], 2, 'nonsense: write http://HOST:PORT or https://HOST:PORT'],
    [['http://127.0.0.1:9', '--grpc', '8001'], 2, '--grpc 8001: write HOST:PORT'],
    [
      ['http://127.0.0.1:9', '--only', 'grpc'],
      2,
      '--only grpc: every case of it needs gRPC; add --grpc HOST:PORT',
    ],
    [['http://127.0.0.1:9', '--only', 'http.nothing'], 2, 'there is no such group or case'],
    [['http://127.0.0.1:9', '--priority', '0'], 2, '--priority 0: must be a whole number, at least 1'],
    [
      ['http://127.0.0.1:9', '--limited-tenant', 'a b'],
      2,
      '--limited-tenant a b: write letters, digits and - _ . only',
    ],
    [['http://127.0.0.1:9'], 48, 'http://127.0.0.1:9 cannot be reached'],
  ])('%j ends with %i', async (args, status, message) => {
    const run = await runCli(['conform', ...args]);
    expect(run.stderr).toContain(message);
    expect(run.status).toBe(status);
  });
});
