import type { Recommendation } from '../analyze.js';
import { formatFactor, formatPercent, formatRate } from '../format.js';
import { keyLabel, valueLabel, valuesLabel } from '../quantity.js';

/** What a recommendation says in one line: `Best: 5 ms at SLO 10 ms, 7.0× the default (10 ms)`. Empty for null. */
export function finding(recommendation: Recommendation | null): string {
  if (recommendation === null) return '';
  const { best, conditions } = recommendation;
  const where = Object.keys(conditions).length === 0 ? '' : ` at ${valuesLabel(conditions)}`;
  return `Best: ${choiceLabel(recommendation.choice)}${where}, ${comparison(recommendation) || goodputOf(best)}`;
}

/** Values of the chosen keys; the key's name is left out where there is only one and it is a quantity. */
export function choiceLabel(choice: Readonly<Record<string, string>>): string {
  const entries = Object.entries(choice);
  if (entries.length !== 1) return valuesLabel(choice);
  const [key, value] = entries[0] as [string, string];
  return /[a-z%]$/i.test(value) ? valueLabel(value) : `${keyLabel(key)} ${valueLabel(value)}`;
}

/** `7.0× the default (10 ms)`; empty where no default was run. */
export function comparison({ improvement, default: usual, choice, best }: Recommendation): string {
  if (improvement === null || usual === null) return '';
  const chosen = Object.fromEntries(Object.keys(choice).map((key) => [key, usual.values[key] ?? '']));
  const name = `the default (${choiceLabel(chosen)})`;
  if (best === usual) return 'which is the default';
  if (improvement < 1.005) return `as good as ${name}`;
  if (improvement === Number.POSITIVE_INFINITY) return `where ${name} serves nothing in time`;
  return `${formatFactor(improvement)} ${name}`;
}

function goodputOf(point: Recommendation['best']): string {
  return `${formatRate(point.goodputRps.mean)} req/s, ${formatPercent(point.sloAttainment.mean)} of the offered`;
}
