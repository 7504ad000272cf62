import type { PipelineDefinition, StepDefinition, TensorReference } from '../core/pipeline-definition.js';
import type { PipelineSpec } from '../core/pipelines.js';
import {
  bytesOfShape,
  FREE,
  hasFreeSizes,
  type ModelSignature,
  type ServedModel,
  type TensorSignature,
  takesTheSame,
  unbatched,
} from './model.js';
import type { DeclaredTensor, Ensemble } from './model-list.js';

/** A tensor within a pipeline: of a step, or −1, of its client. */
export interface TensorSource {
  readonly step: number;
  /** Index among the outputs of the step, or the inputs of the pipeline. */
  readonly index: number;
}

interface ServedStep {
  readonly signature: ModelSignature;
  /** By input of the model. `isDealt`: row i is for request i. */
  readonly inputs: readonly (TensorSource & { readonly isDealt: boolean })[];
  /** True if it may have another number of requests than one: its outputs are then stacked, a row for each. */
  readonly isMany: boolean;
  /** Steps that read its outputs, by index. */
  readonly readers: readonly number[];
  /** By output: whether it goes to the client, only to later steps, or nowhere. */
  readonly uses: readonly ('returned' | 'kept' | 'dropped')[];
}

/** A pipeline whose models are all loaded. */
export interface ServedPipeline {
  /** As its clients see it. */
  readonly model: ServedModel;
  readonly spec: PipelineSpec;
  readonly steps: readonly ServedStep[];
  readonly outputs: readonly TensorSource[];
}

/** Finds a model by name and version. Returns the reason if it is not there. */
export type FindModel = (
  name: string,
  version: string | null,
) => { readonly index: number; readonly model: ServedModel } | string;

/** Inputs and outputs as the author of a pipeline declares them. */
type Declared = Pick<Ensemble, 'inputs' | 'outputs' | 'maxBatch'>;

/** Wires a pipeline with the models that are there. Throws an error for operators if they do not fit together. */
export function wirePipeline(
  definition: PipelineDefinition,
  find: FindModel,
  declared: Declared | null = null,
): ServedPipeline {
  return new Wiring(definition, find, declared).pipeline();
}

class Wiring {
  /** By step: models that may serve it. */
  private readonly variants: readonly (readonly { readonly index: number; readonly model: ServedModel }[])[];
  /** By step: the most accurate of them. */
  private readonly models: readonly { readonly index: number; readonly model: ServedModel }[];
  private readonly inputs: TensorSignature[] = [];
  private readonly isMany: boolean[] = [];

  constructor(
    private readonly definition: PipelineDefinition,
    find: FindModel,
    private readonly declared: Declared | null,
  ) {
    this.variants = definition.steps.map(({ id, modelNames, version }) => {
      const all = modelNames.map((name) => {
        const found = find(name, version);
        if (typeof found === 'string') throw new Error(`step ${id}: ${found}`);
        return found;
      });
      const odd = all.findIndex(({ model }) => !takesTheSame(model, all[0].model));
      if (odd < 0) return all;
      const names = `${modelNames[0]} and ${modelNames[odd]}`;
      throw new Error(`step ${id}: its variants ${names} differ in their tensors or batches`);
    });
    this.models = this.variants.map(([model]) => model);
  }

  pipeline(): ServedPipeline {
    const { declared } = this;
    const { name, split, steps } = this.definition;
    const wired = steps.map((step, s) => this.step(step, s));
    const sources = this.outputs().map(([output, source]) => ({ output, ...source }));
    const outputs = sources.map(({ output, step, index }) => ({
      ...this.tensor({ step, index }),
      name: output,
    }));
    const tensors = { inputs: this.inputs, outputs };
    const batched =
      this.models.every(({ model }) => model.signature.batched) &&
      !hasFreeSizes({ ...tensors, batched: true });
    const { maxBatch = 0 } = declared ?? {};
    const signature = { ...tensors, batched, ...(maxBatch > 0 ? { maxBatch } : {}) };
    if (declared !== null) this.checkDeclared(declared, unbatched(signature));
    const own = steps.map(({ id, after, least, mean, budget, variants }, s) => {
      const served = variants?.map((each, v) => ({ ...each, model: this.variants[s][v].index }));
      const step = { id, model: this.models[s].index, after, least, mean, budget };
      return served === undefined ? step : { ...step, variants: served };
    });
    return {
      model: this.served(signature),
      spec: { name, split, steps: own },
      steps: wired.map((step, s) => {
        const readers = wired.flatMap(({ inputs }, t) => (inputs.some((each) => each.step === s) ? t : []));
        const uses = step.signature.outputs.map(({ datatype }, o) => {
          const isRead = ({ step, index }: TensorSource) => step === s && index === o;
          const isNeeded = wired.some(({ inputs }) => inputs.some(isRead));
          // The sizes of texts do not follow from shapes.
          if (sources.some(isRead) || (isNeeded && datatype === 'BYTES')) return 'returned';
          return isNeeded ? 'kept' : 'dropped';
        });
        return { ...step, readers, uses };
      }),
      outputs: sources.map(({ step, index }) => ({ step, index })),
    };
  }

  private step(
    { id, inputs, each, after, isOne }: StepDefinition,
    s: number,
  ): Omit<ServedStep, 'readers' | 'uses'> {
    const { signature } = this.models[s].model;
    const at = `step ${id}`;
    if (signature.lengths !== undefined)
      throw new Error(`${at}: its model takes inputs of several lengths, which pipelines do not support`);
    const names = signature.inputs.map(({ name }) => name);
    for (const name of [...Object.keys(inputs), ...each])
      if (!names.includes(name))
        throw new Error(`${at}: its model has no input ${name}, only ${names.join(', ')}`);
    // Steps after skipped steps only are skipped.
    const mayBeSkipped = after.length > 0 && after.every((before) => this.isMany[before]);
    this.isMany.push(each.length > 0 || !isOne || mayBeSkipped);
    const lacking = this.declared && names.find((name) => inputs[name] === undefined);
    if (lacking) throw new Error(`${at}: its input_map lacks ${lacking}, an input of its model`);
    const wired = signature.inputs.map((input) => {
      const isDealt = each.includes(input.name);
      return { ...this.source(inputs[input.name] ?? { input: input.name }, input, isDealt, at), isDealt };
    });
    if (new Set(wired.flatMap(({ isDealt, step }) => (isDealt ? step : []))).size > 1)
      throw new Error(`${at}: each: all of its rows must come from one step`);
    return { signature, inputs: wired, isMany: this.isMany[s] };
  }

  /** Tensor that feeds an input. */
  private source(from: TensorReference, input: TensorSignature, isDealt: boolean, at: string): TensorSource {
    const wanted = isDealt ? { ...input, shape: [FREE, ...input.shape] } : input;
    if (isDealt && input.datatype === 'BYTES')
      throw new Error(`${at}: each: ${input.name} takes texts, which have no rows`);
    if ('step' in from) {
      const source = this.outputOf(from, at);
      const given = this.tensor(source);
      if (!fits(given, wanted)) {
        const isEach =
          !isDealt && this.declared === null && fits({ ...given, shape: given.shape.slice(1) }, wanted);
        const hint = isEach ? `: with each: ${input.name} every request gets one row` : '';
        throw new Error(
          `${at}: input ${input.name} takes ${text(wanted)}, and ${this.definition.steps[from.step].id}.${from.output} is ${text(given)}${hint}`,
        );
      }
      return source;
    }
    const index = this.inputs.findIndex(({ name }) => name === from.input);
    if (index < 0) return { step: -1, index: this.inputs.push({ ...sized(wanted), name: from.input }) - 1 };
    const given = this.inputs[index];
    if (given.datatype !== wanted.datatype || `${given.shape}` !== `${wanted.shape}`)
      throw new Error(
        `${at}: input ${input.name} takes ${text(wanted)}, and the pipeline's input ${from.input} is ${text(given)} already: say in ${this.declared === null ? 'inputs' : 'input_map'} where it comes from`,
      );
    return { step: -1, index };
  }

  private outputOf({ step, output }: Extract<TensorReference, { output: string }>, at: string): TensorSource {
    const names = this.models[step].model.signature.outputs.map(({ name }) => name);
    const index = names.indexOf(output);
    if (index >= 0) return { step, index };
    const { id } = this.definition.steps[step];
    throw new Error(`${at}: step ${id} has no output ${output}, only ${names.join(', ')}`);
  }

  /** An output of a step, or an input of the pipeline, as a whole. */
  private tensor({ step, index }: TensorSource): TensorSignature {
    if (step < 0) return this.inputs[index];
    const output = this.models[step].model.signature.outputs[index];
    return this.isMany[step] ? sized({ ...output, shape: [FREE, ...output.shape] }) : output;
  }

  private outputs(): [string, TensorSource][] {
    const { steps, outputs } = this.definition;
    if (outputs !== null)
      return Object.entries(outputs).map(([name, from]) => {
        if ('step' in from) return [name, this.outputOf(from, `output ${name}`)];
        throw new Error(`output ${name}: no step yields it`);
      });
    const last = steps.flatMap((_, s) => (steps.some(({ after }) => after.includes(s)) ? [] : s));
    const all = last.flatMap((step) =>
      this.models[step].model.signature.outputs.map(({ name }, index): [string, TensorSource] => [
        name,
        { step, index },
      ]),
    );
    const twice = all.find(([name], i) => all.findIndex(([other]) => other === name) < i);
    if (twice !== undefined)
      throw new Error(`two of its last steps have an output ${twice[0]}: name its outputs in outputs`);
    return all;
  }

  private checkDeclared(declared: Declared, found: ModelSignature): void {
    for (const [side, what, verb] of [
      ['inputs', 'input', 'take'],
      ['outputs', 'output', 'yield'],
    ] as const)
      for (const each of declared[side]) {
        const own = found[side].find(({ name }) => name === each.name);
        if (own === undefined) throw new Error(`${what} ${each.name} is declared, and no step has it`);
        const isBatched = declared.maxBatch === 0 && fits({ ...own, shape: own.shape.slice(1) }, each);
        const hint = isBatched ? ': set max_batch_size above 0' : '';
        if (!fits(own, each))
          throw new Error(
            `${what} ${each.name} is declared as ${text(each)}, and its steps ${verb} ${text(own)}${hint}`,
          );
      }
  }

  private served(signature: ModelSignature): ServedModel {
    const { name, sloNs } = this.definition;
    const bytes = (tensors: readonly TensorSignature[]) => tensors.reduce((sum, each) => sum + each.bytes, 0);
    const execNs = this.models.reduce((sum, { model }) => sum + model.spec.execNs[0], 0);
    const nothing = { weightsBytes: 0, pages: 0, loadNs: 0 };
    const sizes = { inputBytes: bytes(signature.inputs), outputBytes: bytes(signature.outputs) };
    const spec = { name, ...nothing, ...sizes, batchSizes: [1], execNs: [execNs] };
    const models = this.variants
      .flat()
      .map(({ model }) => [model.spec.name, model.version, model.digest ?? '']);
    return { spec, signature, version: '1', sloNs, digest: JSON.stringify(models), isPipeline: true };
  }
}

/** True if a tensor can be given where another is taken, as far as both are known. */
function fits(given: DeclaredTensor, taken: DeclaredTensor): boolean {
  return (
    given.datatype === taken.datatype &&
    given.shape.length === taken.shape.length &&
    given.shape.every((size, i) => size === taken.shape[i] || size === FREE || taken.shape[i] === FREE)
  );
}

function sized(tensor: TensorSignature): TensorSignature {
  const shape = tensor.shape.map((size) => (size === FREE ? 1 : size));
  return { ...tensor, bytes: bytesOfShape(tensor.datatype, shape) };
}

function text({ datatype, shape }: DeclaredTensor): string {
  return `${datatype} [${shape.join(',')}]`;
}
