import { type Action, INFER, STATUS_OK } from '../../core/action.js';
import { MOST_FAN_OUT } from '../../core/pipelines.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_TIMEOUT,
  type Outcome,
  type RequestTable,
} from '../../core/request.js';
import type { ResultMessage } from '../messages.js';
import { fitsShape, hasFreeSizes, type Shape } from '../model.js';
import type { ServedPipeline, TensorSource } from '../pipeline.js';
import { type InferenceAnswer, type InferenceRequest, WORKER_LOST, waitedText } from '../service.js';
import { type Answers, notExecuted, type PipelineEnd, scatter } from './answers.js';

/** A tensor on its way through a pipeline. Its bytes may be a view. */
interface Tensor {
  readonly bytes: Uint8Array;
  readonly shape: Shape;
}

/** A pipeline's request, and what its steps have yielded. */
interface Flow {
  readonly slot: number;
  readonly request: InferenceRequest;
  readonly pipeline: ServedPipeline;
  /** By step: outputs of each of its requests, in order. */
  readonly yields: Tensor[][][];
  /** By step: number of its requests without a result. */
  readonly open: number[];
  /** Slots of requests of steps without a result. */
  readonly slots: Set<number>;
  batchSize: number;
  /** The step that ended last; '': none has. */
  last: string;
  /** Why one of its requests failed; '' if none has. `isOfInputs`: by what the client sent. */
  error: string;
  isOfInputs: boolean;
}

/** The controller, as far as it hears of steps. */
interface CountedSteps {
  readonly core: { readonly requests: Pick<RequestTable, 'model'> };
  /** Sets the number of requests of a later step, as in the core. */
  setCount(slot: number, step: number, count: number): void;
  traced(slot: number, trace: string | null): void;
}

/**
 * Carries tensors between the steps of pipelines, which the core schedules: outputs of a step stay where they arrived
 * until the requests of the next one are sent, which copies them like the inputs of any request.
 */
export class PipelineRequests {
  private readonly pipelines: ServedPipeline[] = [];
  /** By slot: the flow of a pipeline's request; that of a step's request, with its place. */
  private readonly flows: (Flow | undefined)[] = [];
  private readonly steps: ({ readonly flow: Flow; readonly step: number; readonly i: number } | undefined)[] =
    [];

  constructor(
    private readonly answers: Answers,
    private readonly controller: CountedSteps,
  ) {}

  put(index: number, pipeline: ServedPipeline): void {
    this.pipelines[index] = pipeline;
  }

  /** Number of requests of each step, as far as it is known on arrival. */
  countsOf(index: number, { inputs, shapes, counts }: InferenceRequest): Int32Array {
    const { steps, model } = this.pipelines[index];
    return Int32Array.from(steps, ({ inputs: sources }, s) => {
      const dealt = sources.find(({ isDealt }) => isDealt);
      if (dealt === undefined) return counts?.[s] ?? 1;
      if (dealt.step >= 0) return 0;
      const { shape } = given(model.signature.inputs, inputs, shapes)[dealt.index];
      return shape[0];
    });
  }

  /** Answer to a request whose inputs have too many rows; null: they have not. */
  tooMany(index: number, counts: Int32Array): InferenceAnswer | null {
    const step = counts.findIndex((count) => count > MOST_FAN_OUT);
    if (step < 0) return null;
    const { id } = this.pipelines[index].spec.steps[step];
    const why = `${counts[step]} rows for step ${id}, and at most ${MOST_FAN_OUT} are possible`;
    return { ...notExecuted(OUTCOME_ERROR, why), isOfInputs: true };
  }

  begin(slot: number, index: number, request: InferenceRequest): void {
    const pipeline = this.pipelines[index];
    const open = pipeline.steps.map(() => 0);
    const yields = pipeline.steps.map(() => []);
    const nothing = { batchSize: 0, last: '', error: '', isOfInputs: false };
    this.flows[slot] = { slot, request, pipeline, open, yields, slots: new Set(), ...nothing };
  }

  /** Makes a request of a step that the core has begun. */
  stepBegun(slot: number, step: number, i: number, own: number): void {
    const flow = this.flows[slot];
    if (flow === undefined) return;
    const { request, pipeline } = flow;
    const { signature, inputs: sources } = pipeline.steps[step];
    flow.open[step]++;
    flow.slots.add(own);
    this.steps[own] = { flow, step, i };
    const tensors = sources.map((source) => (source.isDealt ? row(flow, source, i) : whole(flow, source)));
    const { trace = null } = request;
    this.controller.traced(own, trace);
    this.answers.begin(
      own,
      this.answers.waiting[slot] === request
        ? {
            ...{
              model: this.controller.core.requests.model[own],
              user: request.user,
              sloNs: request.sloNs,
              trace,
            },
            inputs: tensors.map(({ bytes }) => bytes),
            shapes: hasFreeSizes(signature) ? tensors.map(({ shape }) => shape) : undefined,
            done: (answer) => {
              const error = waited(pipeline.spec.steps[step].id, answer) || answer.error;
              this.answers.answerAtOnce(slot, request, { ...answer, error });
            },
          }
        : null,
    );
  }

  /** Call before the core takes in the result: keeps the outputs that later steps need. */
  takeIn(action: Action, result: ResultMessage): void {
    if (action.kind !== INFER) return;
    for (let r = 0; r < action.count; r++) {
      const slot = action.requests[r];
      const known = this.steps[slot];
      if (known === undefined) continue;
      const { flow, step, i } = known;
      const inputError = result.inputErrors?.[r] ?? '';
      if (inputError !== '') this.fail(flow, slot, step, inputError);
      else if (result.status !== STATUS_OK) continue;
      else {
        const { signature } = flow.pipeline.steps[step];
        flow.yields[step][i] = given(signature.outputs, scatter(result, signature, r), result.shapes);
        flow.batchSize = Math.max(flow.batchSize, action.batchSize);
      }
      this.leave(slot);
      if (--flow.open[step] === 0 && inputError === '') this.stepEnded(flow, step, slot);
    }
  }

  /** Call when the core fails the request in `slot`, with its answer if it were that of a client. */
  failed(slot: number, answerOf: () => InferenceAnswer): void {
    const known = this.steps[slot];
    if (known === undefined) return;
    const { flow, step } = known;
    const answer = answerOf();
    const { error } = answer;
    const { id } = flow.pipeline.spec.steps[step];
    flow.error = error === WORKER_LOST ? error : waited(id, answer) || `step ${id}: ${error}`;
  }

  /** Call when the core has answered the request in `slot`. Returns undefined unless it is that of a pipeline. */
  end(slot: number, outcome: Outcome): PipelineEnd | undefined {
    const flow = this.flows[slot];
    if (flow === undefined) return undefined;
    this.flows[slot] = undefined;
    for (const own of flow.slots) this.leave(own);
    const { batchSize, error, isOfInputs, last, pipeline } = flow;
    if (outcome > OUTCOME_LATE) return { outputs: [], batchSize: 0, error, isOfInputs, last };
    const tensors = pipeline.outputs.map((source) => whole(flow, source));
    return {
      outputs: tensors.map(({ bytes }) => bytes),
      shapes: hasFreeSizes(pipeline.model.signature) ? tensors.map(({ shape }) => shape) : undefined,
      ...{ batchSize, error: '', last },
    };
  }

  /** Checks the outputs of a step whose last request, in `slot`, has ended, and counts the rows that it deals out. */
  private stepEnded(flow: Flow, step: number, slot: number): void {
    const { steps, spec } = flow.pipeline;
    flow.last = spec.steps[step].id;
    const { isMany, readers, signature } = steps[step];
    const yields = flow.yields[step];
    const uneven = signature.outputs.findIndex((_, o) =>
      yields.some((own) => `${own[o].shape}` !== `${yields[0][o].shape}`),
    );
    if (isMany && uneven >= 0) {
      this.fail(flow, slot, step, `its outputs ${signature.outputs[uneven].name} differ in shape`);
      return;
    }
    for (const later of readers) {
      let rows: number | null = null;
      for (const [n, source] of steps[later].inputs.entries()) {
        if (source.step !== step) continue;
        const own = yields[0][source.index].shape;
        const shape = isMany ? [yields.length, ...own] : own;
        const { name, shape: wanted } = steps[later].signature.inputs[n];
        const isEven = !source.isDealt || rows === null || rows === shape[0];
        if (source.isDealt) rows = shape[0];
        const fits = isEven && fitsShape(source.isDealt ? shape.slice(1) : shape, wanted);
        const to = `input ${name} of step ${spec.steps[later].id}`;
        if (!fits) this.fail(flow, slot, step, `its output [${shape}] does not fit ${to}`);
        else if (source.isDealt && shape[0] > MOST_FAN_OUT)
          this.fail(flow, slot, step, `${shape[0]} rows for ${to}, and at most ${MOST_FAN_OUT} are possible`);
        else continue;
        return;
      }
      if (rows !== null) this.controller.setCount(slot, later, rows);
    }
  }

  /** Has the core fail the request of a step that is about to end. */
  private fail(flow: Flow, slot: number, step: number, why: string): void {
    flow.error = `step ${flow.pipeline.spec.steps[step].id}: ${why}`;
    flow.isOfInputs = true;
    this.controller.setCount(slot, step, -1);
  }

  private leave(slot: number): void {
    this.steps[slot]?.flow.slots.delete(slot);
    this.steps[slot] = undefined;
    this.answers.waiting[slot] = null;
  }
}

/** Error of a pipeline's request whose step was not executed in time; '': the step has an error of its own. */
function waited(id: string, answer: InferenceAnswer): string {
  return answer.outcome === OUTCOME_TIMEOUT && answer.error === '' ? `step ${id} ${waitedText(answer)}` : '';
}

/** Tensors with the shapes that they have, or those of their signatures. */
function given(
  signatures: readonly { readonly shape: Shape }[],
  tensors: readonly Uint8Array[],
  shapes: readonly Shape[] | undefined,
): Tensor[] {
  return tensors.map((bytes, i) => ({ bytes, shape: shapes?.[i] ?? signatures[i].shape }));
}

/** A tensor of a step, those of its requests stacked if it may have several, or one of the client. */
function whole({ pipeline, request, yields }: Flow, { step, index }: TensorSource): Tensor {
  if (step < 0) return given(pipeline.model.signature.inputs, request.inputs, request.shapes)[index];
  const rows = yields[step].map((own) => own[index]);
  const { isMany, signature } = pipeline.steps[step];
  if (!isMany) return rows[0];
  const shape = rows[0]?.shape ?? signature.outputs[index].shape.map((size) => Math.max(0, size));
  const bytes = rows.length === 1 ? rows[0].bytes : concat(rows.map((each) => each.bytes));
  return { bytes, shape: [rows.length, ...shape] };
}

/** Row `i` of a tensor. */
function row(flow: Flow, source: TensorSource, i: number): Tensor {
  const { step, index } = source;
  if (step >= 0 && flow.pipeline.steps[step].isMany) return flow.yields[step][i][index];
  const { bytes, shape } = whole(flow, source);
  const each = bytes.length / shape[0];
  return { bytes: bytes.subarray(i * each, (i + 1) * each), shape: shape.slice(1) };
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
