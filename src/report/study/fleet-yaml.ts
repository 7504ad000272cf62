import { EscapementError } from '../../base/errors.js';
import { readYaml } from '../../base/files/yaml-text.js';
import type { SweepResults } from '../../record/results.js';
import { kindOfGpus } from '../fleet-label.js';

/**
 * The list of kinds of GPUs of a sweep's experiment, with the numbers that `settings` give some of them, as YAML on one
 * line: a file can only contain the whole list. Null if settings give none, or the experiment has no list.
 */
export function fleetYaml(
  { experiment, overrides = [] }: Pick<SweepResults, 'experiment' | 'overrides'>,
  settings: Readonly<Record<string, string>>,
): string | null {
  const counts = new Map<string, string>();
  for (const [key, value] of Object.entries(settings)) {
    const kind = kindOfGpus(key);
    if (kind !== null) counts.set(kind, value);
  }
  if (counts.size === 0) return null;
  const list = settings['cluster.gpus'] ?? overrides.findLast((text) => /^\s*cluster\.gpus\s*=/.test(text));
  const kinds =
    list === undefined
      ? (parsed(experiment) as { cluster?: { gpus?: unknown } } | null)?.cluster?.gpus
      : parsed(list.replace(/^\s*cluster\.gpus\s*=/, ''));
  if (!Array.isArray(kinds)) return null;
  const entries = (kinds as Record<string, unknown>[]).map((entry) => ({
    ...entry,
    count: counts.get(String(entry.kind)) ?? entry.count ?? 1,
  }));
  return `[${entries.map(flow).join(', ')}]`;
}

function flow(entry: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(entry).map(([key, value]) => `${key}: ${plain(value)}`);
  return `{ ${pairs.join(', ')} }`;
}

/** Text without quotes if YAML needs none. */
function plain(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9][\w./-]*$/.test(value)) return value;
  return JSON.stringify(value);
}

function parsed(text: string): unknown {
  try {
    return readYaml(text, (what) => new EscapementError('E_CONFIG_SYNTAX', what)).value;
  } catch (error) {
    if (error instanceof EscapementError) return null;
    throw error;
  }
}
