import { readFileSync } from 'node:fs';
import { monotonicNs } from '../../../src/base/clock/clock.js';
import { stream } from '../../../src/base/random/streams.js';
import { MIB, NS_PER_S } from '../../../src/base/units.js';
import { DEFAULT_SESSION, type Provider } from '../../../src/live/device.js';
import { usualInputs } from '../../../src/live/models/measure/sample-inputs.js';
import { optimizeModel } from '../../../src/live/models/optimize.js';
import { readModelFile } from '../../../src/live/models/repository.js';
import { deviceMemory } from '../../../src/live/ort/device-memory.js';
import { ModelSession } from '../../../src/live/ort/session.js';

/** Memory after a number of cycles, while nothing is loaded. */
export interface MemoryAfter {
  readonly cycles: number;
  /** In use on the device, by all processes; null: unknown. */
  readonly deviceMib: number | null;
  /** Of the process. */
  readonly rssMib: number;
}

/** Loads models in turn, runs each once and unloads it, so many times or as long as there is time. */
export async function cycleModels(
  onnxPaths: readonly string[],
  kind: Provider,
  cycles: number,
  seconds: number,
): Promise<MemoryAfter[]> {
  const device = { kind, adapter: 0, session: DEFAULT_SESSION };
  const models = [];
  for (const path of onnxPaths) {
    const { signature } = await readModelFile(path);
    const { ortPath } = await optimizeModel(path, kind, null);
    models.push({ signature, bytes: new Uint8Array(readFileSync(ortPath)) });
  }
  const inputs = models.map(({ signature }) => usualInputs()(signature, 1, stream(1, 'profile-inputs')));
  const endNs = monotonicNs() + seconds * NS_PER_S;
  const found: MemoryAfter[] = [];
  for (let done = 0; ; done++) {
    const isLast = done === cycles || monotonicNs() > endNs;
    if (isLast || done <= 1 || done % Math.ceil(cycles / 10) === 0) {
      const memory = await deviceMemory(device);
      const deviceMib = memory === null ? null : Math.round(memory.usedBytes / MIB);
      found.push({ cycles: done, deviceMib, rssMib: Math.round(process.memoryUsage.rss() / MIB) });
    }
    if (isLast) return found;
    const next = done % models.length;
    const { bytes, signature } = models[next];
    const session = await ModelSession.create(bytes, signature, [1], device);
    await session.run(0, 1, inputs[next]);
    await session.release();
  }
}
