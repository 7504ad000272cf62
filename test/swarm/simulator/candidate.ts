import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Experiment } from '../../../src/config/experiment.js';
import { targetNames } from '../../../src/config/pipelines.js';
import type { SentRequest } from './observed-run.js';

/** What a YAML file can hold. */
export type Tree = string | number | boolean | null | readonly Tree[] | { readonly [key: string]: Tree };
export type Section = Readonly<Record<string, Tree>>;

/** An experiment to try: the tree of its file, and the text of the files that it names. */
export interface Candidate {
  readonly tree: Section;
  readonly files: Readonly<Record<string, string>>;
}

const EXPERIMENT = 'experiment.yaml';

/** Writes the experiment and its files into a folder. Returns the path of the experiment. */
export function writeCandidate({ tree, files }: Candidate, dir: string): string {
  mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const path = join(dir, EXPERIMENT);
  writeFileSync(path, stringify(tree, { flowCollectionPadding: true }));
  return path;
}

/** Reads back what `writeCandidate` wrote. */
export function readCandidate(dir: string): Candidate {
  const names = readdirSync(dir).filter((name) => name.endsWith('.csv') || name.endsWith('.json'));
  return {
    tree: parse(readFileSync(join(dir, EXPERIMENT), 'utf8')) as Section,
    files: Object.fromEntries(names.map((name) => [basename(name), readFileSync(join(dir, name), 'utf8')])),
  };
}

const TRACE = 'requests.csv';

/**
 * The same experiment with the requests of a run from a file, in place of what generated them. Null where that cannot
 * be the same: there are none, a common SLO would replace those of the file, or some are of other classes or tenants than the first.
 */
export function replayOf(
  { tree, files }: Candidate,
  { models, pipelines }: Experiment,
  sent: readonly SentRequest[],
): Candidate | null {
  const isOfOthers = sent.some(({ requestClass, tenant }) => requestClass > 0 || tenant > 0);
  // A scaler decides until the workload ends, which a file ends with its last request.
  if (tree.scaler !== undefined) return null;
  if (tree.slo !== undefined || sent.length === 0 || isOfOthers) return null;
  // All requests of a short trace might come in the warm-up.
  const { warmup: _, ...rest } = tree;
  const hasLengths = models.some(({ lengths }) => lengths !== undefined);
  const targets = targetNames(models, pipelines);
  const rows = sent.map(
    ({ timeNs, model, sloNs, length }) =>
      `${timeNs},${targets[model]},${sloNs}${hasLengths ? `,${length}` : ''}\n`,
  );
  const workload: Section = { kind: 'arrivals', path: TRACE, models: targets };
  return {
    tree: { ...rest, workload },
    files: {
      ...files,
      [TRACE]: `arrival_ns,model_id,slo_ns${hasLengths ? ',length' : ''}\n${rows.join('')}`,
    },
  };
}
