import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { journaledPolicy } from '../../config/create-policy.js';
import { INFER, LOAD, STATUS_OK } from '../../core/action.js';
import type { Cluster } from '../../core/cluster.js';
import type { ModelSpec } from '../../core/model.js';
import type { JournalHeader } from '../../live/journal/journal-header.js';
import { replayJournal } from '../../live/journal/replay.js';
import { summarize } from '../../live/models/measure/until-stable.js';
import type { Measurement, ReadMeasurements, Stated } from './measurement.js';

/** Most durations that are kept of one batch size: the first ones. */
const MOST_RUNS = 100_000;

/** True for a journal of a server, uncompressed or not. */
export function isJournal(path: string, text: string): boolean {
  return /\.journal(\.\d+)?(\.gz)?$/.test(path) || text.startsWith('{"format":"escapement-journal"');
}

/**
 * Durations of the INFERs and LOADs of a server's journal, by model, kind of GPU and the length that inputs were padded
 * to, if all kinds have run it. Throws `E_JOURNAL`, and the other errors of replaying it.
 */
export async function readJournalTimes(path: string, stated: Stated): Promise<ReadMeasurements> {
  const times = new Map<string, number[]>();
  const specs = new Map<string, ModelSpec>();
  let cluster!: Cluster;
  let header!: JournalHeader;
  const add = (key: string, ns: number) => {
    const list = times.get(key) ?? [];
    if (list.length === 0) times.set(key, list);
    if (list.length < MOST_RUNS) list.push(ns);
  };
  await replayJournal(path, {
    createPolicy: journaledPolicy(path),
    watchers: [
      {
        started: (recorded, controller) => {
          header = recorded;
          ({ cluster } = controller);
        },
      },
    ],
    observer: {
      answered() {},
      completed(action) {
        if (action.status !== STATUS_OK || (action.kind !== INFER && action.kind !== LOAD)) return;
        const spec = cluster.models[action.model]!;
        const { name, lengths = [], equalLengths = false } = spec;
        specs.set(name, spec);
        const isInfer = action.kind === INFER;
        // An import knows no inputs of equal lengths that are not padded.
        if (isInfer && equalLengths && action.bucket !== lengths.length - 1) return;
        const batch = isInfer ? action.batchSize : 'LOAD';
        const length = isInfer && !equalLengths ? lengths[action.bucket] : undefined;
        add(JSON.stringify([name, kindOf(header, action.gpu), batch, length]), action.endNs - action.beginNs);
      },
    },
  });
  const measurements = [...times].flatMap(([key, durations]): Measurement[] => {
    const [model, kind, batch, length] = JSON.parse(key) as [string, string, number | 'LOAD', number | null];
    if (batch === 'LOAD') return [];
    const loads = times.get(JSON.stringify([model, kind, 'LOAD', null]));
    const { weightsBytes, inputBytes, outputBytes, loadNs } = specs.get(model)!;
    return [
      {
        ...{ model, precision: stated.precision, batch, ...(length !== null && { length }) },
        ...summarize(durations),
        gpu: [stated.gpu, kind].filter((word) => word !== '').join('-'),
        ...{ weightsBytes, inputBytes, outputBytes, runtime: 'onnxruntime (escapement)', from: path },
        loadMs: loads === undefined ? loadNs / NS_PER_MS : summarize(loads).medianMs,
      },
    ];
  });
  const gpusWith = (model: string, length?: number) =>
    new Set(
      measurements.flatMap((one) =>
        one.model === model && one.length === (length ?? one.length) ? one.gpu : [],
      ),
    ).size;
  const isOnAll = ({ model, length }: Measurement) => gpusWith(model, length) === gpusWith(model);
  const shared = measurements.filter(isOnAll);
  if (shared.length === 0) {
    const what =
      measurements.length === 0
        ? 'has no INFER that ended well'
        : 'has no length of inputs that every kind of GPU ran';
    throw new EscapementError('E_PROFILE', what, { file: path });
  }
  const cut = new Set(measurements.flatMap((one) => (isOnAll(one) ? [] : one.model)));
  const notes = [...cut].map((model) => `${model}: lengths that not every kind of GPU ran are left out`);
  return { format: 'journal', measurements: shared, notes };
}

/** Name of a GPU's kind; empty if all are of one. */
function kindOf({ kinds }: JournalHeader, gpu: number): string {
  if (kinds === undefined) return '';
  let before = 0;
  const kind = kinds.findIndex(({ gpus }) => {
    before += gpus;
    return gpu < before;
  });
  return `kind${Math.max(0, kind)}`;
}
