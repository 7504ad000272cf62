// Entry of the process that tries a provider: `probe-process.js PROVIDER`.
import '../../live/ort/no-telemetry.js';
import { Tensor } from 'onnxruntime-node';
import { NS_PER_MS } from '../../core/units.js';
import { Clock } from '../../live/clock.js';
import { DEFAULT_SESSION, type Provider } from '../../live/device.js';
import { ONNXRUNTIME_VERSION, onnxruntimeReason, openSession } from '../../live/ort/open-session.js';
import { smallestModel } from '../../live/ort/warm-up.js';
import { ANSWER, type Probe } from './probe.js';

const provider = process.argv[2] as Provider;
const answer = await probe();
// A driver's own threads or cleaning up must not keep the process: the answer is all that counts.
process.stdout.write(`${ANSWER}${JSON.stringify(answer)}\n`, () => process.exit(0));

async function probe(): Promise<Probe> {
  const clock = new Clock();
  try {
    const device = { kind: provider, adapter: 0, session: DEFAULT_SESSION };
    const session = await openSession(smallestModel(), device, { level: 'disabled' });
    const { output } = await session.run({ input: new Tensor('float32', [-1], [1, 1]) });
    if (output?.data[0] !== 0) throw new Error('computes wrong results');
    const tookMs = clock.nowNs() / NS_PER_MS;
    return { outcome: 'runs', provider, onnxruntime: ONNXRUNTIME_VERSION, tookMs };
  } catch (error) {
    return { outcome: 'fails', provider, reason: onnxruntimeReason(error) };
  }
}
