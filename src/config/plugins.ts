import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as z from 'zod';
import { EscapementError } from '../base/errors.js';
import { AUTO, type Plugin, type PolicyEntry } from '../policies/entry.js';
import { POLICIES } from '../policies/registry.js';
import type { SourceDocument } from './document.js';
import { ON_DISK, relativeTo } from './experiment-files.js';
import { section } from './fields.js';
import { fileProblem } from './files.js';
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

const entrySchema = section({
  kind: z.string().regex(/^[A-Za-z][\w-]*$/, 'must be a name such as my-policy'),
  summary: z.string(),
  options: z.record(
    z.string().regex(/^(?!kind$)[A-Za-z]\w*$/, 'must be a name such as maxDelay, other than kind'),
    optionSchema,
  ),
  create: z.custom<PolicyEntry['create']>((value) => typeof value === 'function', 'must be a function'),
});

const entriesSchema = z.array(entrySchema).min(1, 'must export at least one policy');

/**
 * Loads the modules that an experiment and its overrides name under `plugins`; their paths are relative to the
 * experiment file. Throws `E_FILE_MISSING`, and `E_PLUGIN` for a module that cannot be loaded, exports something
 * other than policies, or has one whose name is taken.
 */
export async function loadPlugins(
  source: SourceDocument,
  overrides: readonly string[],
  files = ON_DISK,
): Promise<Plugin[]> {
  const named = [source.tree.plugins ?? [], ...overriddenValues(overrides, 'plugins')].flat();
  // The schema says what is wrong with others.
  const modules = named.filter((file): file is string => typeof file === 'string' && file !== '');
  return loadModules(modules, (file) => files.module(relativeTo(source.file, file)));
}

/** Loads modules whose paths are relative to where the program runs. Throws as `loadPlugins` does. */
export function loadPluginFiles(files: readonly string[]): Promise<Plugin[]> {
  return loadModules(files, (file) => resolve(file));
}

async function loadModules(files: readonly string[], pathOf: (file: string) => string): Promise<Plugin[]> {
  const plugins = new Map<string, Plugin>();
  for (const file of files) {
    const path = pathOf(file);
    if (plugins.has(path)) continue;
    const plugin = await loadPlugin(file, path);
    checkNames(plugin, [...plugins.values()]);
    plugins.set(path, plugin);
  }
  return [...plugins.values()];
}

/** Policies that a program passes in. Throws `E_PLUGIN` as `loadPlugins` does. */
export function libraryPlugin(policies: readonly PolicyEntry[], others: readonly Plugin[]): Plugin {
  const plugin = { file: 'library', digest: '', policies: checkedEntries(policies, 'library') };
  checkNames(plugin, others);
  return plugin;
}

async function loadPlugin(file: string, path: string): Promise<Plugin> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw fileProblem(error, path);
  }
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  // With the digest in its address, a module that was edited is loaded again in a process that runs on.
  const address = `${pathToFileURL(path).href}?${digest}`;
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(address);
  } catch (error) {
    throw new EscapementError('E_PLUGIN', `cannot be loaded: ${reasonOf(error, path)}`, { file: path });
  }
  return { file, digest, policies: checkedEntries(exportsOf(module), path) };
}

/** `export default` of one policy or a list, or `export const policies`; the same of a CommonJS module. */
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

/** The folder of this package. src/config and dist/config are equally deep. */
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');

/** What went wrong in a module, with the line if the error has one. */
export function reasonOf(error: unknown, path: string): string {
  if (!(error instanceof Error)) return String(error);
  const line = error.stack?.split(path)[1]?.match(/^(?:\?[0-9a-f]+)?:(\d+)/)?.[1];
  const missing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
  const what = missing ? error.message.replace(/ imported from .*/s, '') : `${error.name}: ${error.message}`;
  const advice = /package 'escapement['/]/.test(what) ? `: run npm install ${PACKAGE} in its folder` : '';
  return `${what}${line === undefined ? '' : ` (line ${line})`}${advice}`;
}
