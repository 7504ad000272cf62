import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { type Architecture, makeModel } from '../../../src/live/models/make/make-model.js';
import { tempDir, writeIn } from '../models/fixtures.js';

const DIST = pathToFileURL(fileURLToPath(new URL('../../../dist', import.meta.url))).href;
const CHILD = fileURLToPath(new URL('webgpu-child.mjs', import.meta.url));
/** Debian's chromium brings a Vulkan driver that runs on the CPU. */
const CHROMIUM = '/usr/lib/chromium';
const SWIFTSHADER = `${CHROMIUM}/vk_swiftshader_icd.json`;

test.for<[Architecture, number]>([
  ['mlp', 16],
  ['resnet18', 32],
])('%s on webgpu answers as on the CPU', async ([architecture, input], { skip }) => {
  const { onnx } = makeModel(architecture, { input, seed: 1, classes: 10 });
  const path = writeIn(tempDir(), 'm.onnx', onnx);
  let result = await run(path, {});
  if (result.noDevice !== undefined && existsSync(SWIFTSHADER)) {
    result = await run(path, { VK_ICD_FILENAMES: SWIFTSHADER, LD_LIBRARY_PATH: CHROMIUM });
  }
  skip(
    result.noDevice !== undefined,
    `webgpu has nothing to run on here, neither a GPU nor software Vulkan: ${result.noDevice}`,
  );
  expect(result.answers).toBe(2 * 4 * 10);
  expect(result.maxDifference).toBeLessThan(1e-4);
});

interface ChildResult {
  readonly noDevice?: string;
  readonly answers?: number;
  readonly maxDifference?: number;
}

function run(path: string, env: Readonly<Record<string, string>>): Promise<ChildResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CHILD, DIST, path], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (text) => {
      stdout += text;
    });
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (status, signal) => {
      if (status === 0) resolve(JSON.parse(stdout));
      else reject(new Error(`the child ended with ${status ?? signal}: ${stderr}`));
    });
  });
}
