import type { Admission } from '../core/controller.js';
import { parseExperimentSource, readExperimentSource } from './load.js';
import { applyOverrides } from './overrides.js';
import { experimentSchema } from './schema.js';
import type { PolicyChoice } from './schema-policy.js';
import { validate } from './validate.js';

/** What a server takes of the experiment that it was tuned with. */
export interface ServerSettings {
  /** Objective of requests whose model has none of its own either, ns. */
  readonly sloNs: number;
  readonly policy: PolicyChoice;
  readonly admission: Admission;
}

const { slo, policy, admission } = experimentSchema.shape;
const KEYS = { slo, policy, admission };
const schema = experimentSchema.pick({ slo: true, policy: true, admission: true });

/**
 * Reads `slo`, `policy` and `admission` of an experiment file, or their defaults when there is none, with overrides
 * such as `policy.scheduleAhead=5ms` on top. A server refuses at once what it can't serve in time unless it is told
 * otherwise. Throws the coded errors of experiment files.
 */
export async function loadServerSettings(
  file: string | null,
  overrides: readonly string[],
): Promise<ServerSettings> {
  const source =
    file === null ? parseExperimentSource('{}', 'the command line') : await readExperimentSource(file);
  const { tree, placeOf } = applyOverrides(source, overrides);
  const own = Object.fromEntries(Object.entries(tree).filter(([key]) => Object.hasOwn(KEYS, key)));
  const given = validate(schema, { admission: 'predict', ...own }, placeOf);
  return { sloNs: given.slo, policy: given.policy, admission: given.admission };
}
