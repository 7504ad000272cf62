import { dirname, relative } from 'node:path';
import { STANDARD_INPUT } from '../base/files/standard-input.js';
import { choiceOr, group, list, required, text, toggle, type ValuesOf, whole } from './options.js';

/** The experiment that a command runs. */
export const experimentFile = required(text('Experiment file (YAML); - reads standard input'));

/** The flag of every command that accepts policies by name. */
export const plugin = list('Module with further policies, e.g. ./mine.js');

/** Flags that change an experiment before it runs. */
export const overrideFlags = group('Experiment', {
  set: list('Override a key of the file, e.g. policy.scheduleAhead=5ms'),
  seed: whole(0, 'Override the seed', "the file's"),
  plugin,
});

/** The flag of every command that prints results: one JSON object, and nothing else on stdout. */
export const json = toggle('Print one JSON object on stdout and nothing else');

/** Token for a server, and trust in its certificate, of a client command. */
export const accessFlags = group('Server', {
  'token-file': text('File with the token that the server requires'),
  ca: text('Verify a TLS server against the authority in this file (PEM)'),
  insecure: toggle('Accept any certificate of a TLS server'),
});

/** Options for cells that run elsewhere. */
export const queueFlags = group('Queue', {
  queue: text(
    'Let the workers of this Redis server run the cells, e.g. redis://host:6379; start them with escapement sweep-worker',
  ),
  ...queueTrustFlags(),
});

/** Credentials between a queue server and its clients. */
export function queueTrustFlags() {
  return group('Queue', {
    'queue-ca': {
      ...text('Verify a rediss:// server against the authority in this file (PEM)'),
      implies: 'queue',
    },
    'queue-password-file': {
      ...text('Password for the server, in place of one in the URL'),
      implies: 'queue',
    },
  });
}

export const quiet = toggle('Show no progress on stderr');

/** Output of a command that runs an experiment once. `out` describes what its folder gets. */
export function outputFlags(out: string) {
  // A default would count as given.
  const describe = 'Write the logs as Parquet, too: typed columns, for pandas';
  const parquet = { type: 'boolean', implies: 'out', describe } as const;
  return group('Output', { json, out: text(out), parquet, quiet });
}

/** Output files for CI, of commands that check thresholds. */
export const ciFlags = group('Checks', {
  junit: text('Write the checks to this file as JUnit XML, one test case each'),
  markdown: text('Append a table of the checks to this file, e.g. "$GITHUB_STEP_SUMMARY"'),
});

/** Flags of commands that check thresholds. */
export const thresholdFlags = {
  ...group('Checks', {
    threshold: list(
      "Exit with code 3 unless this holds, e.g. 'p99<100ms' or 'goodputRps>=500'; latency counts every offered " +
        'request, and one not answered within its SLO counts as infinitely late',
    ),
  }),
  ...ciFlags,
};

export const precisionFlag = choiceOr(
  ['fp32', 'fp16'],
  'fp32',
  'Precision of weights and operators; inputs and outputs keep their types',
);

/** Overrides of an experiment by `--set`, `--seed` and `--parquet`. */
export function overridesOf(
  args: ValuesOf<Pick<typeof overrideFlags, 'set' | 'seed'>> & { readonly parquet?: boolean | undefined },
): string[] {
  const { set, seed } = args;
  const inParquet = args.parquet ? ['output.parquet=true'] : [];
  return [...set, ...(seed === undefined ? [] : [`seed=${seed}`]), ...inParquet];
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
