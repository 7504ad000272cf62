import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runCli, runOk } from '../../cli/run-cli.js';

const dir = mkdtempSync(join(tmpdir(), 'escapement-telemetry-'));
afterAll(() => rmSync(dir, { recursive: true }));

it('leaves nothing of onnxruntime telemetry in the temporary folder', async () => {
  const models = join(dir, 'models');
  const temporary = mkdtempSync(join(dir, 'tmp-'));
  const env = { TMPDIR: temporary };
  await runOk(['model', 'make', 'mlp', '--repository', models, '--name', 'a', '--input', '8'], { env });
  const measured = await runCli(['profile', 'measure', models, '--runs', '2', '--quiet'], { env });
  expect(measured.status, measured.stderr).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
});
