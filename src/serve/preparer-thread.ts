// Entry of the thread that reads, optimizes and profiles models while others are served.
import '../live/ort/environment.js';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { invariant } from '../base/invariant.js';
import type { ModelList, ModelProblem } from '../live/model-list.js';
import type { Precision } from '../live/models/precision.js';
import { findVersion, repositoryWith, scanNamed, scanRepositories } from '../live/models/scan.js';
import { readVersions } from '../live/models/stand-ins.js';
import { endRuntimeCalls, TooLong } from '../live/ort/runtime-call.js';
import { type RuntimeProblem, runtimeProblem } from '../live/ort/runtime-problem.js';
import { passOnWarnings } from '../live/warnings.js';
import {
  knownProfile,
  type PreparedModel,
  type PrepareOptions,
  prepareModel,
  versionDigest,
} from './prepare-model.js';

export interface Repository {
  readonly dirs: readonly string[];
  readonly precision: Precision;
  readonly options: PrepareOptions;
}

interface PrepareTask extends Repository {
  readonly kind: 'prepare';
  readonly name: string;
  readonly version: string;
  readonly config: string | undefined;
}

/** Requests: to list a repository, or one model of it and its files; to prepare a version. Null: end with all work. */
export type PreparerTask =
  | (Repository & {
      readonly kind: 'list';
      readonly name: string | null;
      readonly config: string | undefined;
    })
  | PrepareTask;

/** Replies. A task is over with `done` or `failed`. */
export type PreparerReply =
  | { readonly kind: 'say'; readonly what: string }
  | { readonly kind: 'done'; readonly result: PlainList | PreparedModel | null }
  | { readonly kind: 'failed'; readonly problem: RuntimeProblem };

/** A list in the form that crosses threads. */
export type PlainList = Omit<ModelList, 'problems'> & {
  readonly problems: readonly (Omit<ModelProblem, 'error'> & { readonly error: RuntimeProblem })[];
};

const UNSEEN = { digest: '', isMeasured: false };
/** By digest of models known to have a profile, up to a limit: true if that is provisional. Forgotten ones are checked again. */
const measured = new Map<string, boolean>();
const MOST_MEASURED = 10_000;
/** Reason why onnxruntime was stopped, by digest of the model: retrying at each look would keep others waiting. */
const stopped = new Map<string, TooLong>();

passOnWarnings('preparer');
const caller = parentPort;
invariant(caller !== null, 'this file is the entry of a thread');
const reply = (message: PreparerReply) => caller.postMessage(message);

// One task at a time: the caller waits for each.
caller.on('message', async (task: PreparerTask | null) => {
  if (task === null) {
    endRuntimeCalls();
    caller.close();
    return;
  }
  try {
    reply({ kind: 'done', result: await resultOf(task) });
  } catch (error) {
    reply({ kind: 'failed', problem: plain(error) });
  }
});

function resultOf(task: PreparerTask): Promise<PlainList | PreparedModel | null> {
  return task.kind === 'prepare' ? prepared(task) : listed(task, task.name, task.config);
}

async function prepared({
  dirs,
  precision,
  options,
  name,
  version,
  config,
}: PrepareTask): Promise<PreparedModel | null> {
  const dir = repositoryWith(dirs, name);
  const onnxPath = findVersion(dir, name, version, precision);
  if (onnxPath === null) return null;
  const say = (what: string) => reply({ kind: 'say', what });
  const modelDir = join(dir, name);
  const model = await unlessStopped(onnxPath, modelDir, () =>
    prepareModel(onnxPath, modelDir, options, say, config),
  );
  remember(model.digest, model.isProvisional);
  return model;
}

async function listed(
  { dirs, precision, options }: Repository,
  named: string | null,
  config: string | undefined,
): Promise<PlainList> {
  const dir = named === null ? '' : repositoryWith(dirs, named);
  const scan = named === null ? scanRepositories(dirs, precision) : scanNamed(dir, named, precision, config);
  const { ensembles, skipped, notes } = scan;
  const problems = scan.problems.map((one) => ({ ...one, error: plain(one.error) }));
  if (named === null) {
    const versions = scan.versions.map(({ name, version }) => ({ name, version, ...UNSEEN }));
    return { versions, problems, ensembles, skipped, notes };
  }
  const { good, bad } = await readVersions(scan, ({ onnxPath }) =>
    unlessStopped(onnxPath, join(dir, named), () => seen(onnxPath, join(dir, named), options, config)),
  );
  for (const { found, error } of bad)
    problems.push({ name: named, version: found.version, error: plain(error) });
  const versions = good.map(({ found: { version }, value, standsIn }) => ({
    name: named,
    version,
    ...value,
    ...(standsIn ? { standsIn } : {}),
  }));
  return { versions, problems, ensembles, skipped, notes };
}

async function seen(onnxPath: string, modelDir: string, options: PrepareOptions, config?: string) {
  const digest = versionDigest(onnxPath, modelDir, config);
  // Skips reading, which takes long, for the served models that are looked at most often.
  const profile = measured.has(digest) ? null : await knownProfile(onnxPath, options, config);
  if (profile !== null) remember(digest, profile.provisional === true);
  return { digest, isMeasured: measured.has(digest), isProvisional: measured.get(digest) === true };
}

async function unlessStopped<T>(onnxPath: string, modelDir: string, work: () => Promise<T>): Promise<T> {
  const digest = () => versionDigest(onnxPath, modelDir);
  const before = stopped.size === 0 ? undefined : stopped.get(digest());
  if (before !== undefined) throw before;
  return work().catch((error) => {
    if (error instanceof TooLong) stopped.set(digest(), error);
    throw error;
  });
}

function remember(digest: string, isProvisional: boolean): void {
  if (measured.size >= MOST_MEASURED) measured.clear();
  measured.set(digest, isProvisional);
}

/** Leaves out details meant for the log only. */
function plain(error: unknown): RuntimeProblem {
  const { detail, ...problem } = runtimeProblem(error);
  if (detail !== undefined) reply({ kind: 'say', what: `a model fails: ${detail}` });
  return problem;
}
