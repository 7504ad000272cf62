import { dirname, relative } from 'node:path';
import type { Options } from 'yargs';
import type { ErrorPlace } from '../base/errors.js';
import { readInput } from '../base/files/disk-files.js';
import { STANDARD_INPUT } from '../base/files/standard-input.js';
import { writeOut } from '../text/terminal.js';
import { choice, file, group, list, required, text, toggle, type ValuesOf, whole } from './options.js';

/** The experiment that a command runs. */
export const experimentFile = required(text('Experiment file (YAML); - reads standard input'));

/** Flag of every command that accepts policies by name. */
export const plugin = list('Module with further policies, e.g. ./mine.js');

/** Flags that change an experiment before it runs. */
export const overrideFlags = group('Experiment', {
  set: list('Override a key, e.g. policy.scheduleAhead=5ms; @FILE: those in a file'),
  seed: whole(0)('Override the seed', "the file's"),
  plugin,
});

/** Flag of every command that prints results. */
export const json = toggle('Print one JSON object on stdout, nothing else');

/** Prints a result: with `--json` as one JSON object, else as text. */
export function print(args: { readonly json: boolean }, value: unknown, text: () => string): void {
  writeOut(args.json ? `${JSON.stringify(value)}\n` : text());
}

/** Token for a server, and trust in its certificate, of a client command. */
export const accessFlags = group('Server', {
  'token-file': file('File with the token that the server requires'),
  ca: file('Verify a TLS server against the authority in this file (PEM)'),
  insecure: toggle('Accept any certificate of a TLS server'),
});

/** Flags of `load` about the server. */
export const loadFlags = {
  ...group('Server', {
    url: required(text('http://HOST:PORT or grpc://HOST:PORT; https:// or grpcs:// for TLS')),
    connections: whole(1)('Maximum number of connections', '256; 1 for gRPC'),
    retry: toggle(
      'Retry requests that got 503 (gRPC: UNAVAILABLE) or no answer, within their SLO; retries are counted separately',
    ),
    payload: text(
      'Real inputs, used in turn: a .json or raw file, or a folder of them, or one folder per model',
    ),
  }),
  ...accessFlags,
};

/** Flags of commands that run many cells. */
export function cellFlags() {
  const threads = whole(1)('Cells to run at the same time', 'one per core');
  const queue = text(
    'Let the workers of this Redis server run the cells, e.g. redis://host:6379; start them with escapement sweep-worker',
  );
  const fresh = toggle('Run cells again that the folder already holds');
  return {
    ...group('Execution', { threads: { ...threads, conflicts: 'queue' }, fresh }),
    ...queueFlags(queue),
  };
}

/** Queue of cells, and credentials for its server. */
export function queueFlags<Q extends Options>(queue: Q) {
  const ca = file('Verify a rediss:// server against the authority in this file (PEM)');
  const password = file('Password for the server, in place of one in the URL');
  return group('Queue', {
    queue,
    'queue-ca': { ...ca, implies: 'queue' },
    'queue-password-file': { ...password, implies: 'queue' },
  });
}

export const quiet = toggle('Show no progress on stderr');

/** Output of a command that runs an experiment once. `out` describes what its folder gets. */
export function outputFlags(out: string) {
  const parquet = toggle('Also write the logs as Parquet, with typed columns for pandas');
  return group('Output', { json, out: text(out), parquet: { ...parquet, implies: 'out' }, quiet });
}

/** Output file for CI, for commands whose checks are set by the flag `of`. */
export function ciFlags(of: 'threshold' | 'target') {
  const junit = text('Write the checks to this file as JUnit XML, one test case each');
  return group('Checks', { junit: { ...junit, implies: of } });
}

/** Flags of commands that check thresholds. */
export const thresholdFlags = {
  ...group('Checks', {
    threshold: list(
      "Exit with code 3 unless this holds, e.g. 'p99<100ms' or 'class.gold.attainment>=99%'; latency counts every offered " +
        'request, and is infinite for one not answered within its SLO',
    ),
  }),
  ...ciFlags('threshold'),
};

export const precisionFlag = choice(['fp32', 'fp16']).or(
  'fp32',
  'Precision of weights and operators; inputs and outputs keep their types',
);

/** Overrides of an experiment by `--set`, `--seed` and `--parquet`. */
export function overridesOf(
  args: ValuesOf<Pick<typeof overrideFlags, 'set' | 'seed'>> & { readonly parquet?: boolean | undefined },
): string[] {
  const seed = args.seed === undefined ? [] : [`seed=${args.seed}`];
  return [...args.set, ...seed, ...(args.parquet ? ['output.parquet=true'] : [])];
}

/**
 * Replaces an override `@FILE` by the lines of the file, and records the place of each in `places`. Throws
 * `E_FILE_MISSING`.
 */
export function withOverrideFiles(places: Map<string, ErrorPlace>) {
  return async (args: Record<string, unknown>): Promise<void> => {
    if (!Array.isArray(args.set)) return;
    const overrides = args.set.map(async (text: string) => {
      if (!text.startsWith('@')) return [text];
      const file = text.slice(1);
      const lines = (await readInput(file, { flag: `--set ${text}` })).toString('utf8').split('\n');
      for (const [i, line] of lines.entries())
        places.set(line, { file, line: i + 1, flag: line.trim().slice(0, 80) });
      return lines.filter((line) => line.trim() !== '');
    });
    args.set = (await Promise.all(overrides)).flat();
  };
}

/**
 * Adds `--plugin` to the overrides of a command. Its paths are relative to the working directory, those of overrides to
 * the experiment file.
 */
export function withPlugins(args: Record<string, unknown>): void {
  const { plugin, set, file, experiment } = args;
  if (!Array.isArray(plugin) || plugin.length === 0 || !Array.isArray(set)) return;
  const source = [file, experiment].find((path) => typeof path === 'string' && path !== STANDARD_INPUT);
  const folder = typeof source === 'string' ? dirname(source) : '.';
  const paths = JSON.stringify(plugin.map((path) => relative(folder, path)));
  args.set = [...set, `plugins=${paths}`];
}
