import { readFileSync, statSync } from 'node:fs';
import { EscapementError } from '../../base/errors.js';
import { isFile } from '../../base/files/is-file.js';
import { MIB } from '../../base/units.js';
import type { Datatype } from '../model.js';
import type { EnsembleStep } from '../model-list.js';
import type { Warmup } from './samples.js';
import { DEFAULT_BATCH_SIZES, LARGEST_BATCH, type ModelSettings, type VersionPolicy } from './settings.js';
import { readTextProto, type TextField } from './text-proto.js';

/** Relevant settings of a `config.pbtxt`. */
export interface PbtxtSettings {
  readonly path: string;
  readonly settings: Partial<ModelSettings>;
  /** Null: not given. */
  readonly maxBatchSize: { readonly size: number; readonly line: number } | null;
  /** Its inputs and outputs, which must agree with the model. */
  readonly tensors: readonly PbtxtTensor[];
  /** Its steps; null: it is a model. */
  readonly ensemble: readonly EnsembleStep[] | null;
  /** Names of its fields without a counterpart here. */
  readonly unused: readonly string[];
}

interface PbtxtTensor {
  readonly role: 'input' | 'output';
  readonly name: string;
  /** 1-based. */
  readonly line: number;
  /** Null: not given. */
  readonly datatype: Datatype | 'BYTES' | 'BF16' | null;
  /** −1: any size. Null: not given. */
  readonly dims: readonly number[] | null;
}

/** Size limit: configuration is small. */
const MOST_BYTES = MIB;

/**
 * Reads the model configuration of Triton Inference Server, as far as it has a counterpart. Throws `E_CONFIG_SYNTAX`
 * and `E_CONFIG_VALUE`, also for models that need another backend.
 */
export function readConfigPbtxt(path: string, modelName: string): PbtxtSettings {
  const fail = (what: string, line: number, key?: string) =>
    new EscapementError('E_CONFIG_VALUE', what, { file: path, line, ...(key === undefined ? {} : { key }) });
  // Reading a pipe would wait for its writer.
  if (!isFile(path)) throw fail('is not a file', 1);
  if (statSync(path).size > MOST_BYTES) throw fail('is larger than 1 MiB, so it is not a configuration', 1);
  const fields = readTextProto(
    readFileSync(path, 'utf8'),
    (what, line) => new EscapementError('E_CONFIG_SYNTAX', what, { file: path, line }),
  );
  return { path, ...new PbtxtReader(fields, modelName, fail).read() };
}

/**
 * Reads the same configuration in protobuf's JSON, as a client sends it to replace that of a model's folder. Throws
 * `E_CONFIG_VALUE`, also for a field without a counterpart.
 */
export function readConfigJson(text: string, modelName: string): PbtxtSettings {
  const fail = (what: string, _line: number, key = 'config') =>
    new EscapementError('E_CONFIG_VALUE', what, { key });
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {}
  if (!isObject(value)) throw fail('must be a JSON object, as a text', 1);
  const found = new PbtxtReader(fieldsOf(value), modelName, fail).read();
  const [foreign = found.settings.modelFile && 'default_model_filename'] = found.unused;
  if (foreign !== undefined) throw fail('has no counterpart here: leave it out', 1, foreign);
  return { path: 'config', ...found };
}

function fieldsOf(object: object): TextField[] {
  return Object.entries(object).flatMap(([written, given]) => {
    const name = written.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const isMap = MAPS.includes(name) && isObject(given);
    const entries = isMap && Object.entries(given).map(([key, value]) => ({ key, value }));
    const list = entries || (isEmpty(name, given) ? [] : [given].flat());
    return list.map((one): TextField => ({ name, line: 1, value: protoValue(name, one) }));
  });
}

function protoValue(name: string, given: unknown): TextField['value'] {
  if (isObject(given)) return { kind: 'message', fields: fieldsOf(given) };
  if (typeof given === 'number')
    return { kind: Number.isInteger(given) ? 'integer' : 'float', number: given };
  if (INTEGERS.includes(name) && /^-?\d+$/.test(String(given)))
    return { kind: 'integer', number: Number(given) };
  const isName = typeof given !== 'string' || name === 'data_type';
  return { kind: isName ? 'name' : 'string', text: String(given) };
}

/** True for a default, which servers write for fields that are not set. */
function isEmpty(name: string, given: unknown): boolean {
  if (isObject(given)) return Object.keys(given).length === 0 && !GIVEN_EMPTY.includes(name);
  if (given === null || given === '' || given === false) return true;
  return !Array.isArray(given) && Number(given) === 0 && name !== 'max_batch_size';
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LARGEST_DEFAULT = Math.max(...DEFAULT_BATCH_SIZES);

type Fail = (what: string, line: number, key?: string) => EscapementError;

/** Triton's element types without their TYPE_ prefix, each at its number. */
const DATATYPES: readonly (PbtxtTensor['datatype'] | 'INVALID')[] = [
  ...(['INVALID', 'BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64'] as const),
  ...(['FP16', 'FP32', 'FP64', 'BYTES', 'BF16'] as const),
];

/** Fields that the model's answers depend on. */
const NEEDED: Readonly<Record<string, string>> = {
  sequence_batching: 'sequences of requests are not supported',
  model_transaction_policy: 'models with several answers to a request are not supported',
};

/** Messages with a meaning even when empty. */
const GIVEN_EMPTY: readonly string[] = ['all', 'latest', 'dynamic_batching', ...Object.keys(NEEDED)];
/** Integers, which protobuf's JSON may write as strings. */
const INTEGERS: readonly string[] = [
  ...['max_batch_size', 'dims', 'versions', 'num_versions', 'preferred_batch_size', 'model_version'],
];
/** Maps, which are objects in protobuf's JSON. */
const MAPS: readonly string[] = ['input_map', 'output_map', 'inputs'];

class PbtxtReader {
  private maxBatchSize: PbtxtSettings['maxBatchSize'] = null;
  private versions: VersionPolicy | null = null;
  private modelFile: string | null = null;
  private preferred: readonly number[] = [];
  private readonly warmups: Warmup[] = [];
  private readonly tensors: PbtxtTensor[] = [];
  private readonly labels: Record<string, string> = {};
  private readonly unused = new Set<string>();
  private isEnsemble = false;
  private ensemble: readonly EnsembleStep[] | null = null;

  constructor(
    private readonly fields: readonly TextField[],
    private readonly modelName: string,
    private readonly fail: Fail,
  ) {}

  read(): Omit<PbtxtSettings, 'path'> {
    this.refuseRepeated(this.fields, SINGULAR);
    for (const field of this.fields) this.take(field);
    const { maxBatchSize, versions, modelFile, preferred, tensors, labels, warmups, unused, ensemble } = this;
    if (this.isEnsemble !== (ensemble !== null))
      throw this.fail('"ensemble" and ensemble_scheduling need each other', 1, 'platform');
    if (ensemble !== null) {
      for (const { name } of this.fields) if (!ENSEMBLE_FIELDS.includes(name)) unused.add(name);
      if (Object.keys(labels).length > 0) unused.add('output.label_filename');
      return { settings: {}, maxBatchSize, tensors, ensemble, unused: [...unused] };
    }
    const most = maxBatchSize?.size ?? LARGEST_BATCH;
    if (preferred.some((size) => size < 1 || size > most)) {
      const what = `must be at least 1 and at most ${maxBatchSize === null ? most : `max_batch_size, ${most}`}`;
      const { line } = this.fields.find(({ name }) => name === 'dynamic_batching') as TextField;
      throw this.fail(what, line, 'dynamic_batching.preferred_batch_size');
    }
    const usual = [...DEFAULT_BATCH_SIZES, maxBatchSize?.size ?? 1].filter(
      (size) => size >= 1 && size <= Math.min(most, LARGEST_DEFAULT),
    );
    const sizes = [1, ...(preferred.length > 0 ? preferred : usual)];
    const settings = {
      ...(versions === null ? {} : { versions }),
      ...(modelFile === null ? {} : { modelFile }),
      ...(preferred.length === 0 && maxBatchSize === null
        ? {}
        : { suggestedSizes: [...new Set(sizes)].sort((a, b) => a - b) }),
      ...(maxBatchSize?.size === 0 ? { batch: 'none' as const } : {}),
      labels,
      ...(warmups.length === 0 ? {} : { warmups }),
    };
    return { settings, maxBatchSize, tensors, ensemble, unused: [...unused] };
  }

  private take(field: TextField): void {
    const { name, line } = field;
    switch (name) {
      case 'name':
        if (this.text(field) === this.modelName) return;
        throw this.fail(`is not the name of its folder, ${this.modelName}`, line, name);
      case 'platform':
      case 'backend': {
        const backend = this.text(field);
        this.isEnsemble ||= backend === 'ensemble';
        if (['', 'ensemble', 'onnxruntime', 'onnxruntime_onnx'].includes(backend)) return;
        throw this.fail(`${backend} is not supported: only onnxruntime is`, line, name);
      }
      case 'max_batch_size':
        this.maxBatchSize = { size: this.whole(field), line };
        return;
      case 'default_model_filename':
        this.modelFile = this.text(field);
        if (!/^\.*$|[/\\]/.test(this.modelFile)) return;
        throw this.fail("must be the name of a file in the version's folder", line, name);
      case 'version_policy':
        this.versions = this.policy(field);
        return;
      case 'input':
      case 'output':
        this.tensor(name, field);
        return;
      case 'model_warmup':
        this.warmups.push(this.warmup(field));
        return;
      case 'ensemble_scheduling':
        this.ensemble = this.inner(field).map((each) => this.step(each));
        return;
      case 'dynamic_batching':
        this.dynamicBatching(field);
        return;
      case 'model_transaction_policy':
        if (!this.inner(field).some((one) => one.name === 'decoupled' && this.truth(one))) return;
        throw this.fail(NEEDED[name], line, name);
      default:
        if (NEEDED[name] !== undefined) throw this.fail(NEEDED[name], line, name);
        this.unused.add(name);
    }
  }

  private policy(field: TextField): VersionPolicy {
    const choices = this.inner(field);
    const [choice] = choices;
    if (choices.length === 1 && choice.name === 'all') return { kind: 'all' };
    if (choices.length === 1 && choice.name === 'latest') {
      const count = this.inner(choice).find(({ name }) => name === 'num_versions');
      return { kind: 'latest', count: count === undefined ? 1 : Math.max(1, this.whole(count)) };
    }
    if (choices.length === 1 && choice.name === 'specific') {
      const versions = this.inner(choice).map((one) => this.whole(one));
      if (versions.length > 0) return { kind: 'specific', versions };
    }
    throw this.fail('must be latest, all or specific with versions', field.line, field.name);
  }

  private tensor(role: PbtxtTensor['role'], field: TextField): void {
    const inner = this.inner(field);
    this.refuseRepeated(inner, SINGULAR_OF_TENSOR);
    const one = (wanted: string) => inner.find(({ name }) => name === wanted);
    const named = one('name');
    if (named === undefined) throw this.fail('has no name', field.line, role);
    const name = this.text(named);
    const reshape = one('reshape');
    if (reshape !== undefined) {
      const does = role === 'input' ? 'takes' : 'gives';
      throw this.fail(
        `${name} cannot be reshaped: leave it out, and write in dims the shape that the model ${does}`,
        reshape.line,
        'reshape',
      );
    }
    const type = one('data_type');
    const labels = one('label_filename');
    if (labels !== undefined) this.labels[name] = this.text(labels);
    const dims = inner.filter((each) => each.name === 'dims').map((each) => this.size(each));
    for (const each of inner) {
      if (!TENSOR_FIELDS.includes(each.name)) this.unused.add(`${role}.${each.name}`);
    }
    const datatype = type === undefined ? null : this.datatype(type);
    this.tensors.push({ role, name, line: field.line, datatype, dims: dims.length === 0 ? null : dims });
  }

  private warmup(field: TextField): Warmup {
    const inputs = this.inner(field).filter(({ name }) => name === 'inputs');
    return Object.fromEntries(
      inputs.map((entry) => {
        const [key, value] = this.entry(entry);
        const fields = this.inner(value);
        const file = fields.find(({ name }) => name === 'input_data_file');
        const isZero = fields.some((each) => each.name === 'zero_data' && this.truth(each));
        const shape = fields.filter(({ name }) => name === 'dims').map((each) => this.whole(each));
        const data = file === undefined ? (isZero ? 'zero' : 'random') : { file: this.text(file) };
        return [key, { shape, data }];
      }),
    );
  }

  private step(field: TextField): EnsembleStep {
    const inner = field.name === 'step' ? this.inner(field) : [];
    const foreign = field.name === 'step' ? inner.find(({ name }) => !STEP_FIELDS.includes(name)) : field;
    if (foreign !== undefined)
      throw this.fail('has no counterpart here: leave it out', foreign.line, foreign.name);
    this.refuseRepeated(inner, ['model_name', 'model_version']);
    const [model, version] = ['model_name', 'model_version'].map((one) =>
      inner.find(({ name }) => name === one),
    );
    if (model === undefined) throw this.fail('has no model_name', field.line, field.name);
    const number = version === undefined ? -1 : this.size(version);
    const map = (of: string) =>
      Object.fromEntries(
        inner.flatMap((each) => {
          if (each.name !== of) return [];
          const [key, value] = this.entry(each);
          return [[key, this.text(value)]];
        }),
      );
    return {
      ...{ model: this.text(model), version: number < 0 ? null : String(number) },
      ...{ inputs: map('input_map'), outputs: map('output_map') },
    };
  }

  /** An entry of a map. */
  private entry(field: TextField): [string, TextField] {
    const [key, value] = ['key', 'value'].map((part) => this.inner(field).find(({ name }) => name === part));
    if (key === undefined || value === undefined)
      throw this.fail('must have a key and a value', field.line, field.name);
    return [this.text(key), value];
  }

  private datatype({ name, line, value }: TextField): PbtxtTensor['datatype'] {
    const wanted = value.kind === 'name' ? value.text.replace(/^TYPE_STRING$/, 'TYPE_BYTES') : null;
    const found =
      value.kind === 'integer' ? DATATYPES[value.number] : DATATYPES.find((one) => `TYPE_${one}` === wanted);
    if (found !== undefined) return found === 'INVALID' ? null : found;
    throw this.fail('must be an element type such as TYPE_FP32', line, name);
  }

  private dynamicBatching(field: TextField): void {
    for (const each of this.inner(field)) {
      if (each.name === 'preferred_batch_size') this.preferred = [...this.preferred, this.whole(each)];
      else this.unused.add(`dynamic_batching.${each.name}`);
    }
  }

  /** In protobuf's text format, only lists may be repeated. */
  private refuseRepeated(fields: readonly TextField[], singular: readonly string[]): void {
    const seen = new Set<string>();
    for (const { name, line } of fields) {
      if (seen.has(name) && singular.includes(name)) throw this.fail('is given twice', line, name);
      seen.add(name);
    }
  }

  private inner({ name, line, value }: TextField): readonly TextField[] {
    if (value.kind === 'message') return value.fields;
    throw this.fail('must be a section in braces', line, name);
  }

  private text({ name, line, value }: TextField): string {
    if (value.kind === 'string') return value.text;
    throw this.fail('must be a text in quotes', line, name);
  }

  private truth({ name, line, value }: TextField): boolean {
    const word = value.kind === 'name' ? value.text : value.kind === 'integer' ? String(value.number) : '';
    if (['true', 'True', 't', '1'].includes(word)) return true;
    if (['false', 'False', 'f', '0'].includes(word)) return false;
    throw this.fail('must be true or false', line, name);
  }

  private whole(field: TextField): number {
    const size = this.size(field);
    if (size >= 0) return size;
    throw this.fail('must be at least 0', field.line, field.name);
  }

  private size({ name, line, value }: TextField): number {
    if (value.kind === 'integer' && Number.isSafeInteger(value.number) && value.number >= -1)
      return value.number;
    throw this.fail('must be a whole number', line, name);
  }
}

const SINGULAR: readonly string[] = [
  ...['name', 'platform', 'backend', 'max_batch_size', 'default_model_filename', 'version_policy'],
  ...['dynamic_batching', 'model_transaction_policy', 'ensemble_scheduling'],
];
const ENSEMBLE_FIELDS: readonly string[] = [
  ...['name', 'platform', 'backend', 'max_batch_size', 'input', 'output'],
  'ensemble_scheduling',
];
const STEP_FIELDS: readonly string[] = ['model_name', 'model_version', 'input_map', 'output_map'];
const SINGULAR_OF_TENSOR: readonly string[] = ['name', 'data_type', 'label_filename', 'reshape'];
const TENSOR_FIELDS = ['name', 'data_type', 'dims', 'label_filename', 'format'];
