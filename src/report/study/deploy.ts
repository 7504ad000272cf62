import type { FinishedCell, SweepResults } from '../../record/results.js';
import { kindOfGpus } from '../fleet-label.js';
import { quoted, setFlags } from '../reproduce.js';
import { commonChoice, headline, nothingFrom, recommend } from './analyze.js';
import { fleetYaml } from './fleet-yaml.js';
import { aggregate } from './points.js';
import { requirementOf } from './required.js';

/** Texts to paste to deploy a choice. */
interface Deployment {
  /** Flags for `simulate`, `run` and `serve`: `--set policy.kind=escapement --set policy.scheduleAhead=auto`. */
  readonly flags: string;
  /** Lines for an experiment file: `policy: { kind: escapement, scheduleAhead: auto }`. */
  readonly yaml: string;
  /** Command that serves with it. */
  readonly serve: string;
}

/** The choice of the verdict of a sweep of `file`, ready to paste; null if there is none. */
export function deploymentOf(results: SweepResults, file = 'experiment.yaml'): Deployment | null {
  const recommendations = recommend(results);
  const top = headline(recommendations);
  if (top === null || nothingFrom(results) !== null) return null;
  if (!aggregate(results).some(requirementOf(results))) return null;
  const common = commonChoice(results, recommendations);
  const byPrice = recommendations.some(({ ranking }) => ranking !== 'score');
  if (byPrice && (recommendations.length > 1 ? common === null : top.ranking !== 'hour')) return null;
  const point = common?.points.find((candidate) => candidate !== null) ?? top.best;
  const cell = point.cells[0] as FinishedCell;
  const settings = settingsOf(results, cell);
  const plugins = cell.result.plugin === undefined ? [] : pluginsOf(results);
  return {
    flags: setFlags([...plugins, ...toOverrides(settings)]).join(' '),
    yaml: [...plugins.map((override) => override.replace('=', ': ')), yamlOf(inFile(settings, results))].join(
      '\n',
    ),
    serve: [
      `escapement serve --repository models --experiment ${quoted(file)}`,
      ...setFlags(plugins),
      ...serveFlags(settings),
    ].join(' '),
  };
}

/** Overrides that name the module of the chosen policy; empty if the experiment file does. */
function pluginsOf({ overrides = [] }: SweepResults): string[] {
  return overrides.filter((override) => /^\s*plugins\s*=/.test(override));
}

/** A server takes its policy from the experiment, and its devices from its own flags. */
function serveFlags(settings: Readonly<Record<string, string>>): string[] {
  const policy = Object.entries(settings).filter(([key]) => key.startsWith('policy.'));
  const { 'cluster.gpus': gpus, 'cluster.memory': memory } = settings;
  return [
    ...setFlags(toOverrides(Object.fromEntries(policy))),
    ...(gpus === undefined ? [] : [`--gpus ${quoted(gpus)}`]),
    ...(memory === undefined ? [] : [`--memory ${quoted(memory)}`]),
  ];
}

function toOverrides(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([key, value]) => `${key}=${value}`);
}

/** Everything chosen for the cell: also keys with one value in this sweep, shared settings, and the policy. */
function settingsOf(
  { overrides = [] }: SweepResults,
  { values, result }: FinishedCell,
): Record<string, string> {
  const given = overrides.map((override): [string, string] => {
    const split = override.indexOf('=');
    return [override.slice(0, split).trim(), override.slice(split + 1).trim()];
  });
  const chosen = [...given, ...Object.entries(values)].filter(([key]) => /^(policy|cluster)\./.test(key));
  const policy = chosen.some(([key]) => key.startsWith('policy.'))
    ? { 'policy.kind': result.summary.policy }
    : {};
  return { ...policy, ...Object.fromEntries(chosen) };
}

/** Settings in the form of a file: kinds of GPUs in a list. */
function inFile(
  settings: Readonly<Record<string, string>>,
  results: SweepResults,
): Readonly<Record<string, string>> {
  const gpus = fleetYaml(results, settings);
  if (gpus === null) return settings;
  const others = Object.entries(settings).filter(([key]) => kindOfGpus(key) === null);
  return { ...Object.fromEntries(others), 'cluster.gpus': gpus };
}

/** A line for each section, in flow style. */
function yamlOf(settings: Readonly<Record<string, string>>): string {
  const sections = new Map<string, Record<string, unknown>>();
  for (const [key, value] of Object.entries(settings)) {
    const [name, ...path] = key.split('.') as [string, ...string[]];
    const section = sections.get(name) ?? {};
    sections.set(name, section);
    setAt(section, path, value);
  }
  return [...sections].map(([name, section]) => `${name}: ${flow(section)}`).join('\n');
}

function setAt(section: Record<string, unknown>, path: readonly string[], value: string): void {
  const [first, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) {
    section[first] = value;
    return;
  }
  const inner = (section[first] ?? {}) as Record<string, unknown>;
  section[first] = inner;
  setAt(inner, rest, value);
}

/** Values of flags are already YAML. */
function flow(value: unknown): string {
  if (typeof value === 'string') return value;
  const entries = Object.entries(value as object).map(([key, inner]) => `${key}: ${flow(inner)}`);
  return `{ ${entries.join(', ')} }`;
}
