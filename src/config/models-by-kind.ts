import { type ErrorPlace, EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import { mapExecNs } from '../core/lengths.js';
import type { ModelSpec, ModelTimes } from '../core/model.js';
import type { ModelSpread } from '../sim/spread.js';
import type { BuiltModel, KindModel } from './built-model.js';
import type { GpuKindConfig } from './schema-gpus.js';

/** Where the models of a section were measured. */
interface KindsOfSection {
  readonly kinds: readonly GpuKindConfig[];
  /** By name of the kind: what was measured on it. */
  readonly measured: ReadonlyMap<string, readonly KindModel[]>;
  /** Of the section, and of its profiles. */
  readonly place: ErrorPlace;
  /** Takes what is left out. */
  warn(text: string): void;
}

/**
 * The models of a section with their times on each kind of GPU: those that were measured there, or else those of the section
 * itself divided by the speed of the kind. Batch sizes are those that all kinds have. Throws `E_CONFIG_VALUE` for a kind
 * that has neither.
 */
export function onKinds(
  models: readonly KindModel[],
  { kinds, measured, place, warn }: KindsOfSection,
): BuiltModel[] {
  return models.map((model, i) =>
    combined(
      model,
      kinds.map((kind) => {
        const own = kind.name === null ? undefined : measured.get(kind.name);
        if (own !== undefined) return counterpart(own, model, i, kind, place);
        const spec = model.onKind?.get(kind.name ?? '');
        if (spec !== undefined) return { ...model, spec };
        if (kind.speed !== null && model.ofOtherKind !== true)
          return kind.speed === 1 ? model : scaled(model, kind.speed);
        throw new EscapementError('E_CONFIG_VALUE', notMeasured(model, kind.name), place);
      }),
      place,
      warn,
    ),
  );
}

function notMeasured({ spec, onKind, ofOtherKind }: KindModel, kind: string | null): string {
  const give = onKind === undefined ? `give profiles.${kind}` : `add rows for ${kind} to its file`;
  const orSpeed =
    ofOtherKind === true
      ? ''
      : `, or ${onKind === undefined ? '' : 'give '}${kind} a speed relative to the first kind`;
  return `${spec.name} was not measured on ${kind}: ${give}${orSpeed}`;
}

/** Throws `E_CONFIG_VALUE` for a profile of a kind that the cluster does not list. */
export function checkKind(kind: string, kindNames: readonly string[], place: ErrorPlace): void {
  if (kindNames.includes(kind)) return;
  const hint = kindNames.length === 0 ? 'cluster.gpus lists no kinds' : suggestion(kind, kindNames);
  throw new EscapementError('E_CONFIG_VALUE', `no GPUs are of the kind "${kind}": ${hint}`, place);
}

/** What was measured on a kind, of the model that is at `index` of its section: copies share a profile. */
function counterpart(
  own: readonly KindModel[],
  { spec }: KindModel,
  index: number,
  kind: GpuKindConfig,
  place: ErrorPlace,
): KindModel {
  const found =
    own.find((other) => other.spec.name === spec.name) ?? (own.length === 1 ? own[0] : own[index]);
  if (found !== undefined) return found;
  throw new EscapementError(
    'E_CONFIG_VALUE',
    `${spec.name} is not among the models of profiles.${kind.name}`,
    place,
  );
}

function scaled({ spec, file, spread }: KindModel, speed: number): KindModel {
  const faster = (ns: number) => Math.max(1, Math.round(ns / speed));
  return {
    spec: { ...spec, ...mapExecNs(spec, faster) },
    file,
    spread: spread && { ...spread, switchNs: spread.switchNs.map((ns) => Math.round(ns / speed)) },
  };
}

function combined(
  model: KindModel,
  onEach: readonly KindModel[],
  place: ErrorPlace,
  warn: (text: string) => void,
): BuiltModel {
  const { file } = model;
  if (onEach.length === 1 && onEach[0] === model) return { spec: model.spec, file, spreads: [model.spread] };
  const specs = onEach.map(({ spec }) => spec);
  const other = specs.find(({ lengths }) => `${lengths}` !== `${model.spec.lengths}`);
  if (other !== undefined)
    throw new EscapementError(
      'E_CONFIG_VALUE',
      `${model.spec.name} was measured with lengths ${listOf(model.spec)} on one kind of GPU and ${listOf(other)} on another: measure the same`,
      place,
    );
  const batchSizes = model.spec.batchSizes.filter((size) =>
    specs.every((spec) => spec.batchSizes.includes(size)),
  );
  const unused = new Set(
    specs.flatMap((spec) => spec.batchSizes.filter((size) => !batchSizes.includes(size))),
  );
  if (unused.size > 0)
    warn(
      `${model.spec.name}: batch sizes that were not measured on all kinds of GPUs are not used: ${[...unused].sort((a, b) => a - b).join(', ')}`,
    );
  const [first, ...others] = specs.map((spec) => timesAt(spec, batchSizes)) as [ModelTimes, ...ModelTimes[]];
  const spec = {
    ...model.spec,
    ...first,
    batchSizes,
    weightsBytes: Math.max(...specs.map(({ weightsBytes }) => weightsBytes)),
    pages: Math.max(...specs.map(({ pages }) => pages)),
    ...(others.length === 0 ? {} : { otherKinds: others }),
  };
  return { spec, file, spreads: onEach.map((one) => spreadAt(one, batchSizes)) };
}

function listOf({ lengths }: ModelSpec): string {
  return lengths === undefined ? 'of one value' : lengths.join(', ');
}

function timesAt(spec: ModelSpec, sizes: readonly number[]): ModelTimes {
  const { loadNs, batchSizes, execNs, execNsByLength } = spec;
  const used = (row: readonly number[]) => sizes.map((size) => row[batchSizes.indexOf(size)]!);
  return {
    loadNs,
    execNs: used(execNs),
    ...(execNsByLength && { execNsByLength: execNsByLength.map(used) }),
  };
}

function spreadAt({ spec, spread }: KindModel, sizes: readonly number[]): ModelSpread | null {
  if (spread === null) return null;
  const { batchSizes, lengths = [0] } = spec;
  const at = lengths.flatMap((_, bucket) =>
    sizes.map((size) => bucket * batchSizes.length + batchSizes.indexOf(size)),
  );
  return {
    load: spread.load,
    exec: at.map((b) => spread.exec[b] ?? null),
    switchNs: at.map((b) => spread.switchNs[b] ?? 0),
  };
}
