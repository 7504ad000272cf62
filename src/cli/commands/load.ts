import { experimentFile, loadFlags, outputFlags, overrideFlags, thresholdFlags } from '../common-options.js';
import type { ValuesOf } from '../options.js';

export const flags = {
  file: experimentFile,
  ...loadFlags,
  ...overrideFlags,
  ...outputFlags('Also write summary and request log to this folder'),
  ...thresholdFlags,
};
export const examples = [
  'load run.yaml --url http://127.0.0.1:8000 --out out/load',
  'load run.yaml --url http://127.0.0.1:8000 --payload images',
  "load run.yaml --url grpc://127.0.0.1:8001 --threshold 'p99<100ms'",
];
export const notes = 'Exit code 49: the server left requests unanswered.';

/** `escapement load FILE --url URL`: plays the workload of an experiment against a server in real time. */
export async function handler(args: ValuesOf<typeof flags>): Promise<void> {
  const { playLoad } = await import('../load-run.js');
  const { openChecked } = await import('../thresholds.js');
  await playLoad(await openChecked(args), args);
}
