import { afterEach, expect, it, vi } from 'vitest';
import { readModelFile } from '../../../src/live/models/repository.js';
import { identityModel, tempDir, writeIn } from '../models/fixtures.js';

afterEach(() => {
  vi.useRealTimers();
});

it('reads a model in another process when the idle one is being ended, however long that takes', async () => {
  const path = writeIn(tempDir(), 'm/1/model.onnx', identityModel(1, ['batch', 4]));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await readModelFile(path);
  // The idle process is killed, and its end cannot be heard of before the next task begins.
  vi.runOnlyPendingTimers();
  const { signature } = await readModelFile(path);
  expect(signature.inputs.map(({ name }) => name)).toEqual(['x']);
});
