import { chmodSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { optimizeModel } from '../../../src/live/models/optimize.js';
import { ELEMENT_TYPES, failure, identityModel, tempDir, writeIn } from './fixtures.js';

const ONNX = identityModel(ELEMENT_TYPES.FP32, ['batch', 'n']);

describe('the optimised model', () => {
  it('lies beside the model and is made once', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', ONNX);
    const first = await optimizeModel(onnxPath, 'cpu');
    expect(first.made).toBe(true);
    expect(dirname(first.ortPath)).toBe(dirname(onnxPath));
    expect(basename(first.ortPath)).toMatch(/^cpu-[0-9a-f]{8}\.ort$/);
    expect(await optimizeModel(onnxPath, 'cpu')).toEqual({ ...first, made: false });
    expect(readdirSync(dirname(onnxPath)).sort()).toEqual([basename(first.ortPath), 'model.onnx']);
  });

  it('is made anew when the model has another time, newer or older', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', ONNX);
    const { ortPath } = await optimizeModel(onnxPath, 'cpu');
    for (const seconds of [2_000_000_000.123, 1_000_000_000.456]) {
      utimesSync(onnxPath, seconds, seconds);
      expect(await optimizeModel(onnxPath, 'cpu')).toEqual({ ortPath, made: true });
      expect(await optimizeModel(onnxPath, 'cpu')).toEqual({ ortPath, made: false });
      expect(Math.round(statSync(ortPath).mtimeMs)).toBe(Math.round(seconds * 1000));
    }
  });

  it('is another one for another device', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', ONNX);
    const cpu = await optimizeModel(onnxPath, 'cpu');
    const webgpu = await optimizeModel(onnxPath, 'webgpu');
    expect(basename(webgpu.ortPath)).toMatch(/^webgpu-/);
    expect(webgpu.ortPath).not.toBe(cpu.ortPath);
  });

  it('leaves nothing behind when the model is corrupt', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', 'nonsense');
    const { code, message } = await failure(optimizeModel(onnxPath, 'cpu'));
    expect(code).toBe('E_MODEL_FILE');
    expect(message).toContain(`${onnxPath}: `);
    expect(readdirSync(dirname(onnxPath))).toEqual(['model.onnx']);
  });

  it('needs a folder that can be written', async ({ skip }) => {
    skip(process.getuid?.() === 0 || process.platform === 'win32', 'this user may write everywhere');
    const onnxPath = writeIn(tempDir(), 'model.onnx', ONNX);
    chmodSync(dirname(onnxPath), 0o555);
    expect((await failure(optimizeModel(onnxPath, 'cpu'))).code).toBe('E_FILE_WRITE');
  });
});
