// Entry of the process that tries a provider: `probe-process.js PROVIDER`.

import { Clock } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { NS_PER_MS } from '../../../base/units.js';
import { DEFAULT_SESSION, type Provider } from '../../../live/device.js';
import { onnxruntime } from '../../../live/ort/onnxruntime.js';
import { onnxruntimeVersion, openSession } from '../../../live/ort/open-session.js';
import { onnxruntimeReason } from '../../../live/ort/runtime-problem.js';
import { smallestModel } from '../../../live/ort/warm-up.js';
import { ANSWER, type Probe } from './probe.js';

const provider = process.argv[2] as Provider;
const answer = await probe();
// Exits at once: a driver's threads or clean-up must not keep the process alive.
process.stdout.write(`${ANSWER}${JSON.stringify(answer)}\n`, () => process.exit(0));

async function probe(): Promise<Probe> {
  try {
    const { Tensor } = onnxruntime();
    const clock = new Clock();
    const device = { kind: provider, adapter: 0, session: DEFAULT_SESSION };
    const session = await openSession(smallestModel(), device, { level: 'disabled' });
    const { output } = await session.run({ input: new Tensor('float32', [-1], [1, 1]) });
    if (output?.data[0] !== 0) throw new Error('computes wrong results');
    const tookMs = clock.nowNs() / NS_PER_MS;
    return { outcome: 'runs', provider, onnxruntime: onnxruntimeVersion(), tookMs };
  } catch (error) {
    return { outcome: 'fails', provider, reason: reasonOf(error) };
  }
}

/** Reason without advice, which the doctor adds. */
function reasonOf(error: unknown): string {
  const reason = onnxruntimeReason(error);
  return error instanceof EscapementError && error.code === 'E_DEVICE' ? reason.split(': ')[0] : reason;
}
