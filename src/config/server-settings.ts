import { EscapementError } from '../base/errors.js';
import { suggestion } from '../base/nearest.js';
import type { Admission } from '../core/admission.js';
import type { Padding } from '../core/lengths.js';
import type { PipelineDefinition } from '../core/pipeline-definition.js';
import { parseExperimentSource } from './build.js';
import { entryOf, paddingOf } from './create-policy.js';
import { isSection } from './document.js';
import { ON_DISK } from './files-on-disk.js';
import { keyValue } from './keys.js';
import { readExperimentSource } from './load.js';
import { applyOverrides, type Origin } from './overrides.js';
import { buildPipelines } from './pipelines.js';
import { loadPlugins } from './plugins.js';
import type { EnvironmentOverride } from './runtime-settings.js';
import { type ServerScaling, serverScaling } from './scaled-cluster.js';
import { experimentSchema, experimentSchemaWith } from './schema.js';
import type { PolicyChoice } from './schema-policy.js';
import type { RuntimeSettings } from './schema-runtime.js';
import { type ClassConfig, NO_TENANTS, type TenantsConfig } from './schema-senders.js';
import { validate } from './validate.js';

/** Settings of a server from the experiment that it was tuned with. */
export interface ServerSettings {
  /** SLO of requests whose model has none of its own either, ns. */
  readonly sloNs: number;
  readonly policy: PolicyChoice;
  readonly admission: Admission;
  /** Padding of inputs of different lengths that share a batch. */
  readonly padding: Padding;
  /** Classes of requests; empty: none, and all requests weigh 1. */
  readonly classes: readonly ClassConfig[];
  /** Tenants; an empty list: there are none. */
  readonly tenants: TenantsConfig;
  readonly runtime: RuntimeSettings;
  /** Pipelines of models, which come and go. */
  readonly pipelines: readonly PipelineDefinition[];
  /** Decides how many GPUs are needed; null, absent: not computed. */
  readonly scaling?: ServerScaling | null;
}

/** Settings with their origins. */
export interface OriginalSettings {
  readonly settings: ServerSettings;
  /** Source of a dotted key such as `runtime.arena`; null: it is a default. */
  originOf(key: string): Origin | null;
  /** Value of such a key as written or by default; undefined: there is none. */
  writtenValue(key: string): unknown;
}

/** Sources of settings; later ones take precedence. */
export interface SettingsSources {
  /** Experiment file; null if there is none. */
  readonly file: string | null;
  readonly environment: readonly EnvironmentOverride[];
  /** Overrides by flag, such as `policy.scheduleAhead=5ms`. */
  readonly overrides: readonly string[];
}

const TAKEN = {
  ...({ slo: true, plugins: true, policy: true, admission: true, padding: true } as const),
  ...({ classes: true, scaler: true, tenants: true, runtime: true, pipelines: true } as const),
};
const SERVER_KEYS = Object.keys(TAKEN);

/**
 * Reads `slo`, `policy`, `admission`, `padding`, `classes`, `tenants`, `pipelines`, `scaler` with the kinds of GPUs that
 * it scales, and `runtime`, with the source of each. A server rejects requests that it can't serve in time at once unless
 * configured otherwise. Other keys of the file are for simulations; `E_CONFIG_KEY` for other overrides,
 * `E_CONFIG_VALUE` for a policy that would serve nothing. Throws the coded errors of experiment files.
 */
export async function readServerSettings(sources: SettingsSources): Promise<OriginalSettings> {
  const place = `a server takes ${SERVER_KEYS.join(', ')}: the rest of an experiment is for simulations`;
  const loaded = await read(sources, SERVER_KEYS, place);
  const { policy } = loaded.settings;
  const problem = entryOf(policy)?.whyServesNothing?.(policy.options) ?? null;
  if (problem !== null) throw new EscapementError('E_CONFIG_VALUE', problem, { key: 'policy' });
  return loaded;
}

/** Reads only `runtime`, for models scheduled elsewhere; `E_CONFIG_KEY` for other overrides. */
export async function readRuntime(sources: SettingsSources): Promise<OriginalSettings> {
  return read(sources, ['runtime'], 'only runtime.… applies here: the controller decides the rest');
}

async function read(
  { file, environment, overrides }: SettingsSources,
  keys: readonly string[],
  hint: string,
): Promise<OriginalSettings> {
  for (const override of overrides) {
    const name = override.includes('=') ? /^\s*([\w-]+)/.exec(override)?.[1] : undefined;
    if (name === undefined || keys.includes(name)) continue;
    const exists = Object.hasOwn(experimentSchemaWith([]).shape, name);
    const what = exists ? hint : `unknown key "${name}": ${suggestion(name, keys)}`;
    throw new EscapementError('E_CONFIG_KEY', what, { flag: `--set ${override}` });
  }
  const source =
    file === null ? parseExperimentSource('{}', 'the command line') : await readExperimentSource(file);
  const plugins = keys.includes('plugins') ? await loadPlugins(source, overrides, ON_DISK) : [];
  const { tree, placeOf, originOf } = applyOverrides(source, overrides, environment, plugins);
  // Of the cluster, only the limits of a scaler are read: GPUs are those of the workers.
  const isScaled = isSection(tree.scaler) && tree.scaler.kind !== 'none';
  const taken = keys.includes('scaler') && isScaled ? [...keys, 'cluster'] : keys;
  // Leaves out the known keys of simulations; unknown keys are rejected with the rest.
  const known = Object.keys(experimentSchema.shape).filter((key) => !taken.includes(key));
  const own = Object.fromEntries(Object.entries(tree).filter(([key]) => !known.includes(key)));
  const schema = experimentSchemaWith(plugins).pick({ ...TAKEN, cluster: true });
  const given = validate(schema, own, placeOf);
  const { slo: sloNs, policy, admission, runtime, classes = [], tenants = NO_TENANTS } = given;
  return {
    settings: {
      ...{ sloNs, policy, admission, classes, tenants, runtime },
      pipelines: buildPipelines(given.pipelines ?? [], null, placeOf).map((pipeline, p) => ({
        ...pipeline,
        place: placeOf(['pipelines', p]),
      })),
      padding: paddingOf(given, placeOf(['padding'])),
      scaling: serverScaling(given, placeOf),
    },
    originOf: (key) => originOf(key.split('.')),
    writtenValue: (key) => keyValue(own, key, plugins),
  };
}
