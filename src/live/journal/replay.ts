import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import type { Action } from '../../core/action.js';
import { Controller } from '../../core/controller.js';
import type { ModelSpec } from '../../core/model.js';
import type { RunObserver } from '../../core/observer.js';
import { type PipelineSpec, variantsOf } from '../../core/pipelines.js';
import type { Policy, PolicyContext } from '../../core/policy.js';
import { REQUEST_FREE } from '../../core/request.js';
import { type JournalHeader, parseHeader, parseModel, parsePipeline } from './journal-header.js';

/** Sees a controller's decisions, in addition to observers. Must not change or keep its arguments. */
export interface ReplayWatcher {
  started(header: JournalHeader, controller: Controller): void;
  /** The policy is about to get the request, or to take it back after its worker was lost. */
  admitting?(slot: number, nowNs: number): void;
  sent?(action: Action, nowNs: number): void;
  /** A pipeline came; `first`: the number of its first step in the request table. */
  pipelineCame?(first: number, spec: PipelineSpec): void;
  /** Trace of a request, given by its sequence number. */
  traced?(request: number, traceparent: string): void;
}

export interface ReplayOptions {
  readonly createPolicy: (header: JournalHeader, context: PolicyContext) => Policy;
  readonly observer?: RunObserver;
  readonly watchers?: readonly ReplayWatcher[];
  /** Text of the journal, if it is not in a file. */
  readonly text?: JournalText;
}

export interface Replay {
  readonly digest: string;
  /** Digest of the recorded run; null if the journal was cut off. */
  readonly recordedDigest: string | null;
  readonly steps: number;
  /** Number of distinct names of its initial models and those added later. */
  readonly models: number;
  readonly requests: number;
  /** Requests unanswered at the end of the journal. */
  readonly unanswered: number;
  /** Time of the last step, ns since the start of the run. */
  readonly endNs: number;
  /** True if the journal was cut off: its process was killed, or is still running. */
  readonly truncated: boolean;
}

/**
 * Re-runs offline the controller that wrote a journal: the same input at the same times, so the same decisions and the
 * same digest. Throws the errors of `readJournal`, and `E_REPLAY_DIFFERS` if a recorded result belongs to no action of
 * the replay.
 */
export async function replayJournal(path: string, options: ReplayOptions): Promise<Replay> {
  let player: Player | null = null;
  const open = (header: JournalHeader) => {
    const opened = new Player(header, options);
    player = opened;
    return (fields: readonly string[]) => play(fields, opened);
  };
  const recordedDigest = await readJournal(path, open, options.text);
  // The reader throws for a journal without a header.
  const { controller, steps, models, requests, nowNs } = player as unknown as Player;
  const truncated = recordedDigest === null;
  const unanswered = controller.requests.size;
  return {
    digest: controller.digest,
    recordedDigest,
    steps,
    models: models.size,
    requests,
    unanswered,
    endNs: nowNs,
    truncated,
  };
}

/** Performs the call of one line. Throws `E_JOURNAL` and `E_REPLAY_DIFFERS`. */
function play(fields: readonly string[], player: Player): void {
  const [letter, ...rest] = fields;
  if (!Object.hasOwn(LINES, letter)) throw malformed(`no line begins with "${letter.slice(0, 20)}"`);
  const { counts, isOpen = false, call } = LINES[letter];
  const isRight = counts.includes(fields.length) || (isOpen && fields.length > counts[0]);
  if (!isRight) throw malformed(`has ${fields.length} fields where a line "${letter}" has ${counts[0]}`);
  call(player, rest);
}

interface Line {
  /** Possible numbers of fields with the letter, the smallest first. */
  readonly counts: readonly number[];
  /** True if there may be any larger number. */
  readonly isOpen?: true;
  readonly call: (player: Player, fields: readonly string[]) => void;
}

/** By first letter of a line: its fields, and the call of the controller that it stands for. */
const LINES: Readonly<Record<string, Line>> = {
  o: {
    counts: [5, 7, 8],
    call: (player, [model, arrival, slo, ...rest]) => {
      const [user, requestClass = 0, tenant = 0, length = 0] = rest.map(whole);
      const slot = player.controller.offer(
        ...([player.served(whole(model)), time(arrival), number(slo), user] as const),
        ...player.sender(requestClass, tenant),
        length,
      );
      player.came(slot);
    },
  },
  f: {
    counts: [8],
    isOpen: true,
    call: (player, [pipeline, arrival, slo, ...rest]) => {
      const [user, requestClass, tenant, ...counts] = rest.map(whole);
      const slot = player.controller.offerPipeline(
        ...([player.pipeline(whole(pipeline), counts.length), time(arrival), number(slo), user] as const),
        ...player.sender(requestClass, tenant),
        Int32Array.from(counts),
      );
      player.came(slot);
    },
  },
  n: {
    counts: [4],
    call: ({ controller }, [slot, step, count]) =>
      controller.setCount(whole(slot), whole(step), number(count)),
  },
  l: {
    counts: [3],
    isOpen: true,
    call: (player, [pipeline, ...spec]) => player.putPipeline(whole(pipeline), parsePipeline(spec.join(' '))),
  },
  w: { counts: [2], call: (player, [trace]) => player.trace(trace.slice(0, LONGEST_TRACE_CHARS)) },
  c: { counts: [2], call: (player, [slot]) => player.controller.cancel(player.waiting(whole(slot))) },
  r: {
    counts: [6],
    call: (player, [id, status, begin, end, clock]) => {
      const result = { status: whole(status), beginNs: time(begin), endNs: time(end), clock: number(clock) };
      player.controller.result(Object.assign(player.taken(whole(id)), result));
    },
  },
  d: { counts: [2], call: (player, [gpu]) => player.controller.gpuDown(player.gpu(gpu)) },
  u: {
    counts: [3],
    isOpen: true,
    call: (player, [gpu, kind, ...models]) => {
      const { cluster } = player.controller;
      const held = models.map((model) => within(whole(model), cluster.models.length, 'model'));
      player.controller.gpuUp(player.gpu(gpu), held, within(whole(kind), cluster.kinds, 'kind'));
    },
  },
  p: {
    counts: [3],
    isOpen: true,
    call: (player, [model, ...spec]) => player.putModel(whole(model), parseModel(spec.join(' '))),
  },
  a: {
    counts: [2],
    isOpen: true,
    call: (player, [text, ...gpus]) => {
      const model = within(whole(text), player.controller.cluster.models.length, 'model');
      player.controller.setAbsent(
        model,
        gpus.map((gpu) => player.gpu(gpu)),
      );
    },
  },
  t: { counts: [2], call: (player, [model]) => player.controller.retireModel(player.served(whole(model))) },
  g: {
    counts: [2],
    call: ({ controller }, [text]) => {
      const slots = whole(text);
      const { length } = controller.cluster.models;
      if (slots <= length) throw malformed(`${length} slots grow to ${slots}`);
      controller.grow(slots);
    },
  },
  s: { counts: [2], call: (player, [now]) => player.step(time(now)) },
};

/** Length of a `traceparent`. */
const LONGEST_TRACE_CHARS = 55;

/** A controller that a journal drives, and checks of what a damaged journal might ask of it. */
class Player {
  readonly controller: Controller;
  steps = 0;
  requests = 0;
  /** Slot of the latest request. */
  private offered = 0;
  nowNs = 0;
  readonly models = new Set<string>();
  private readonly pipelines: PipelineSpec[] = [];
  /** Actions without a result, by id. */
  private readonly outstanding = new Map<number, Action>();

  constructor(
    private readonly header: JournalHeader,
    private readonly options: ReplayOptions,
  ) {
    const { createPolicy, observer, watchers = [] } = options;
    const { models, spareModels, spareBatch, gpus, spareGpus, pages, kinds, oneLane } = header;
    const { defaultSloNs, admission, missedWindow, classes, tenants, padding = 'batch' } = header;
    const ofKinds = kinds === undefined ? {} : { kinds };
    for (const { name } of models) this.models.add(name);
    this.controller = new Controller({
      cluster: { models, spareModels, spareBatch, gpus, spareGpus, pages, oneLane, padding, ...ofKinds },
      defaultSloNs,
      admission,
      missedWindow,
      ...(classes === undefined ? {} : { classes }),
      ...(tenants === undefined ? {} : { tenants }),
      createPolicy: (context) => {
        const policy = createPolicy(header, context);
        return watched(policy, watchers);
      },
      port: {
        send: (action, nowNs) => {
          this.outstanding.set(action.id, action);
          for (const watcher of watchers) watcher.sent?.(action, nowNs);
        },
        answer: () => {},
      },
      ...(observer === undefined ? {} : { observer }),
    });
    for (const watcher of watchers) watcher.started(header, this.controller);
  }

  /** Records the request in a slot. */
  came(slot: number): void {
    this.requests++;
    this.offered = slot;
  }

  sender(requestClass: number, tenant: number): readonly [requestClass: number, tenant: number] {
    within(requestClass, this.controller.classes.length, 'class');
    within(tenant, Math.max(1, this.header.tenants?.length ?? 0), 'tenant');
    return [requestClass, tenant];
  }

  putPipeline(index: number, spec: PipelineSpec): void {
    for (const { model } of spec.steps.flatMap(variantsOf)) this.served(model);
    this.pipelines[index] = spec;
    const first = this.controller.putPipeline(index, spec);
    for (const watcher of this.options.watchers ?? []) watcher.pipelineCame?.(first, spec);
  }

  pipeline(index: number, steps: number): number {
    if (steps === this.pipelines[index]?.steps.length) return index;
    throw malformed(`pipeline ${index} has no such steps`);
  }

  trace(traceparent: string): void {
    const request = this.controller.requests.id[this.offered];
    for (const watcher of this.options.watchers ?? []) watcher.traced?.(request, traceparent);
  }

  /** Slot of a request that is not answered yet. */
  waiting(slot: number): number {
    const { state } = this.controller.requests;
    if (slot < state.length && state[slot] !== REQUEST_FREE) return slot;
    throw malformed(`no request waits in slot ${slot}`);
  }

  /** The action that a result is of. The controller reuses the object. */
  taken(id: number): Action {
    const action = this.outstanding.get(id);
    if (action === undefined) {
      const what = `a result of action ${id}, which was not sent: the journal is damaged, or another version of escapement, which decides differently, wrote it`;
      throw new EscapementError('E_REPLAY_DIFFERS', what);
    }
    this.outstanding.delete(id);
    return action;
  }

  putModel(model: number, spec: ModelSpec): void {
    const { cluster } = this.controller;
    const isEmpty = model < cluster.models.length && !cluster.hasModel(model);
    if (!isEmpty) throw malformed(`model ${model} comes to a slot in use`);
    this.controller.putModel(model, spec);
    this.models.add(spec.name);
  }

  step(nowNs: number): void {
    if (nowNs < this.nowNs) throw malformed(`time runs back from ${this.nowNs} to ${nowNs} ns`);
    this.nowNs = nowNs;
    this.steps++;
    this.controller.step(nowNs);
  }

  served(model: number): number {
    if (this.controller.isServing(model)) return model;
    throw malformed(`model ${model} takes no requests`);
  }

  gpu(text: string): number {
    return within(whole(text), this.controller.cluster.gpus, 'GPU');
  }
}

function whole(text: string): number {
  const value = number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(`"${text}" is not a whole number`);
}

function time(text: string): number {
  const value = number(text);
  if (Number.isFinite(value)) return value;
  throw malformed(`"${text}" is not a time`);
}

function number(text: string): number {
  const value = text === '' ? Number.NaN : Number(text);
  if (!Number.isNaN(value)) return value;
  throw malformed(`"${text}" is not a number`);
}

function watched(policy: Policy, watchers: readonly ReplayWatcher[]): Policy {
  if (watchers.length === 0) return policy;
  const admit = policy.admit.bind(policy);
  policy.admit = (slot, nowNs) => {
    for (const watcher of watchers) watcher.admitting?.(slot, nowNs);
    return admit(slot, nowNs);
  };
  return policy;
}

function within(index: number, count: number, what: string): number {
  if (index < count) return index;
  throw malformed(`${what} ${index} of ${count}`);
}

const BLOCK_BYTES = 1 << 18;
/** Longest line accepted, about a header with 100,000 models; a file without line ends must not be read whole. */
const LONGEST_LINE_CHARS = 1 << 26;

/** Contents of a journal, in chunks of any length. */
type JournalText = AsyncIterable<string> | Iterable<string>;

/**
 * Reads a journal of any size in constant memory: calls `open` with its header and the result of that with the fields of
 * each further line. Returns its final digest; null if it was cut off, in which case the incomplete line is ignored.
 * Throws `E_JOURNAL` for an invalid journal, `E_FILE_MISSING`, and `E_FILE_TRUNCATED` for corrupt compressed data. An
 * `EscapementError` of a line gets its number. `text`: default: that of the file.
 */
async function readJournal(
  path: string,
  open: (header: JournalHeader) => (fields: readonly string[]) => void,
  text: JournalText = openText(path),
): Promise<string | null> {
  let visit: ReturnType<typeof open> | null = null;
  let digest: string | null = null;
  const lines = await eachLine(path, text, (line) => {
    const fields = line.split(' ');
    if (visit === null) visit = open(parseHeader(line));
    else if (digest !== null) throw malformed('a line after the end');
    else if (fields[0] !== 'e') visit(fields);
    else if (fields.length === 2) digest = fields[1];
    else throw malformed(`has ${fields.length} fields where a line "e" has 2`);
  });
  if (lines === 0) throw new EscapementError('E_JOURNAL', 'has no complete header', { file: path });
  return digest;
}

/** Calls `use` with each complete line; returns their number. */
async function eachLine(path: string, text: JournalText, use: (line: string) => void): Promise<number> {
  let rest = '';
  let count = 0;
  try {
    for await (const block of text) {
      const lines = (rest + block).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) {
        count++;
        use(line);
      }
      if (rest.length > LONGEST_LINE_CHARS) throw malformed('a line of more than 64 MiB');
    }
    return count;
  } catch (error) {
    throw atLine(error, path, count);
  }
}

function openText(path: string): AsyncIterable<string> {
  const file = createReadStream(inputPath(path), { highWaterMark: BLOCK_BYTES });
  if (!path.endsWith('.gz')) return file.setEncoding('utf8');
  // Compressed data that ends early yields what there is. Errors of the file come through the decompressed stream.
  const gunzip = createGunzip({ chunkSize: BLOCK_BYTES, finishFlush: constants.Z_SYNC_FLUSH });
  return pipeline(file, gunzip, () => {}).setEncoding('utf8');
}

function malformed(what: string): EscapementError {
  return new EscapementError('E_JOURNAL', `is malformed: ${what}`);
}

function atLine(error: unknown, path: string, line: number): unknown {
  if (error instanceof EscapementError) {
    return new EscapementError(error.code, error.what, { ...error.place, file: path, line });
  }
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new EscapementError('E_FILE_MISSING', 'no such file', { file: path });
  if (code === 'EISDIR' || code === 'EACCES' || code === 'ENOTDIR') {
    return new EscapementError('E_FILE_MISSING', `cannot be read (${message})`, { file: path });
  }
  if (code?.startsWith('Z_')) {
    return new EscapementError('E_FILE_TRUNCATED', `the packed data is corrupt (${message})`, { file: path });
  }
  return error;
}
