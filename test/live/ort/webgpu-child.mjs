// Runs a model on the CPU and on webgpu and prints how far the answers are apart. A process of its own, because
// software Vulkan may take it down. usage: webgpu-child.mjs DIST MODEL.onnx
import { readFileSync } from 'node:fs';

const [, , dist, onnxPath] = process.argv;
const { optimizeModel } = await import(`${dist}/live/models/optimize.js`);
const { readModelFile } = await import(`${dist}/live/models/repository.js`);
const { DEFAULT_SESSION } = await import(`${dist}/live/device.js`);
const { ModelSession } = await import(`${dist}/live/ort/session.js`);

const { signature } = await readModelFile(onnxPath);
const values = signature.inputs[0].bytes / 4;
const requests = new Uint8Array(Float32Array.from({ length: 3 * values }, (_, i) => Math.sin(i)).buffer);

async function answers(kind) {
  const { ortPath } = await optimizeModel(onnxPath, kind);
  const modelBytes = new Uint8Array(readFileSync(ortPath));
  const device = { kind, adapter: 0, session: DEFAULT_SESSION };
  const all = [];
  // Twice, because a second LOAD finds compiled kernels.
  for (let load = 0; load < 2; load++) {
    const session = await ModelSession.create(modelBytes, signature, [1, 4], device);
    const batch = await session.run(1, 3, [requests]);
    const single = await session.run(0, 1, [requests.subarray(0, 4 * values)]);
    all.push(...new Float32Array(batch.outputs[0].buffer), ...new Float32Array(single.outputs[0].buffer));
    await session.release();
  }
  return all;
}

try {
  const webgpu = await answers('webgpu');
  const cpu = await answers('cpu');
  const maxDifference = Math.max(...cpu.map((value, i) => Math.abs(value - webgpu[i])));
  const largest = Math.max(...cpu.map(Math.abs));
  process.stdout.write(JSON.stringify({ answers: webgpu.length, maxDifference, largest }));
} catch (error) {
  if (error.code !== 'E_DEVICE' && !error.message.includes('shader-f16')) throw error;
  process.stdout.write(
    JSON.stringify({ [error.code === 'E_DEVICE' ? 'noDevice' : 'noHalf']: error.message }),
  );
}
