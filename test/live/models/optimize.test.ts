import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { optimizeModel } from '../../../src/live/models/optimize.js';
import { ELEMENT_TYPES, failure, identityModel, scalingModel, tempDir, writeIn } from './fixtures.js';

const ONNX = identityModel(ELEMENT_TYPES.FP32, ['batch', 'n']);

describe('the optimised model', () => {
  it('lies next to the model and is made once', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', ONNX);
    const first = await optimizeModel(onnxPath, 'cpu');
    expect(first.made).toBe('missing');
    expect(dirname(first.ortPath)).toBe(dirname(onnxPath));
    expect(basename(first.ortPath)).toMatch(/^cpu-[0-9a-f]{8}\.ort$/);
    expect(await optimizeModel(onnxPath, 'cpu')).toEqual({ ...first, made: null });
    const name = basename(first.ortPath, '.ort');
    expect(readdirSync(dirname(onnxPath)).sort()).toEqual([`${name}.json`, `${name}.ort`, 'model.onnx']);
  });

  it('is kept in a cache, which copies of the model share; one next to the model does as well', async () => {
    const [a, b, cache] = [tempDir(), tempDir(), tempDir()].map((dir) => join(dir, 'm', '1'));
    const onnxPath = writeIn(a, 'model.onnx', ONNX);
    const first = await optimizeModel(onnxPath, 'cpu', cache);
    expect(first.made).toBe('missing');
    expect(dirname(dirname(first.ortPath))).toBe(cache);
    expect(basename(dirname(first.ortPath))).toMatch(/^m-[0-9a-f]{16}$/);
    expect(readdirSync(a)).toEqual(['model.onnx']);
    const copy = writeIn(b, 'model.onnx', ONNX);
    expect(await optimizeModel(copy, 'cpu', cache)).toEqual({ ...first, made: null });
    const local = await optimizeModel(copy, 'cpu');
    expect(dirname(local.ortPath)).toBe(b);
    rmSync(cache, { recursive: true });
    expect(await optimizeModel(copy, 'cpu', cache)).toEqual({ ...local, made: null });
  });

  it('is made although another process is writing its record at that moment', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', ONNX);
    const { ortPath } = await optimizeModel(onnxPath, 'cpu');
    rmSync(ortPath);
    // What the other process has open can be renamed by it at any time.
    mkdirSync(`${ortPath.replace(/\.ort$/, '.json')}.partial`);
    expect((await optimizeModel(onnxPath, 'cpu')).made).toBe('missing');
    expect((await optimizeModel(onnxPath, 'cpu')).made).toBe(null);
  });

  it('is made again when the model was replaced, even by one of the same size and time', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', scalingModel(2));
    utimesSync(onnxPath, 1_500_000_000, 1_500_000_000);
    const { ortPath } = await optimizeModel(onnxPath, 'cpu');
    expect(await runOn(ortPath, 10)).toBe(20);
    writeFileSync(onnxPath, scalingModel(3));
    utimesSync(onnxPath, 1_500_000_000, 1_500_000_000);
    expect(await optimizeModel(onnxPath, 'cpu')).toEqual({ ortPath, made: 'outdated' });
    expect(await runOn(ortPath, 10)).toBe(30);
    expect((await optimizeModel(onnxPath, 'cpu')).made).toBe(null);
  });

  it('is made again when weights in another file were replaced', async () => {
    const dir = tempDir();
    const onnxPath = writeIn(dir, 'model.onnx', scalingModel('weights.bin'));
    const weightsPath = writeIn(dir, 'weights.bin', new Uint8Array(Float32Array.of(2).buffer));
    utimesSync(weightsPath, 1_500_000_000, 1_500_000_000);
    const { ortPath } = await optimizeModel(onnxPath, 'cpu');
    expect(await runOn(ortPath, 10)).toBe(20);
    writeFileSync(weightsPath, new Uint8Array(Float32Array.of(5).buffer));
    utimesSync(weightsPath, 1_500_000_000, 1_500_000_000);
    expect(await optimizeModel(onnxPath, 'cpu')).toEqual({ ortPath, made: 'outdated' });
    expect(await runOn(ortPath, 10)).toBe(50);
  });

  it('is made again when it was damaged', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', scalingModel(2));
    const { ortPath } = await optimizeModel(onnxPath, 'cpu');
    const whole = readFileSync(ortPath);
    const flipped = Buffer.from(whole);
    flipped[flipped.indexOf(new Uint8Array(Float32Array.of(2).buffer)) + 2] ^= 1;
    for (const damaged of [flipped, whole.subarray(0, whole.length >> 1), Buffer.alloc(0)]) {
      writeFileSync(ortPath, damaged);
      expect(await optimizeModel(onnxPath, 'cpu')).toEqual({ ortPath, made: 'damaged' });
      expect(await runOn(ortPath, 10)).toBe(20);
    }
  });

  it('is made again where nothing says what it was made from', async () => {
    const onnxPath = writeIn(tempDir(), 'model.onnx', ONNX);
    const { ortPath } = await optimizeModel(onnxPath, 'cpu');
    const recordPath = ortPath.replace(/ort$/, 'json');
    for (const text of ['nonsense', 'null', '{}']) {
      writeFileSync(recordPath, text);
      expect((await optimizeModel(onnxPath, 'cpu')).made).toBe('outdated');
    }
    rmSync(recordPath);
    expect((await optimizeModel(onnxPath, 'cpu')).made).toBe('outdated');
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

async function runOn(ortPath: string, x: number): Promise<number> {
  const session = await InferenceSession.create(new Uint8Array(readFileSync(ortPath)));
  const { y } = await session.run({ x: new Tensor('float32', [x], [1]) });
  await session.release();
  return Number(y.data[0]);
}
