import type { Argv } from 'yargs';
import {
  accessFlags,
  experimentFile,
  outputFlags,
  overrideFlags,
  overridesOf,
  thresholdFlags,
} from '../common-options.js';
import { type ArgsOf, group, required, text, toggle, whole } from '../options.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({
      ...group('Server', {
        url: required(text('http://HOST:PORT or grpc://HOST:PORT; https:// or grpcs:// for TLS')),
        connections: whole(1, 'Maximum number of connections', '256; 1 for gRPC'),
        retry: toggle(
          'Send requests again, within their SLO, that were answered with 503 (gRPC: UNAVAILABLE) or not at all; counted apart',
        ),
      }),
      ...accessFlags,
      ...overrideFlags,
      ...group('Experiment', {
        payload: text(
          'Real inputs: a .json, .npy or raw file, or a folder of them (or one folder per model), used in turn',
        ),
      }),
      ...outputFlags('Also write summary and request log to this folder'),
      ...thresholdFlags,
    })
    .example([
      ['$0 load run.yaml --url http://127.0.0.1:8000 --out out/load', ''],
      ['$0 load run.yaml --url http://127.0.0.1:8000 --payload images', ''],
      ["$0 load run.yaml --url grpc://127.0.0.1:8001 --threshold 'p99<100ms'", ''],
    ])
    .epilogue(
      'Exit code 49: the server left requests unanswered; the message, and generator.unanswered in JSON, tell those that were never sent from those that were.',
    );

/** `escapement load FILE --url URL`: plays the workload of an experiment against a server in real time. */
export async function handler(args: ArgsOf<typeof builder>): Promise<void> {
  const { loadExperiment } = await import('../../config/load.js');
  const { playLoad } = await import('../load-run.js');
  const { readChecks, refuseUnknown, refuseUnseen } = await import('../thresholds.js');
  const checks = readChecks(args);
  refuseUnseen(checks);
  const experiment = await loadExperiment(args.file, overridesOf(args));
  refuseUnknown(checks, experiment);
  await playLoad(experiment, checks, args);
}
