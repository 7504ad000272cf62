import { createHash } from 'node:crypto';
import { type Profile, profileModel } from '../config/profile.js';
import { mapExecNs, withoutLengths } from '../core/lengths.js';
import type { ModelSpec } from '../core/model.js';
import type { TensorSignature, WorkerModel } from '../live/model.js';

/** Minimum time that the scheduler expects: nothing real is shorter, and zero time would be no demand. */
const SHORTEST_NS = 1000;

/**
 * A model for simulated devices only: it takes the time in `spec`, times `timeScale`, and has one input and one output
 * of the profile's sizes.
 */
export function simulatedModel(spec: ModelSpec, timeScale: number): WorkerModel {
  const inputs = [tensor('input', spec.inputBytes)];
  const outputs = [tensor('output', spec.outputBytes)];
  return {
    spec: {
      ...scaledSpec(spec, timeScale),
      inputBytes: inputs[0].bytes,
      outputBytes: outputs[0].bytes,
    },
    signature: { inputs, outputs, batched: true },
    version: '1',
    sloNs: null,
    ortPath: null,
  };
}

/** The model as a simulated device of that scale runs it. */
export function scaledSpec(spec: ModelSpec, timeScale: number): ModelSpec {
  const scaled = (ns: number) => Math.max(SHORTEST_NS, Math.round(ns * timeScale));
  return { ...spec, loadNs: scaled(spec.loadNs), ...mapExecNs(spec, scaled) };
}

/** `copies` models of each profile; several copies are numbered. */
export function simulatedModels(
  profiles: readonly Profile[],
  copies: number,
  pageBytes: number,
  timeScale: number,
): WorkerModel[] {
  return profiles.flatMap((profile) =>
    Array.from({ length: copies }, (_, copy) => {
      const name = copies === 1 ? profile.name : `${profile.name}-${copy}`;
      // Clients of a server do not give the lengths of their inputs: all count as the longest.
      const model = simulatedModel(withoutLengths(profileModel(profile, name, pageBytes)), timeScale);
      return { ...model, digest: digestOf(model) };
    }),
  );
}

/** Digest by which workers have the same model, on whatever kind of GPU. */
function digestOf({ spec: { name, batchSizes }, signature }: WorkerModel): string {
  return createHash('sha256')
    .update(JSON.stringify([name, batchSizes, signature]))
    .digest('hex');
}

function tensor(name: string, bytes: number): TensorSignature {
  const elements = Math.max(1, Math.ceil(bytes / Float32Array.BYTES_PER_ELEMENT));
  return { name, datatype: 'FP32', shape: [elements], bytes: elements * Float32Array.BYTES_PER_ELEMENT };
}
