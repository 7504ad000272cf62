import { expect, it } from 'vitest';
import type { ActivityMessage } from '../../src/live/observe/ui/live-page.js';
import { tempDir, writeIn } from '../cli/run-cli.js';
import { ServerProcess, until } from '../cli/server-process.js';
import { body, serve, simulated, smallModels } from './fixtures.js';

const started = (ui: boolean, token: string | null = null) =>
  serve({ devices: simulated(1, 0), models: smallModels(1, 0) }, ['slo=10s'], {
    ui,
    frontend: { token, tls: null },
  });

it('without --ui there is no page', async () => {
  const { server } = await started(false);
  for (const path of ['/ui/', '/ui/page.js', '/ui/activity'])
    expect((await fetch(`http://127.0.0.1:${server.metrics?.port}${path}`)).status).toBe(404);
});

it('the page is public, runs no inline code, and its data need the token', async () => {
  const { server } = await started(true, 's3cret');
  const url = `http://127.0.0.1:${server.metrics?.port}/ui/`;
  for (const [name, type] of [
    ['', 'text/html'],
    ['page.js', 'text/javascript'],
    ['page.css', 'text/css'],
  ]) {
    const answer = await fetch(`${url}${name}`);
    expect([name, answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([
      name,
      200,
      type,
    ]);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    const text = await answer.text();
    expect(text).not.toContain('s3cret');
    expect(text).not.toContain('model0');
  }
  const html = await (await fetch(url)).text();
  expect(html).not.toMatch(/<style|\son\w+=|style=|javascript:/i);
  for (const [script] of html.matchAll(/<script[^>]*>[\s\S]*?<\/script>/g))
    expect(script).toBe('<script src="page.js" defer></script>');
  const refused = await fetch(`${url}activity`);
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  const admitted = await fetch(`${url}activity`, { headers: { authorization: 'Bearer s3cret' } });
  expect(admitted.status).toBe(200);
});

it('begins with the past, and goes on with what happens', async () => {
  const { server, http } = await started(true);
  const infer = () => http.post('/v2/models/model0/infer', body());
  await infer();
  const after = async (start: string, mark: number): Promise<ActivityMessage> => {
    const path = `ui/activity?start=${start}&after=${mark}`;
    return (await (
      await fetch(`http://127.0.0.1:${server.metrics?.port}/${path}`)
    ).json()) as ActivityMessage;
  };
  const first = await after('', 0);
  expect(first.setup).toMatchObject({ models: ['model0'], gpus: 1, oneLane: false, policy: 'escapement' });
  expect(rows(first.requests, 11).map(([id]) => id)).toEqual([0]);
  expect(rows(first.actions, 16).length).toBeGreaterThan(0);
  await infer();
  const next = await after(first.start, first.mark);
  expect(next.setup).toBeUndefined();
  expect(rows(next.requests, 11).map(([id]) => id)).toEqual([1]);
  expect(next.nowNs).toBeGreaterThan(first.nowNs);
  // As by a page that followed an earlier process.
  const { setup, requests } = await after('another', next.mark);
  expect([setup, rows(requests, 11).length]).toEqual([first.setup, 2]);
});

it('the page is there before the first worker, and its data say what is missing', async () => {
  const token = writeIn(tempDir(), 'token', 's3cret');
  const controller = new ServerProcess([
    ...['controller', '--listen', '0', '--ui', '--token-file', token],
    ...['--http-port', '0', '--grpc-port', 'off', '--metrics-port', '0'],
  ]);
  const listening = () => controller.log.find(({ msg }) => msg === 'listening');
  await until(() => listening() !== undefined);
  const url = `http://127.0.0.1:${listening()?.metrics}/ui/`;
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(`${url}activity`)).status).toBe(401);
  const admitted = await fetch(`${url}activity`, { headers: { authorization: 'Bearer s3cret' } });
  expect([admitted.status, await admitted.text()]).toEqual([
    503,
    'not enough workers have joined yet: start them with escapement worker --controller\n',
  ]);
});

function rows(base64: string, columns: number): number[][] {
  const numbers = [...new Float64Array(Uint8Array.from(Buffer.from(base64, 'base64')).buffer)];
  return Array.from({ length: numbers.length / columns }, (_, i) =>
    numbers.slice(i * columns, (i + 1) * columns),
  );
}
