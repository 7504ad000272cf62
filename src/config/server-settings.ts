import type { Admission } from '../core/controller.js';
import { EscapementError } from '../core/errors.js';
import type { EnvironmentOverride } from './environment.js';
import { parseExperimentSource, readExperimentSource } from './load.js';
import { applyOverrides, type Origin } from './overrides.js';
import type { RuntimeSettings } from './runtime-settings.js';
import { experimentSchema } from './schema.js';
import type { PolicyChoice } from './schema-policy.js';
import { validate } from './validate.js';

/** What a server takes of the experiment that it was tuned with. */
export interface ServerSettings {
  /** Objective of requests whose model has none of its own either, ns. */
  readonly sloNs: number;
  readonly policy: PolicyChoice;
  readonly admission: Admission;
  readonly runtime: RuntimeSettings;
}

/** Settings with who said what. */
export interface OriginalSettings {
  readonly settings: ServerSettings;
  /** Who set a dotted key such as `runtime.arena`; null: nobody. */
  originOf(key: string): Origin | null;
}

/** Where settings come from, what comes later on top. */
export interface SettingsSources {
  /** Experiment file; null: there is none. */
  readonly file: string | null;
  readonly environment: readonly EnvironmentOverride[];
  /** Overrides by flag, such as `policy.scheduleAhead=5ms`. */
  readonly overrides: readonly string[];
}

const schema = experimentSchema.pick({ slo: true, policy: true, admission: true, runtime: true });
const SERVER_KEYS = Object.keys(schema.shape);

/**
 * Reads `slo`, `policy`, `admission` and `runtime`, and where each comes from. A server refuses at once what it can't
 * serve in time unless it is told otherwise. Other keys of the file are for simulations; `E_CONFIG_KEY` for other
 * overrides. Throws the coded errors of experiment files.
 */
export async function readServerSettings(sources: SettingsSources): Promise<OriginalSettings> {
  const place = `a server takes ${SERVER_KEYS.join(', ')}: the rest of an experiment is for simulations`;
  return read(sources, SERVER_KEYS, place);
}

/** Reads `runtime` only, where models run and others schedule; `E_CONFIG_KEY` for other overrides. */
export async function readRuntime(sources: SettingsSources): Promise<OriginalSettings> {
  return read(sources, ['runtime'], 'only runtime.… applies here: who schedules decides the rest');
}

async function read(
  { file, environment, overrides }: SettingsSources,
  keys: readonly string[],
  hint: string,
): Promise<OriginalSettings> {
  const foreign = overrides.find((override) => {
    const section = /^\s*([\w-]+)[^=]*=/.exec(override)?.[1];
    return section !== undefined && !keys.includes(section);
  });
  if (foreign !== undefined) throw new EscapementError('E_CONFIG_KEY', hint, { key: `--set ${foreign}` });
  const source =
    file === null ? parseExperimentSource('{}', 'the command line') : await readExperimentSource(file);
  const { tree, placeOf, originOf } = applyOverrides(source, overrides, environment);
  const own = Object.fromEntries(Object.entries(tree).filter(([key]) => keys.includes(key)));
  const given = validate(schema, { admission: 'predict', ...own }, placeOf);
  const { slo: sloNs, policy, admission, runtime } = given;
  return {
    settings: { sloNs, policy, admission, runtime },
    originOf: (key) => originOf(key.split('.')),
  };
}
