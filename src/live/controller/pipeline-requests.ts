import { type Action, INFER, STATUS_OK } from '../../core/action.js';
import { MOST_FAN_OUT, type PipelineStep } from '../../core/pipelines.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_TIMEOUT,
  type Outcome,
  type RequestTable,
} from '../../core/request.js';
import { DROPPED, type KeptPart, RETURNED, type ResultMessage } from '../messages.js';
import { bytesOfShape, fitsShape, hasFreeSizes, type Shape, type TensorSignature } from '../model.js';
import type { ServedPipeline, TensorSource } from '../pipeline.js';
import { type InferenceAnswer, type InferenceRequest, WORKER_LOST, waitedText } from '../service.js';
import { joined } from '../transfer.js';
import { type Answers, notExecuted, type PipelineEnd, scatter } from './in-flight.js';

/** Part of a tensor: bytes, which may be a view, or some that a worker keeps. */
type Part = Uint8Array | Pick<KeptPart, 'key' | 'begin' | 'end'>;

/** A tensor on its way through a pipeline. */
interface Tensor {
  readonly parts: readonly Part[];
  readonly shape: Shape;
}

/** A request of a pipeline, and the outputs of its steps so far. */
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
  /** Keys of outputs that its workers were asked to keep, and the GPUs of those that they keep. */
  readonly keys: Map<number, number | null>;
  batchSize: number;
  /** The step that ended last; '': none has. */
  last: string;
  /** Why one of its requests failed; '' if none has. `isOfInputs`: because of the client's inputs. */
  error: string;
  isOfInputs: boolean;
}

/** The controller, as far as it hears of steps. */
interface StepKeeper {
  readonly core: { readonly requests: Pick<RequestTable, 'model'> };
  /** Sets the number of requests of a later step, as in the core. */
  setCount(slot: number, step: number, count: number): void;
  traced(slot: number, trace: string | null): void;
  /** Has the GPU's worker forget a kept tensor. */
  forget(gpu: number, key: number): void;
  /** Withdraws a request. */
  cancel(request: InferenceRequest): void;
}

/**
 * Carries tensors between the steps of pipelines, which the core schedules: outputs of a step stay with a remote worker
 * that keeps them, or where they arrived, until the requests of the next one are sent.
 */
export class PipelineRequests {
  private readonly pipelines: ServedPipeline[] = [];
  /** By slot: the flow of a pipeline request, or of a step request with its place. */
  private readonly flows: (Flow | undefined)[] = [];
  private readonly steps: (
    | { readonly flow: Flow; readonly step: number; readonly i: number; readonly keep: readonly number[] }
    | undefined
  )[] = [];
  /** By key of an output that may be kept. */
  private readonly keyed = new Map<number, Flow>();
  private lastKey = 0;

  constructor(
    private readonly answers: Answers,
    private readonly controller: StepKeeper,
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

  stepsOf(index: number): readonly PipelineStep[] {
    return this.pipelines[index].spec.steps;
  }

  /** Answer to a request with too many rows in its inputs; null: it has not. */
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
    this.flows[slot] = {
      slot,
      request,
      pipeline,
      open,
      yields,
      slots: new Set(),
      keys: new Map(),
      ...nothing,
    };
  }

  /** Makes a request of a step that the core has begun. */
  stepBegun(slot: number, step: number, i: number, own: number): void {
    const flow = this.flows[slot];
    if (flow === undefined) return;
    const { request, pipeline } = flow;
    const { signature, inputs: sources, uses } = pipeline.steps[step];
    flow.open[step]++;
    flow.slots.add(own);
    const keep = uses.map((use) =>
      use === 'kept' ? this.newKey(flow) : use === 'dropped' ? DROPPED : RETURNED,
    );
    this.steps[own] = { flow, step, i, keep };
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
            inputs: tensors.map(bytesOf),
            shapes: hasFreeSizes(signature) ? tensors.map(({ shape }) => shape) : undefined,
            ...{ kept: tensors.flatMap(keptPartsOf), keep },
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
    for (const key of result.kept ?? []) {
      const flow = this.keyed.get(key);
      if (flow === undefined) this.controller.forget(action.gpu, key);
      else flow.keys.set(key, action.gpu);
    }
    for (const key of result.lost ?? []) this.lose(this.keyed.get(key));
    for (let r = 0; r < action.count; r++) {
      const slot = action.requests[r];
      const known = this.steps[slot];
      if (known === undefined) continue;
      const { flow, step, i, keep } = known;
      const inputError = result.inputErrors?.[r] ?? '';
      if (inputError !== '') this.fail(flow, slot, step, inputError);
      else if (result.status !== STATUS_OK) continue;
      else {
        const { signature } = flow.pipeline.steps[step];
        const isKept = (o: number) => result.kept?.includes(keep[o]) === true;
        const outputs = given(signature.outputs, scatter(result, signature, r), result.shapes);
        flow.yields[step][i] = outputs.map(({ parts, shape }, o) => ({
          parts: isKept(o) ? [keptPart(keep[o], signature.outputs[o], shape)] : parts,
          shape,
        }));
        flow.batchSize = Math.max(flow.batchSize, action.batchSize);
      }
      this.leave(slot);
      if (--flow.open[step] === 0 && inputError === '') this.stepEnded(flow, step, slot);
    }
  }

  /** Call when the core fails the request in `slot`, with the answer that a client would get. */
  failed(slot: number, answerOf: () => InferenceAnswer): void {
    const known = this.steps[slot];
    if (known === undefined) return;
    const { flow, step } = known;
    const answer = answerOf();
    const { error } = answer;
    const { id } = flow.pipeline.spec.steps[step];
    flow.error = error === WORKER_LOST ? error : waited(id, answer) || `step ${id}: ${error}`;
  }

  /** Call when the core has answered the request in `slot`. Returns undefined for requests of no pipeline. */
  end(slot: number, outcome: Outcome): PipelineEnd | undefined {
    const flow = this.flows[slot];
    if (flow === undefined) return undefined;
    this.flows[slot] = undefined;
    for (const own of flow.slots) this.leave(own);
    for (const [key, gpu] of flow.keys) {
      this.keyed.delete(key);
      if (gpu !== null) this.controller.forget(gpu, key);
    }
    const { batchSize, error, isOfInputs, last, pipeline } = flow;
    if (outcome > OUTCOME_LATE) return { outputs: [], batchSize: 0, error, isOfInputs, last };
    const tensors = pipeline.outputs.map((source) => whole(flow, source));
    return {
      outputs: tensors.map(bytesOf),
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

  /** Fails a request whose tensors a worker kept. */
  private lose(flow: Flow | undefined): void {
    if (flow === undefined) return;
    const { slot, request } = flow;
    this.controller.cancel(request);
    this.answers.answerAtOnce(slot, request, notExecuted(OUTCOME_ERROR, WORKER_LOST));
  }

  private newKey(flow: Flow): number {
    const key = ++this.lastKey;
    this.keyed.set(key, flow);
    flow.keys.set(key, null);
    return key;
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

/** Tensors with their own shapes, or else with the shapes of their signatures. */
function given(
  signatures: readonly { readonly shape: Shape }[],
  tensors: readonly Uint8Array[],
  shapes: readonly Shape[] | undefined,
): Tensor[] {
  return tensors.map((bytes, i) => ({ parts: [bytes], shape: shapes?.[i] ?? signatures[i].shape }));
}

function keptPart(key: number, { datatype }: TensorSignature, shape: Shape): Part {
  return { key, begin: 0, end: bytesOfShape(datatype, shape) };
}

/** A tensor of the client or of a step; stacked over the step's requests if it may have several. */
function whole({ pipeline, request, yields }: Flow, { step, index }: TensorSource): Tensor {
  if (step < 0) return given(pipeline.model.signature.inputs, request.inputs, request.shapes)[index];
  const rows = yields[step].map((own) => own[index]);
  const { isMany, signature } = pipeline.steps[step];
  if (!isMany) return rows[0];
  const shape = rows[0]?.shape ?? signature.outputs[index].shape.map((size) => Math.max(0, size));
  return { parts: rows.flatMap(({ parts }) => parts), shape: [rows.length, ...shape] };
}

/** Row `i` of a tensor. */
function row(flow: Flow, source: TensorSource, i: number): Tensor {
  const { step, index } = source;
  if (step >= 0 && flow.pipeline.steps[step].isMany) return flow.yields[step][i][index];
  const { parts, shape } = whole(flow, source);
  const [part] = parts;
  const each = sizeOf(part) / shape[0];
  const [begin, end] = [i * each, (i + 1) * each];
  return {
    parts: [part instanceof Uint8Array ? part.subarray(begin, end) : { ...part, begin, end }],
    shape: shape.slice(1),
  };
}

function sizeOf(part: Part): number {
  return part instanceof Uint8Array ? part.length : part.end - part.begin;
}

/** The bytes of a tensor that no worker keeps. */
function bytesOf({ parts }: Tensor): Uint8Array {
  return joined(parts.filter((part) => part instanceof Uint8Array));
}

/** The parts of input number `input` that workers keep. */
function keptPartsOf({ parts }: Tensor, input: number): KeptPart[] {
  let at = 0;
  return parts.flatMap((part) => {
    const own = part instanceof Uint8Array ? [] : [{ ...part, input, at }];
    at += sizeOf(part);
    return own;
  });
}
