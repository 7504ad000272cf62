import { check, fail } from '../finding.js';
import { shown } from '../plain.js';
import { type HttpAnswer, isObject } from '../wire/http-answer.js';
import type { TensorMetadata } from './tensors.js';

/** Reads `GET /v2`. Fails where it is not as the protocol wants it. */
export function readServer(answer: HttpAnswer): { server: string; extensions: string[] } {
  check(answer.status === 200, `the status is ${answer.status}, not 200`);
  const { name, version, extensions } = answer.object();
  if (typeof name !== 'string') return fail(`"name" is ${shown(name)}, not text`);
  if (typeof version !== 'string') return fail(`"version" is ${shown(version)}, not text`);
  if (!isTexts(extensions)) return fail(`"extensions" is ${shown(extensions)}, not a list of texts`);
  return { server: `${name} ${version}`, extensions };
}

interface ModelMetadata {
  readonly version: string | null;
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** Reads `GET /v2/models/NAME`. Fails where it is not as the protocol wants it. */
export function readModel(answer: HttpAnswer): ModelMetadata & { readonly name: string } {
  check(answer.status === 200, `the status is ${answer.status}, not 200`);
  const { name, versions = [], platform, inputs, outputs } = answer.object();
  if (typeof name !== 'string') return fail(`"name" is ${shown(name)}, not text`);
  if (!isTexts(versions)) return fail(`"versions" is ${shown(versions)}, not a list of texts`);
  if (typeof platform !== 'string') return fail(`"platform" is ${shown(platform)}, not text`);
  return {
    name,
    version: versions.at(-1) ?? null,
    platform,
    inputs: tensorsOf('inputs', inputs),
    outputs: tensorsOf('outputs', outputs),
  };
}

function tensorsOf(key: string, list: unknown): TensorMetadata[] {
  if (!Array.isArray(list)) return fail(`"${key}" is ${shown(list)}, not a list`);
  return list.map((tensor: unknown) => {
    if (!isObject(tensor)) return fail(`"${key}" has ${shown(tensor)}, not an object`);
    const { name, datatype, shape } = tensor;
    if (typeof name !== 'string') return fail(`a name in "${key}" is ${shown(name)}, not text`);
    if (typeof datatype !== 'string') return fail(`the datatype of ${shown(name)} is ${shown(datatype)}`);
    const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && size >= -1);
    return isShape ? { name, datatype, shape } : fail(`the shape of ${shown(name)} is ${shown(shape)}`);
  });
}

function isTexts(list: unknown): list is string[] {
  return Array.isArray(list) && list.every((each) => typeof each === 'string');
}
