import * as z from 'zod';
import { EscapementError } from '../base/errors.js';
import { AUTO, type Plugin, type PolicyEntry } from '../policies/entry.js';
import { POLICIES } from '../policies/registry.js';
import type { SourceDocument } from './document.js';
import { type ExperimentHost, type ModuleFile, relativeTo } from './experiment-host.js';
import { section } from './fields.js';
import { overriddenValues } from './overrides.js';
import { validate } from './validate.js';

export type { Plugin };

const optionSchema = section({
  type: z.enum(['duration', 'integer', 'number']),
  default: z.union([z.number(), z.literal(AUTO)]).exactOptional(),
  min: z.number(),
  max: z.number().exactOptional(),
  auto: z.string().exactOptional(),
  describe: z.string(),
});

function method<T>() {
  return z.custom<T>((value) => typeof value === 'function', 'must be a function');
}

const entrySchema = section({
  kind: z.string().regex(/^[A-Za-z][\w-]*$/, 'must be a name such as my-policy'),
  summary: z.string(),
  weights: z.enum(['used', 'ignored']).exactOptional(),
  sharesFirst: z.boolean().exactOptional(),
  onKinds: z.string().exactOptional(),
  batchesByLength: z.boolean().exactOptional(),
  options: z.record(
    z.string().regex(/^(?!kind$)[A-Za-z]\w*$/, 'must be a name such as maxDelay, other than kind'),
    optionSchema,
  ),
  whyServesNothing: method<NonNullable<PolicyEntry['whyServesNothing']>>().exactOptional(),
  create: method<PolicyEntry['create']>(),
});

const entriesSchema = z.array(entrySchema).min(1, 'must export at least one policy');

/**
 * Loads the modules named under `plugins` by an experiment and its overrides; their paths are relative to the
 * experiment file. Throws `E_FILE_MISSING`, and `E_PLUGIN` for a module that cannot be loaded, exports something other
 * than policies, or has one whose name is taken.
 */
export async function loadPlugins(
  source: SourceDocument,
  overrides: readonly string[],
  host: ExperimentHost,
): Promise<Plugin[]> {
  const named = [source.tree.plugins ?? [], ...overriddenValues(overrides, 'plugins')].flat();
  // The schema reports the others.
  const modules = named.filter((file): file is string => typeof file === 'string' && file !== '');
  return loadModules(modules, (file) => host.module(relativeTo(source.file, file)));
}

/** Loads modules whose paths are relative to the working directory. Throws as `loadPlugins`. */
export function loadPluginFiles(modules: readonly string[], host: ExperimentHost): Promise<Plugin[]> {
  return loadModules(modules, (file) => host.module(file));
}

async function loadModules(
  files: readonly string[],
  moduleOf: (file: string) => ModuleFile,
): Promise<Plugin[]> {
  const plugins = new Map<string, Plugin>();
  for (const file of files) {
    const module = moduleOf(file);
    if (plugins.has(module.path)) continue;
    const plugin = await loadPlugin(file, module);
    checkNames(plugin, [...plugins.values()]);
    plugins.set(module.path, plugin);
  }
  return [...plugins.values()];
}

/** Policies that a program passes in. Throws `E_PLUGIN` as `loadPlugins`. */
export function libraryPlugin(policies: readonly PolicyEntry[], others: readonly Plugin[]): Plugin {
  const plugin = { file: 'library', digest: '', policies: checkedEntries(policies, 'library') };
  checkNames(plugin, others);
  return plugin;
}

async function loadPlugin(file: string, module: ModuleFile): Promise<Plugin> {
  const { digest, exports } = await module.load();
  return { file, digest, policies: checkedEntries(exportsOf(exports), module.path) };
}

/** `export default` of one policy or a list, or `export const policies`; also from a CommonJS module. */
function exportsOf(module: Readonly<Record<string, unknown>>): unknown {
  const { policies, default: standard } = module;
  const found = policies ?? (standard as { policies?: unknown } | null | undefined)?.policies ?? standard;
  return found === undefined || Array.isArray(found) ? found : [found];
}

function checkedEntries(entries: unknown, file: string): PolicyEntry[] {
  if (entries === undefined) {
    const what = 'exports no policy: write `export default { kind, summary, options, create }`';
    throw new EscapementError('E_PLUGIN', what, { file });
  }
  const placeOf = ([index, ...path]: readonly (string | number)[]) => ({
    file,
    key: ['policies', index, ...path].filter((part) => part !== undefined).join('.'),
  });
  // The entries themselves, not copies: `create` may use `this`.
  validate(entriesSchema, entries, placeOf, 'E_PLUGIN');
  return entries as PolicyEntry[];
}

function checkNames({ file, policies }: Plugin, others: readonly Plugin[]): void {
  const owners = new Map(POLICIES.map(({ kind }) => [kind, 'is built in']));
  for (const other of others) for (const { kind } of other.policies) owners.set(kind, `is in ${other.file}`);
  for (const { kind } of policies) {
    const owner = owners.get(kind);
    if (owner !== undefined) {
      const what = `a policy called ${kind} ${owner}: choose another kind`;
      throw new EscapementError('E_PLUGIN', what, { file });
    }
    owners.set(kind, 'is in the same file');
  }
}
