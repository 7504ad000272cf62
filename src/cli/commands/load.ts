import type { Argv } from 'yargs';
import { experimentFile, json, overrideFlags, quiet, thresholdFlags, trustFlags } from '../common-options.js';
import { type ArgsOf, group, required, text, toggle, whole } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({
      ...group('Server', {
        url: required(text('http://HOST:PORT or grpc://HOST:PORT; https:// or grpcs:// for TLS')),
        connections: whole(1, 'Maximum number of connections', '256; 1 for gRPC'),
        retry: toggle(
          'Send requests again, within their SLO, that were answered with 503 (gRPC: UNAVAILABLE) or not at all; counted apart',
        ),
        'token-file': text('File with the token that the server requires'),
      }),
      ...trustFlags,
      ...overrideFlags,
      ...group('Experiment', {
        duration: text('Override the duration of every workload section, e.g. 30s'),
        concurrency: text(
          'Replace the arrivals by this many clients, each of which sends its next request when the last is ' +
            'answered; several levels: 1,2,4,8',
        ),
        payload: text(
          'Real inputs: a .json, .npy or raw file, or a folder of them (or one folder per model), used in turn',
        ),
      }),
      ...group('Output', {
        json,
        out: text('Also write summary and request log to this folder'),
        quiet,
      }),
      ...thresholdFlags,
    })
    .example([
      ['$0 load run.yaml --url http://127.0.0.1:8000 --out out/load', ''],
      ['$0 load run.yaml --url http://127.0.0.1:8000 --concurrency 1,2,4,8 --payload images', ''],
      ["$0 load run.yaml --url grpc://127.0.0.1:8001 --duration 10s --threshold 'p99<100ms'", ''],
    ])
    .epilogue(
      'Exit code 49: the server left requests unanswered; the message, and generator.unanswered in JSON, tell those that were never sent from those that were.',
    );

export type LoadArgs = ArgsOf<typeof builder>;

export const load = {
  command: 'load <file>',
  describe: 'Send the workload of an experiment to an inference server',
  builder,
};
