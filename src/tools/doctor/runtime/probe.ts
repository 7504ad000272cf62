import { fileURLToPath } from 'node:url';
import { compiledNextTo } from '../../../base/compiled.js';
import type { Provider } from '../../../live/device.js';
import { runChild } from '../child.js';

/** Result of running a model of one operator on a provider. */
export type Probe =
  | {
      readonly outcome: 'runs';
      readonly provider: Provider;
      readonly onnxruntime: string;
      readonly tookMs: number;
    }
  | { readonly outcome: 'fails'; readonly provider: Provider; readonly reason: string };

/** CUDA takes seconds for its libraries, software Vulkan for its compiler. */
const LIMIT_MS = 60_000;
const PROBE = compiledNextTo(import.meta.url, 'probe-process.js');
/** Prefix of the answer; drivers may print other lines. */
export const ANSWER = 'probe: ';

/** Tries a provider in a separate process, because a failing driver may crash the process, or never return. */
export async function probeProvider(provider: Provider, limitMs = LIMIT_MS): Promise<Probe> {
  const fails = (reason: string): Probe => ({ outcome: 'fails', provider, reason });
  const ended = await runChild(process.execPath, [fileURLToPath(PROBE), provider], limitMs);
  if (ended.kind === 'timed-out') return fails(`hangs: no answer in ${limitMs / 1000} s`);
  if (ended.kind !== 'ended') return fails(ended.kind === 'unfit' ? ended.message : 'Node is gone');
  const answer = ended.stdout.split('\n').findLast((line) => line.startsWith(ANSWER));
  if (answer !== undefined) return JSON.parse(answer.slice(ANSWER.length)) as Probe;
  const how = `crashes the process (${ended.signal ?? `status ${ended.status}`})`;
  const last = ended.stderr.trim().split('\n').at(-1) ?? '';
  return fails(last === '' ? how : `${how}: ${last}`);
}
