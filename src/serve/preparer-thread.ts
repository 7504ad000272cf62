// Entry of the thread that reads, optimises and measures models while others are served.
import '../live/ort/no-telemetry.js';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { invariant } from '../base/invariant.js';
import { findVersion, scanNamed, scanRepository } from '../live/models/scan.js';
import { readVersions } from '../live/models/stand-ins.js';
import { passOnWarnings } from '../live/warnings.js';
import {
  isMeasured,
  type PreparedModel,
  type PrepareOptions,
  prepareModel,
  versionDigest,
} from './prepare-model.js';
import type {
  PlainList,
  PlainProblem,
  PreparerReply,
  PreparerTask,
  Repository,
} from './preparer-messages.js';

interface Named {
  readonly name: string;
  readonly version: string;
}

const UNSEEN = { digest: '', isMeasured: false };
/** Digests of models that have a profile: so many of them, which are found out again if they are forgotten. */
const measured = new Set<string>();
const MOST_MEASURED = 10_000;

passOnWarnings('preparer');
const caller = parentPort;
invariant(caller !== null, 'this file is the entry of a thread');
const reply = (message: PreparerReply) => caller.postMessage(message);

// One task at a time: the caller waits for each.
caller.on('message', async (task: PreparerTask | null) => {
  if (task === null) {
    caller.close();
    return;
  }
  try {
    reply({ kind: 'done', result: await resultOf(task) });
  } catch (error) {
    reply({ kind: 'failed', problem: plain(error) });
  }
});

function resultOf(task: PreparerTask): Promise<PlainList | PreparedModel> {
  return task.kind === 'prepare' ? prepared(task) : listed(task, task.name);
}

async function prepared({
  dir,
  precision,
  options,
  name,
  version,
}: Repository & Named): Promise<PreparedModel> {
  const onnxPath = findVersion(dir, name, version, precision);
  const say = (what: string) => reply({ kind: 'say', what });
  const model = await prepareModel(onnxPath, join(dir, name), options, say);
  remember(model.digest);
  return model;
}

async function listed({ dir, precision, options }: Repository, named: string | null): Promise<PlainList> {
  const scan = named === null ? scanRepository(dir, precision) : scanNamed(dir, named, precision);
  const { skipped, notes } = scan;
  const problems = scan.problems.map((one) => ({ ...one, error: plain(one.error) }));
  if (named === null) {
    const versions = scan.versions.map(({ name, version }) => ({ name, version, ...UNSEEN }));
    return { versions, problems, skipped, notes };
  }
  const { good, bad } = await readVersions(scan, ({ onnxPath }) => seen(onnxPath, dir, named, options));
  for (const { found, error } of bad)
    problems.push({ name: named, version: found.version, error: plain(error) });
  const versions = good.map(({ found: { version }, value, standsIn }) => ({
    name: named,
    version,
    ...value,
    ...(standsIn ? { standsIn } : {}),
  }));
  return { versions, problems, skipped, notes };
}

async function seen(onnxPath: string, dir: string, name: string, options: PrepareOptions) {
  const digest = versionDigest(onnxPath, join(dir, name));
  // Reading a model takes long, and those that are looked at most often are served.
  if (!measured.has(digest) && (await isMeasured(onnxPath, options))) remember(digest);
  return { digest, isMeasured: measured.has(digest) };
}

function remember(digest: string): void {
  if (measured.size >= MOST_MEASURED) measured.clear();
  measured.add(digest);
}

/** Errors lose their class on the way between threads. */
function plain(error: unknown): PlainProblem {
  if (error instanceof EscapementError) {
    const { code, what, place } = error;
    return { code, what, place };
  }
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const place: ErrorPlace = {};
  return { code: 'E_MODEL_FILE', what: `cannot be prepared: ${what}`, place };
}
