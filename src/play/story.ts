import { explain, flightEvents } from '../record/flight/explain.js';
import type { RunRows } from '../record/flight/flight.js';
import { loggedFlight } from '../record/flight/logged-flight.js';
import { pipelineEvents, pipelineFlight } from '../record/flight/pipeline-flight.js';
import type { RunSetup } from '../record/results.js';
import type { RowList } from '../record/row-list.js';
import { ACTION, REQUEST } from '../record/run-rows.js';
import type { Story } from './protocol.js';

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
      for (let row = 0; row < requests.count; row++)
        if (visit(rowAt(requests, row, REQUEST)) === false) return;
    },
    actions: (visit) => {
      for (let row = 0; row < actions.count; row++) {
        const action = rowAt(actions, row, ACTION);
        if (!Number.isNaN(action.handledNs)) visit(action);
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
