import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { tempDir, writeIn } from '../models/fixtures.js';

const DIST = pathToFileURL(fileURLToPath(new URL('../../../dist', import.meta.url))).href;
const CHILD = fileURLToPath(new URL('webgpu-child.mjs', import.meta.url));
/** Debian's chromium brings a Vulkan driver that runs on the CPU. */
const CHROMIUM = '/usr/lib/chromium';
const SWIFTSHADER = `${CHROMIUM}/vk_swiftshader_icd.json`;

test('an FP32 model on webgpu answers as on the CPU', async ({ skip }) => {
  const { onnx } = makeModel('mlp', { input: 16, seed: 1, classes: 10 });
  const path = writeIn(tempDir(), 'm.onnx', onnx);
  const result = await run(path);
  skip(result.noDevice !== undefined, `${NO_DEVICE}: ${result.noDevice}`);
  expect(result.answers).toBe(2 * 4 * 10);
  expect(result.maxDifference).toBeLessThan(1e-4);
});

// What the CPU would make of it computes in FP32 there, and wrongly: MobileNetV2's answers were 400 apart.
test('an FP16 model computes in FP16, or it is said that the GPU cannot', async ({ skip }) => {
  const { onnx } = makeModel('mobilenet-v2', { input: 32, seed: 1, classes: 10, precision: 'fp16' });
  const result = await run(writeIn(tempDir(), 'm.onnx', onnx));
  skip(result.noDevice !== undefined, `${NO_DEVICE}: ${result.noDevice}`);
  if (result.noHalf !== undefined) {
    expect(result.noHalf).toMatch(
      /cannot compute in FP16, as it lacks shader-f16: use runtime.precision fp32$/,
    );
  } else {
    const { maxDifference = 0, largest = 0 } = result;
    // The CPU computes in FP32, with the same rounded weights.
    expect(maxDifference).toBeGreaterThan(1e-4);
    expect(maxDifference).toBeLessThan(0.03 * largest);
  }
});

const NO_DEVICE = 'webgpu has nothing to run on here, neither a GPU nor software Vulkan';

interface ChildResult {
  readonly noDevice?: string;
  /** The device cannot compute in FP16. */
  readonly noHalf?: string;
  readonly answers?: number;
  readonly maxDifference?: number;
  readonly largest?: number;
}

async function run(path: string): Promise<ChildResult> {
  const result = await runWith(path, {});
  if (result.noDevice === undefined || !existsSync(SWIFTSHADER)) return result;
  return runWith(path, { VK_ICD_FILENAMES: SWIFTSHADER, LD_LIBRARY_PATH: CHROMIUM });
}

function runWith(path: string, env: Readonly<Record<string, string>>): Promise<ChildResult> {
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
