import { readFileSync, statSync } from 'node:fs';
import { EscapementError } from '../../base/errors.js';
import { isFile } from '../../base/files/is-file.js';
import { MIB } from '../../base/units.js';
import type { Datatype } from '../model.js';
import { DEFAULT_BATCH_SIZES, LARGEST_BATCH, type ModelSettings, type VersionPolicy } from './settings.js';
import { readTextProto, type TextField } from './text-proto.js';

/** What a `config.pbtxt` says that counts here. */
interface PbtxtSettings {
  readonly settings: Partial<ModelSettings>;
  /** What it says of inputs and outputs, which the model must agree with. */
  readonly tensors: readonly PbtxtTensor[];
  /** What it says that has no counterpart here, by the names of the fields. */
  readonly unused: readonly string[];
}

export interface PbtxtTensor {
  readonly role: 'input' | 'output';
  readonly name: string;
  /** 1-based. */
  readonly line: number;
  /** Null: not said. */
  readonly datatype: Datatype | 'BYTES' | 'BF16' | null;
  /** −1: any size. Null: not said, or the request's shape is another. */
  readonly dims: readonly number[] | null;
}

/** Configuration is small; what is larger is something else. */
const MOST_BYTES = MIB;

/**
 * Reads the model configuration of Triton Inference Server, as far as it has a counterpart. Throws `E_CONFIG_SYNTAX` and
 * `E_CONFIG_VALUE`, also for models that need another backend.
 */
export function readConfigPbtxt(path: string, modelName: string): PbtxtSettings {
  const fail = (what: string, line: number, key?: string) =>
    new EscapementError('E_CONFIG_VALUE', what, { file: path, line, ...(key === undefined ? {} : { key }) });
  // Reading a pipe would wait for its writer.
  if (!isFile(path)) throw fail('is not a file', 1);
  if (statSync(path).size > MOST_BYTES) throw fail('is larger than 1 MiB, so it is no configuration', 1);
  const fields = readTextProto(
    readFileSync(path, 'utf8'),
    (what, line) => new EscapementError('E_CONFIG_SYNTAX', what, { file: path, line }),
  );
  return new PbtxtReader(fields, modelName, fail).read();
}

const LARGEST_DEFAULT = Math.max(...DEFAULT_BATCH_SIZES);

type Fail = (what: string, line: number, key?: string) => EscapementError;

/** Names of element types, as Triton writes them. */
const DATATYPES: Readonly<Record<string, PbtxtTensor['datatype']>> = {
  TYPE_STRING: 'BYTES',
  ...Object.fromEntries(
    ['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64']
      .concat(['FP16', 'FP32', 'FP64', 'BF16'])
      .map((name) => [`TYPE_${name}`, name as Datatype]),
  ),
};

/** Fields without which the model would give other answers. */
const NEEDED: Readonly<Record<string, string>> = {
  sequence_batching: 'sequences of requests are not supported',
  ensemble_scheduling: 'ensembles are not supported',
  model_transaction_policy: 'models with several answers to a request are not supported',
};

class PbtxtReader {
  private maxBatchSize: number | null = null;
  private versions: VersionPolicy | null = null;
  private preferred: readonly number[] = [];
  private readonly tensors: PbtxtTensor[] = [];
  private readonly labels: Record<string, string> = {};
  private readonly unused = new Set<string>();

  constructor(
    private readonly fields: readonly TextField[],
    private readonly modelName: string,
    private readonly fail: Fail,
  ) {}

  read(): PbtxtSettings {
    for (const field of this.fields) this.take(field);
    const { maxBatchSize, versions, preferred, tensors, labels, unused } = this;
    const most = maxBatchSize ?? Number.POSITIVE_INFINITY;
    const wanted = preferred.length > 0 ? preferred : [...DEFAULT_BATCH_SIZES, maxBatchSize ?? 1];
    const sizes = wanted.filter(
      (size) => size >= 1 && size <= most && (preferred.length > 0 || size <= LARGEST_DEFAULT),
    );
    const settings = {
      ...(versions === null ? {} : { versions }),
      ...(preferred.length === 0 && maxBatchSize === null
        ? {}
        : { suggestedSizes: [...new Set([1, ...sizes])].sort((a, b) => a - b) }),
      ...(maxBatchSize === 0 ? { batch: 'none' as const } : {}),
      labels,
    };
    return { settings, tensors, unused: [...unused] };
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
        if (backend === '' || backend === 'onnxruntime' || backend === 'onnxruntime_onnx') return;
        throw this.fail(`${backend} is not supported: only onnxruntime is`, line, name);
      }
      case 'max_batch_size':
        this.maxBatchSize = this.whole(field);
        return;
      case 'version_policy':
        this.versions = this.policy(field);
        return;
      case 'input':
      case 'output':
        this.tensor(name, field);
        return;
      case 'dynamic_batching':
        this.dynamicBatching(field);
        return;
      case 'model_transaction_policy':
        if (!this.inner(field).some((one) => one.name === 'decoupled' && this.text(one) === 'true')) return;
        throw this.fail(NEEDED[name], line, name);
      default:
        if (NEEDED[name] !== undefined) throw this.fail(NEEDED[name], line, name);
        this.unused.add(name);
    }
  }

  private policy(field: TextField): VersionPolicy {
    const [choice] = this.inner(field);
    if (choice?.name === 'all') return { kind: 'all' };
    if (choice?.name === 'latest') {
      const count = this.inner(choice).find(({ name }) => name === 'num_versions');
      return { kind: 'latest', count: count === undefined ? 1 : Math.max(1, this.whole(count)) };
    }
    if (choice?.name === 'specific') {
      const versions = this.inner(choice).map((one) => this.whole(one));
      if (versions.length > 0) return { kind: 'specific', versions };
    }
    throw this.fail('must be latest, all or specific with versions', field.line, field.name);
  }

  private tensor(role: PbtxtTensor['role'], field: TextField): void {
    const inner = this.inner(field);
    const one = (wanted: string) => inner.find(({ name }) => name === wanted);
    const named = one('name');
    if (named === undefined) throw this.fail('has no name', field.line, role);
    const name = this.text(named);
    const type = one('data_type');
    const labels = one('label_filename');
    if (labels !== undefined) this.labels[name] = this.text(labels);
    const isReshaped = one('reshape') !== undefined;
    const dims = inner.filter((each) => each.name === 'dims').map((each) => this.size(each));
    for (const each of inner) {
      if (!TENSOR_FIELDS.includes(each.name)) this.unused.add(`${role}.${each.name}`);
    }
    this.tensors.push({
      role,
      name,
      line: field.line,
      datatype: type === undefined ? null : (DATATYPES[this.text(type)] ?? null),
      dims: isReshaped || dims.length === 0 ? null : dims,
    });
  }

  private dynamicBatching(field: TextField): void {
    for (const each of this.inner(field)) {
      if (each.name === 'preferred_batch_size') this.preferred = [...this.preferred, this.whole(each)];
      else this.unused.add(`dynamic_batching.${each.name}`);
    }
    if (this.preferred.some((size) => size < 1 || size > LARGEST_BATCH)) {
      const what = `must be at least 1 and at most ${LARGEST_BATCH}`;
      throw this.fail(what, field.line, 'dynamic_batching.preferred_batch_size');
    }
  }

  private inner({ name, line, value }: TextField): readonly TextField[] {
    if (value.kind === 'message') return value.fields;
    throw this.fail('must be a section in braces', line, name);
  }

  private text({ name, line, value }: TextField): string {
    if (value.kind !== 'message') return value.text;
    throw this.fail('must be a single value', line, name);
  }

  private whole(field: TextField): number {
    const size = this.size(field);
    if (size >= 0) return size;
    throw this.fail('must be at least 0', field.line, field.name);
  }

  private size(field: TextField): number {
    const value = Number(this.text(field));
    if (Number.isSafeInteger(value) && value >= -1) return value;
    throw this.fail('must be a whole number', field.line, field.name);
  }
}

const TENSOR_FIELDS = ['name', 'data_type', 'dims', 'label_filename', 'reshape', 'format'];
