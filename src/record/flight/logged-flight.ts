import { NS_PER_MS } from '../../base/units.js';
import { INFER, LOAD, STATUS_OK, UNLOAD } from '../../core/action.js';
import { GPU_OFF, GPU_ON } from '../../core/fleet-observer.js';
import { OUTCOME_NAMES, type Outcome } from '../../core/request.js';
import { statusName } from '../../core/status-names.js';
import { CAUSES, type Cause } from '../causes.js';
import type {
  Flight,
  FlightAction,
  GpuTrouble,
  Knowledge,
  KnownGpu,
  LoggedAction,
  LoggedChange,
  LoggedRequest,
  RunRows,
  TenantLimit,
} from './flight.js';

/** Names for the indices in a run's logs. */
export interface RunNames {
  model(model: number): string;
  /** Empty if the run has none. */
  readonly classes: readonly string[];
  readonly tenants: readonly string[];
}

/** One request of a run, as reconstructed from its logs. */
interface LoggedFlight {
  readonly flight: Flight;
  /** Null if it was answered within its SLO. */
  readonly cause: Cause | null;
}

/**
 * Reconstructs one request from the logs of its run; null if there is no such request. Unlike a journal, logs contain
 * neither the prediction at admission nor the INFERs before its last. Throws `E_RESULTS`.
 */
export function loggedFlight(logs: RunRows, id: number, names: RunNames): LoggedFlight | null {
  const own = findRequest(logs, id);
  if (own === null) return null;
  const { arrivalNs, answeredNs, sloNs, outcome } = own;
  const { mates, earlier, later } = requestsAround(logs, own);
  const actions = actionsAround(logs, own, earlier);
  const infer = actions.find((action) => action.id === own.action) ?? null;
  const placing = actions.filter((action) => isPlacing(action, own.model));
  const placed = [...placing, ...leaving(logs)];
  // Ids ascend in the order of sending, even within an instant.
  const whileItWaited = (action: LoggedAction) =>
    infer === null ? action.sentNs < answeredNs : action.id < infer.id;
  const loads = placing.filter(
    (action) => action.kind === LOAD && whileItWaited(action) && action.handledNs > arrivalNs,
  );
  const sentFirst = new Set(
    actions.filter((action) => action !== infer && whileItWaited(action)).map(({ id: sent }) => sent),
  );
  const passing = actions.filter(
    ({ model, kind, sentNs }) => model !== own.model && kind === INFER && sentNs >= arrivalNs,
  );
  const known = knowledgeOf(logs, own, actions, earlier);
  const concerned = new Set([...known.gpus.map(({ gpu }) => gpu), ...(infer === null ? [] : [infer.gpu])]);
  const troubles = [
    ...lost(logs.fleet ?? []),
    ...(logs.slow ?? []).filter(({ gpu }) => concerned.has(gpu)),
  ].filter(({ fromNs, untilNs }) => fromNs <= answeredNs && (untilNs ?? answeredNs) > arrivalNs);
  const flight: Flight = {
    request: id,
    ...senderOf(own, names),
    arrivalNs,
    sloNs,
    deadlineNs: arrivalNs + sloNs,
    dueNs: null,
    known: [known],
    actions: [...loads, ...(infer === null ? [] : [infer])]
      .sort((a, b) => a.sentNs - b.sentNs || a.id - b.id)
      .map((action) => ({
        ...describe(action, action === infer ? mates : null),
        ...kindOf(logs.setup, action.gpu),
      })),
    passedBy: passing.filter(
      (action) => whileItWaited(action) && isWarm(holding(placed, action.gpu, action), action.sentNs),
    ).length,
    ...(troubles.length > 0 && { troubles }),
    overtakenBy: later.filter((action) => sentFirst.has(action)).length,
    answer: {
      outcome: OUTCOME_NAMES[outcome as Outcome],
      atNs: answeredNs,
      latencyNs: answeredNs - arrivalNs,
    },
  };
  return { flight, cause: CAUSES[own.cause] ?? null };
}

function senderOf(
  { model, user, requestClass = -1, tenant = -1, cause, length = 0 }: LoggedRequest,
  names: RunNames,
) {
  const itsClass = names.classes[requestClass];
  const itsTenant = names.tenants[tenant];
  const limit = LIMITS[CAUSES[cause]!];
  return {
    model: names.model(model),
    user,
    ...(itsClass === undefined ? {} : { class: itsClass }),
    ...(itsTenant === undefined ? {} : { tenant: itsTenant }),
    ...(limit === undefined ? {} : { limit }),
    ...(length > 0 ? { length } : {}),
  };
}

const LIMITS: Partial<Record<Cause, TenantLimit>> = { overRate: 'rate', overShare: 'share' };

function findRequest({ requests }: RunRows, id: number): LoggedRequest | null {
  let found: LoggedRequest | null = null;
  requests((request) => {
    if (request.id === id) found = request;
    return found === null;
  });
  return found;
}

/**
 * Requests in its INFER, itself included, and the last INFER (−1: none) of each earlier request that waited for its
 * model, and of each later one that arrived before its answer.
 */
function requestsAround({ requests }: RunRows, own: LoggedRequest) {
  const mates: LoggedRequest[] = [];
  const earlier: number[] = [];
  const later: number[] = [];
  requests((other) => {
    if (other.model !== own.model) return;
    if (other.id < own.id && other.answeredNs > own.arrivalNs) earlier.push(other.action);
    if (other.id > own.id && other.arrivalNs < own.answeredNs) later.push(other.action);
    if (other.action >= 0 && other.action === own.action) mates.push(other);
  });
  return { mates, earlier, later };
}

/** Actions in progress or sent while it waited; LOADs and UNLOADs of its model; its INFER; and the `earlier` INFERs. */
function actionsAround({ actions }: RunRows, own: LoggedRequest, earlier: readonly number[]): LoggedAction[] {
  const ids = new Set([own.action, ...earlier]);
  const around: LoggedAction[] = [];
  actions((action) => {
    const isThere = action.sentNs < own.answeredNs && action.handledNs > own.arrivalNs;
    if (isThere || ids.has(action.id) || isPlacing(action, own.model)) around.push(action);
  });
  return around;
}

/** True for a LOAD or UNLOAD of the model. */
function isPlacing({ kind, model }: LoggedAction, wanted: number): boolean {
  return model === wanted && (kind === LOAD || kind === UNLOAD);
}

/** GPUs that leave lose their weights, as if they had unloaded them. */
function leaving({ fleet = [] }: RunRows): Placing[] {
  return fleet
    .filter(({ state }) => state === GPU_OFF)
    .map(({ atNs, gpu }) => ({
      ...{ id: Number.POSITIVE_INFINITY, gpu, kind: UNLOAD, status: STATUS_OK },
      ...{ sentNs: atNs, handledNs: atNs },
    }));
}

function knowledgeOf(
  rows: RunRows,
  { arrivalNs, model }: LoggedRequest,
  actions: readonly LoggedAction[],
  earlier: readonly number[],
): Knowledge {
  const { setup, fleet } = rows;
  const lanes = Array.from({ length: setup.gpus }, () => ({ execNs: arrivalNs, weightsNs: arrivalNs }));
  const before = actions.filter(({ sentNs }) => sentNs < arrivalNs);
  for (const { gpu, kind, expectedEndNs, handledNs } of before) {
    if (handledNs <= arrivalNs) continue;
    const lane = lanes[gpu];
    if (kind === INFER || setup.oneLane) lane.execNs = Math.max(lane.execNs, expectedEndNs);
    if (kind === LOAD || setup.oneLane) lane.weightsNs = Math.max(lane.weightsNs, expectedEndNs);
  }
  const placing = [...before.filter((action) => isPlacing(action, model)), ...leaving(rows)];
  const isOn = (gpu: number) =>
    fleet === undefined ||
    fleet.findLast((change) => change.gpu === gpu && change.atNs <= arrivalNs)?.state === GPU_ON;
  const gpus = lanes.flatMap(({ execNs, weightsNs }, gpu): KnownGpu[] => {
    // Anything sent in the instant of its arrival was sent after its admission.
    const load = holding(placing, gpu, { sentNs: arrivalNs, id: -1 });
    const warm = isWarm(load, arrivalNs);
    return load === undefined
      ? []
      : [{ gpu, warm, ...(isOn(gpu) ? { execFreeNs: execNs, weightsFreeNs: weightsNs } : GONE) }];
  });
  const free = lanes.filter((_, gpu) => isOn(gpu)).map(({ weightsNs }) => weightsNs);
  const sent = new Set(before.map(({ id }) => id));
  return {
    atNs: arrivalNs,
    queued: earlier.filter((action) => !sent.has(action)).length,
    inferNs: Math.round(setup.modelInferMs[model] * NS_PER_MS),
    gpus,
    weightsFreeNs: free.length === 0 ? null : Math.min(...free),
  };
}

/** Lanes of a draining GPU. */
const GONE = { execFreeNs: null, weightsFreeNs: null };

/** GPUs that had failed, without having drained. */
function lost(changes: readonly LoggedChange[]): GpuTrouble[] {
  return changes.flatMap(({ atNs: fromNs, gpu, state }, i): GpuTrouble[] => {
    if (state !== GPU_OFF) return [];
    const isIts = (change: LoggedChange) => change.gpu === gpu;
    if (changes.slice(0, i).findLast(isIts)?.state !== GPU_ON) return [];
    const untilNs = changes.find((one) => isIts(one) && one.state === GPU_ON && one.atNs > fromNs)?.atNs;
    return [{ gpu, fromNs, untilNs: untilNs ?? null, times: null }];
  });
}

/** The LOAD by which the GPU held the model, as the controller knew before that moment; undefined if none. */
function holding(placing: readonly Placing[], gpu: number, moment: Moment): Placing | undefined {
  // LOADs and UNLOADs count from the time they were sent.
  const last = placing.reduce<Placing | undefined>((latest, action) => {
    if (action.gpu !== gpu || !isBefore(action, moment)) return latest;
    return latest === undefined || isBefore(latest, action) ? action : latest;
  }, undefined);
  if (last?.kind !== LOAD) return undefined;
  return last.status === STATUS_OK || last.handledNs > moment.sentNs ? last : undefined;
}

function isWarm(load: Placing | undefined, atNs: number): boolean {
  return load !== undefined && load.handledNs <= atNs;
}

/** A LOAD or UNLOAD, or a GPU's leaving. */
type Placing = Moment & Pick<LoggedAction, 'gpu' | 'kind' | 'status' | 'handledNs'>;

/** Send time of an action; `id` orders actions sent in the same instant. */
type Moment = Pick<LoggedAction, 'sentNs' | 'id'>;

function isBefore(action: Moment, moment: Moment): boolean {
  return action.sentNs < moment.sentNs || (action.sentNs === moment.sentNs && action.id < moment.id);
}

/** Kind of a GPU in clusters with several kinds. */
function kindOf({ kinds = [] }: RunRows['setup'], gpu: number): Pick<FlightAction, 'gpuKind'> {
  let end = 0;
  const kind = kinds.find(({ gpus }) => {
    end += gpus;
    return gpu < end;
  });
  return kind === undefined ? {} : { gpuKind: kind.name };
}

/** `mates`: requests of an INFER; null for a LOAD. */
function describe(action: LoggedAction, mates: readonly LoggedRequest[] | null): FlightAction {
  const { id, kind, gpu, batchSize, sentNs, earliestNs, latestNs, expectedDurationNs } = action;
  const { status, handledNs } = action;
  const ran = status === STATUS_OK;
  return {
    ...{ id, kind: kind === LOAD ? 'LOAD' : 'INFER', gpu, batchSize },
    count: mates?.length ?? 0,
    lastDeadlineNs: mates === null ? null : Math.max(...mates.map((mate) => mate.arrivalNs + mate.sloNs)),
    ...{ sentNs, earliestNs, latestNs: Number.isFinite(latestNs) ? latestNs : null, expectedDurationNs },
    expectedStartNs: action.expectedEndNs - expectedDurationNs,
    result: {
      status: statusName(status),
      // Logs contain nothing more precise of an action that failed.
      beginNs: ran ? action.beginNs : handledNs,
      endNs: ran ? action.endNs : handledNs,
      handledNs,
    },
  };
}
