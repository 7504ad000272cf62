import { INFER, LOAD, STATUS_OK, UNLOAD } from '../core/action.js';
import type { Outcome } from '../core/request.js';
import { CAUSES } from '../record/causes.js';
import { explain } from '../record/flight/explain.js';
import { flightEvents } from '../record/flight/flight-text.js';
import { loggedFlight } from '../record/flight/logged-flight.js';
import { pipelineEvents, pipelineFlight } from '../record/flight/pipeline-flight.js';
import {
  LOGGED_INFER,
  LOGGED_LOAD,
  LOGGED_UNLOAD,
  type LoggedAction,
  type LoggedRequest,
  type RunRows,
} from '../record/flight/run-rows.js';
import type { RunSetup } from '../record/results.js';
import type { RowList } from '../record/row-list.js';
import { ACTION, REQUEST } from '../record/run-rows.js';
import type { Story } from './protocol.js';

/** Types of actions in logs by those of the core; a cancellation has no model. */
const LOGGED_TYPES: Readonly<Record<number, number>> = {
  [LOAD]: LOGGED_LOAD,
  [UNLOAD]: LOGGED_UNLOAD,
  [INFER]: LOGGED_INFER,
};

/** Inputs of a story. */
interface StoryRows {
  /** In order of id. */
  readonly actions: RowList;
  readonly requests: RowList;
}

interface StorySetup extends Pick<RunRows, 'fleet' | 'slow'>, Pick<RunSetup, 'pipelines'> {
  readonly gpus: number;
  readonly oneLane: boolean;
  /** By model: name, then those of pipelines, and time of an INFER of one request. */
  readonly models: readonly string[];
  readonly modelInferMs: readonly number[];
}

/**
 * Story of a request, as in `escapement explain`; for one of a pipeline's step that of the pipeline. Null: not answered,
 * or no such request.
 */
export function storyOf(rows: StoryRows, setup: StorySetup, request: number): Story | null {
  const logs = rowsOf(rows, setup);
  const names = { model: (model: number) => setup.models[model]!, classes: [], tenants: [] };
  const whole = wholeOf(rows.requests, request);
  const modelPages = setup.modelInferMs.map(() => 0);
  const flow =
    setup.pipelines && pipelineFlight(logs, whole, { pipelines: setup.pipelines, modelPages }, names);
  if (flow)
    return {
      ...{
        request: whole,
        model: flow.pipeline,
        arrivalNs: flow.arrivalNs,
        deadlineNs: flow.arrivalNs + flow.sloNs,
      },
      ...{ outcome: flow.answer!.outcome, answeredNs: flow.answer!.atNs },
      actions: flow.steps.map(({ infer }) => infer),
      ...{ events: pipelineEvents(flow), why: flow.why },
    };
  const found = loggedFlight(logs, request, names);
  if (found === null) return null;
  const { flight } = found;
  const { model, arrivalNs, deadlineNs, answer, actions } = flight;
  if (answer === null) return null;
  return {
    ...{ request, model, arrivalNs, deadlineNs },
    outcome: answer.outcome,
    answeredNs: answer.atNs,
    actions: actions.map(({ id }) => id),
    events: flightEvents(flight),
    why: explain(flight),
  };
}

/** The pipeline's request that a request is a step of, or itself. */
function wholeOf(requests: RowList, request: number): number {
  for (let row = 0; row < requests.count; row++) {
    const parent = requests.get(row, REQUEST.parent);
    if (requests.get(row, REQUEST.id) === request && parent >= 0) return parent;
  }
  return request;
}

function rowsOf({ requests, actions }: StoryRows, { fleet, slow, ...setup }: StorySetup): RunRows {
  return {
    requests: (visit) => {
      for (let row = 0; row < requests.count; row++) if (visit(requestAt(requests, row)) === false) return;
    },
    actions: (visit) => {
      for (let row = 0; row < actions.count; row++) {
        const type = LOGGED_TYPES[actions.get(row, ACTION.kind)];
        const hasEnded = !Number.isNaN(actions.get(row, ACTION.handledNs));
        if (type !== undefined && hasEnded) visit(actionAt(actions, row, type));
      }
    },
    ...{ setup, ...(fleet && { fleet }), ...(slow && { slow }) },
  };
}

/** A row as an object with the names of its columns. */
function rowAt<Name extends string>(
  rows: RowList,
  row: number,
  columns: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const values = Object.entries<number>(columns).map(([name, column]) => [name, rows.get(row, column)]);
  return Object.fromEntries(values);
}

function requestAt(rows: RowList, row: number): LoggedRequest {
  const { outcome, cause, step, parent, ...rest } = rowAt(rows, row, REQUEST);
  return {
    ...{ ...rest, outcome: outcome as Outcome, cause: CAUSES[cause] ?? null },
    ...(step < 0 ? {} : { step }),
    ...(parent < 0 ? {} : { parent }),
  };
}

function actionAt(rows: RowList, row: number, type: number): LoggedAction {
  const action = rowAt(rows, row, ACTION);
  const { status, latestNs, handledNs } = action;
  return {
    ...{ ...action, type },
    latestNs: Number.isFinite(latestNs) ? latestNs : null,
    ...(status === STATUS_OK ? {} : { beginNs: handledNs, endNs: handledNs }),
  };
}
