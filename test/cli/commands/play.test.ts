import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setupFromJson } from '../../../src/play/share/address.js';
import { playPage, servePage } from '../../../src/tools/play/page.js';
import { BASE, folder, MODELS_CSV } from '../../config/experiment-files.js';
import { MAIN, runCli, SMALL_EXPERIMENT, tempDir, writeIn } from '../run-cli.js';

/** The setup that a page opens with. */
function setupIn(page: string) {
  const json = /<script type="application\/json" id="setup">(.*?)<\/script>/s.exec(page)![1]!;
  return json === '' ? null : setupFromJson(json, 'the page');
}

describe('escapement play', () => {
  it('writes a page that holds the experiment and all that it reads', async () => {
    const dir = folder({ 'mine.yaml': BASE.replace('slo: 100ms', 'slo: 100ms # </script> "x"') });
    const html = join(dir, 'page.html');
    const args = ['play', join(dir, 'mine.yaml'), '--set', 'slo=25ms', '--seed', '7', '--html', html];
    expect(await runCli(args)).toMatchObject({ status: 0, stdout: `page: ${html}\n`, stderr: '' });
    const setup = setupIn(readFileSync(html, 'utf8'));
    expect(setup).toMatchObject({
      file: 'mine.yaml',
      overrides: ['slo=25ms', 'seed=7'],
      lanes: [[]],
      files: { 'models.csv': MODELS_CSV },
    });
    expect(setup?.text).toContain('</script> "x"');
    const { stdout } = await runCli([...args, '--json']);
    expect(JSON.parse(stdout)).toEqual({ html });
  });

  it('refuses what no page can show', async () => {
    const dir = tempDir();
    const small = writeIn(dir, 'small.yaml', SMALL_EXPERIMENT);
    const wrong = writeIn(dir, 'wrong.yaml', `${SMALL_EXPERIMENT}slow: 1\n`);
    for (const [args, problem] of [
      [['--set', 'slo=25ms'], '--set and --seed need an experiment FILE'],
      [[wrong, '--html', join(dir, 'a.html')], 'slow'],
      [[small, '--html', small], 'is the input of this command'],
      [[small, '--port', '99999'], '--port 99999'],
    ] as const) {
      const { status, stderr } = await runCli(['play', ...args]);
      expect(status, stderr).not.toBe(0);
      expect(stderr).toContain(problem);
    }
  });

  it('prints its address, and ends with a signal', async () => {
    const child = spawn(process.execPath, [MAIN, 'play', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [printed] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    const { url } = JSON.parse(printed) as { url: string };
    expect(await (await fetch(url)).text()).toBe(playPage(null));
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
  });
});

describe('the page of a build', () => {
  it('may load nothing from anywhere, and run no script but its own', () => {
    const page = playPage(null);
    expect(setupIn(page)).toBeNull();
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)![1];
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[^ ]+' blob:; worker-src blob:; style-src 'sha256-[^ ]+'; /,
    );
  });
});

describe('the server of the page', () => {
  it('answers on the loopback interface, under its own name only', async () => {
    const { url, close } = await servePage('<p>page</p>', 0);
    const { port, hostname } = new URL(url);
    expect(hostname).toBe('127.0.0.1');
    const ask = (path: string, host: string, method = 'GET') =>
      new Promise<{ status: number | undefined; headers: object }>((resolve, reject) => {
        request({ port, host: '127.0.0.1', path, method, headers: { host } }, (response) => {
          response.resume();
          resolve({ status: response.statusCode, headers: response.headers });
        })
          .on('error', reject)
          .end();
      });
    try {
      const own = `127.0.0.1:${port}`;
      expect(await ask('/', own)).toMatchObject({
        status: 200,
        headers: { 'content-security-policy': "frame-ancestors 'none'", 'cache-control': 'no-store' },
      });
      expect((await ask('/', `localhost:${port}`)).status).toBe(200);
      expect((await ask('/', `evil.example:${port}`)).status).toBe(404);
      expect((await ask('/../package.json', own)).status).toBe(404);
      expect((await ask('/', own, 'POST')).status).toBe(405);
    } finally {
      await close();
    }
  });

  it('says that its port is taken', async () => {
    const { url, close } = await servePage('', 0);
    const port = Number(new URL(url).port);
    await expect(servePage('', port)).rejects.toMatchObject({ code: 'E_LISTEN' });
    await close();
  });
});
