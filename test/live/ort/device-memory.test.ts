import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { deviceMemory } from '../../../src/live/ort/device-memory.js';
import { tempDir } from '../../cli/run-cli.js';

const MIB = 2 ** 20;
const VISIBLE = process.env.CUDA_VISIBLE_DEVICES;

/** A program that says so of the GPU that it is asked about, in place of nvidia-smi. */
function saying(script: string): string {
  const path = join(tempDir(), 'nvidia-smi');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

afterEach(() => {
  if (VISIBLE === undefined) delete process.env.CUDA_VISIBLE_DEVICES;
  else process.env.CUDA_VISIBLE_DEVICES = VISIBLE;
});

describe.skipIf(process.platform === 'win32')('the memory of a device', () => {
  const gpu = { kind: 'cuda', adapter: 1 } as const;
  const echo = 'echo "$3" | grep -q memory.used,memory.total && echo "Disabled, $2, 12288"';

  it('is what the driver says of that GPU', async () => {
    delete process.env.CUDA_VISIBLE_DEVICES;
    const program = saying(echo);
    expect(await deviceMemory(gpu, program)).toEqual({ usedBytes: MIB, totalBytes: 12_288 * MIB });
    expect(await deviceMemory({ kind: 'cuda', adapter: 30 }, program)).toMatchObject({ usedBytes: 30 * MIB });
  });

  it('is that of the GPU that CUDA counts there', async () => {
    process.env.CUDA_VISIBLE_DEVICES = '5, 7';
    expect(await deviceMemory(gpu, saying(echo))).toMatchObject({ usedBytes: 7 * MIB });
  });

  it('is also known where a board is damaged, with a warning and a status of its own', async () => {
    const warning = 'echo "WARNING: infoROM is corrupted at gpu 0000:01:00.0"; echo "[N/A], 3, 9"; exit 14';
    expect(await deviceMemory(gpu, saying(warning))).toEqual({ usedBytes: 3 * MIB, totalBytes: 9 * MIB });
  });

  it.each([
    ['a GPU is divided', 'echo "Enabled, 3, 9"'],
    ['it shares the memory of the machine', 'echo "[N/A], [N/A], [N/A]"'],
    ['the driver says something else', 'echo "what?"'],
    ['the driver fails', 'exit 9'],
  ])('is not known where %s', async (_, script) => {
    expect(await deviceMemory(gpu, saying(script))).toBeNull();
  });

  it('is not known without a driver, or of another device', async () => {
    expect(await deviceMemory(gpu, join(tempDir(), 'missing'))).toBeNull();
    expect(await deviceMemory({ kind: 'cpu', adapter: 0 }, saying(echo))).toBeNull();
  });
});
