import { NS_PER_MS } from '../../base/units.js';
import { STATUS_OK } from '../../core/action.js';
import { OUTCOME_NAMES } from '../../core/request.js';
import { statusName } from '../../core/status-names.js';
import type { Cause } from '../causes.js';
import type { Flight, FlightAction, Knowledge, KnownGpu, TenantLimit } from './flight.js';
import {
  LOGGED_INFER,
  LOGGED_LOAD,
  LOGGED_UNLOAD,
  type LoggedAction,
  type LoggedRequest,
  type RunRows,
} from './run-rows.js';

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
  const others = readOthers(logs, own);
  const seen = readSurroundings(logs, own, others.actions);
  const { infer } = seen;
  const { arrivalNs, answeredNs, sloNs, outcome } = own;
  // Ids ascend in the order of sending, even within an instant.
  const whileItWaited = (action: LoggedAction) =>
    infer === null ? action.sentNs < answeredNs : action.id < infer.id;
  const loads = seen.placing.filter(
    (action) => action.type === LOGGED_LOAD && whileItWaited(action) && action.handledNs > arrivalNs,
  );
  const flight: Flight = {
    request: id,
    ...senderOf(own, names),
    arrivalNs,
    sloNs,
    deadlineNs: arrivalNs + sloNs,
    dueNs: null,
    known: [knowledgeOf(logs, own, seen, others.earlier)],
    actions: [...loads, ...(infer === null ? [] : [infer])]
      .sort((a, b) => a.sentNs - b.sentNs || a.id - b.id)
      .map((action) => ({
        ...describe(action, action === infer ? others.together : null),
        ...kindOf(logs.setup, action.gpu),
      })),
    passedBy: seen.infersOfOthers.filter(
      (action) => whileItWaited(action) && isWarm(holding(seen.placing, action.gpu, action), action.sentNs),
    ).length,
    answer: { outcome: OUTCOME_NAMES[outcome], atNs: answeredNs, latencyNs: answeredNs - arrivalNs },
  };
  return { flight, cause: own.cause };
}

function senderOf({ model, user, requestClass, tenant, cause, length }: LoggedRequest, names: RunNames) {
  const itsClass = requestClass === undefined ? undefined : names.classes[requestClass];
  const itsTenant = tenant === undefined ? undefined : names.tenants[tenant];
  const limit = cause === null ? undefined : LIMITS[cause];
  return {
    model: names.model(model),
    user,
    ...(itsClass === undefined ? {} : { class: itsClass }),
    ...(itsTenant === undefined ? {} : { tenant: itsTenant }),
    ...(limit === undefined ? {} : { limit }),
    ...(length === undefined ? {} : { length }),
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

interface Others {
  /** Last INFERs of earlier requests for the model that were unanswered at its arrival, −1 for none. */
  readonly earlier: readonly number[];
  readonly actions: ReadonlySet<number>;
  /** Requests in its INFER, including itself. */
  readonly together: Pick<FlightAction, 'count' | 'lastDeadlineNs'>;
}

function readOthers({ requests }: RunRows, own: LoggedRequest): Others {
  const earlier: number[] = [];
  let count = 0;
  let lastDeadlineNs = own.arrivalNs + own.sloNs;
  requests(({ id, model, arrivalNs, answeredNs, sloNs, action }) => {
    if (model !== own.model) return;
    if (id < own.id && answeredNs > own.arrivalNs) earlier.push(action);
    if (action < 0 || action !== own.action) return;
    count++;
    lastDeadlineNs = Math.max(lastDeadlineNs, arrivalNs + sloNs);
  });
  return { earlier, actions: new Set(earlier), together: { count, lastDeadlineNs } };
}

interface Surroundings {
  /** LOADs and UNLOADs of its model, in order of results. */
  readonly placing: readonly LoggedAction[];
  /** Actions in progress at its arrival. */
  readonly booked: readonly LoggedAction[];
  /** INFERs of other models, sent while it waited. */
  readonly infersOfOthers: readonly LoggedAction[];
  readonly infer: LoggedAction | null;
  /** Send times of the INFERs of earlier requests. */
  readonly sentNs: ReadonlyMap<number, number>;
}

function readSurroundings(
  { actions }: RunRows,
  own: LoggedRequest,
  earlier: ReadonlySet<number>,
): Surroundings {
  const placing: LoggedAction[] = [];
  const booked: LoggedAction[] = [];
  const infersOfOthers: LoggedAction[] = [];
  const sentNs = new Map<number, number>();
  let infer: LoggedAction | null = null;
  actions((action) => {
    const { id, type, model } = action;
    if (id === own.action) infer = action;
    if (earlier.has(id)) sentNs.set(id, action.sentNs);
    if (action.sentNs < own.arrivalNs && action.handledNs > own.arrivalNs) booked.push(action);
    if (model !== own.model) {
      const there = action.sentNs >= own.arrivalNs && action.sentNs < own.answeredNs;
      if (there && type === LOGGED_INFER) infersOfOthers.push(action);
    } else if (type === LOGGED_LOAD || type === LOGGED_UNLOAD) {
      placing.push(action);
    }
  });
  return { placing, booked, infersOfOthers, infer, sentNs };
}

function knowledgeOf(
  { setup }: RunRows,
  { arrivalNs, model }: LoggedRequest,
  { placing, booked, sentNs }: Surroundings,
  earlier: readonly number[],
): Knowledge {
  const lanes = Array.from({ length: setup.gpus }, () => ({ execNs: arrivalNs, weightsNs: arrivalNs }));
  for (const { gpu, type, expectedEndNs } of booked) {
    const lane = lanes[gpu];
    if (type === LOGGED_INFER || setup.oneLane) lane.execNs = Math.max(lane.execNs, expectedEndNs);
    if (type === LOGGED_LOAD || setup.oneLane) lane.weightsNs = Math.max(lane.weightsNs, expectedEndNs);
  }
  // Anything sent in the instant of its arrival was sent after its admission.
  const moment = { sentNs: arrivalNs, id: -1 };
  const gpus = lanes.flatMap(({ execNs, weightsNs }, gpu): KnownGpu[] => {
    const load = holding(placing, gpu, moment);
    const warm = isWarm(load, arrivalNs);
    return load === undefined ? [] : [{ gpu, warm, execFreeNs: execNs, weightsFreeNs: weightsNs }];
  });
  return {
    atNs: arrivalNs,
    queued: earlier.filter((action) => (sentNs.get(action) ?? Number.POSITIVE_INFINITY) >= arrivalNs).length,
    inferNs: Math.round(setup.modelInferMs[model] * NS_PER_MS),
    gpus,
    weightsFreeNs: Math.min(...lanes.map(({ weightsNs }) => weightsNs)),
  };
}

/** The LOAD that holds the model on the GPU, as far as the controller knew before that moment; undefined if none. */
function holding(placing: readonly LoggedAction[], gpu: number, moment: Moment): LoggedAction | undefined {
  // LOADs and UNLOADs count from the time they were sent.
  const last = placing.reduce<LoggedAction | undefined>((latest, action) => {
    if (action.gpu !== gpu || !isBefore(action, moment)) return latest;
    return latest === undefined || action.id > latest.id ? action : latest;
  }, undefined);
  if (last?.type !== LOGGED_LOAD) return undefined;
  return last.status === STATUS_OK || last.handledNs > moment.sentNs ? last : undefined;
}

function isWarm(load: LoggedAction | undefined, atNs: number): boolean {
  return load !== undefined && load.handledNs <= atNs;
}

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

function describe(action: LoggedAction, together: Others['together'] | null): FlightAction {
  const { id, type, gpu, batchSize, sentNs, earliestNs, latestNs, expectedDurationNs, expectedEndNs } =
    action;
  return {
    id,
    kind: type === LOGGED_LOAD ? 'LOAD' : 'INFER',
    gpu,
    batchSize,
    ...(together ?? { count: 0, lastDeadlineNs: null }),
    sentNs,
    earliestNs,
    latestNs,
    expectedStartNs: expectedEndNs - expectedDurationNs,
    expectedDurationNs,
    result: {
      status: statusName(action.status),
      beginNs: action.beginNs,
      endNs: action.endNs,
      handledNs: action.handledNs,
    },
  };
}
