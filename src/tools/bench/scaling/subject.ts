import type { DeviceSpec } from '../../../live/device.js';
import type { ServedModels } from '../subject.js';

/** What is spread over more and more GPUs. */
export interface ScalingSubject extends ServedModels {
  /** As many as are used at most. */
  readonly devices: readonly DeviceSpec[];
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
