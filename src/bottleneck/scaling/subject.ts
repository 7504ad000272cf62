import type { ServerSettings } from '../../experiment/server-settings.js';
import type { DeviceSpec } from '../../live/device.js';
import type { WorkerModel } from '../../live/model.js';

/** What is spread over more and more GPUs. */
export interface ScalingSubject {
  /** The repository, experiment or profile, for people. */
  readonly name: string;
  /** As many as are used at most. */
  readonly devices: readonly DeviceSpec[];
  readonly models: readonly WorkerModel[];
  /** Pages of the weights cache of each GPU. */
  readonly pages: number;
  readonly pageBytes: number;
  readonly settings: ServerSettings;
  /** By model: its share of the requests. The shares add up to 1. */
  readonly mix: readonly number[];
  /** Objective of the requests, ns; null: one with room for all that waits. */
  readonly sloNs: number | null;
}

/** So many models of each, with the same weights, in the same shares; several are numbered. */
export function withCopies(subject: ScalingSubject, copies: number): ScalingSubject {
  if (copies === 1) return subject;
  const each = Array.from({ length: copies }, (_, copy) => copy);
  return {
    ...subject,
    models: each.flatMap((copy) =>
      subject.models.map((model) => ({
        ...model,
        spec: { ...model.spec, name: `${model.spec.name}-${copy}` },
      })),
    ),
    mix: each.flatMap(() => subject.mix.map((share) => share / copies)),
  };
}
