import type { FinishedCell, SweepResults } from '../../record/results.js';
import { formatFactor, formatPercent, formatRate, round3 } from '../../text/numbers.js';
import { listed, plural } from '../../text/words.js';
import { keyLabel, parseQuantity, priceText, takeFleet, valueLabel, valuesLabel } from '../quantity.js';
import { setFlags } from '../reproduce.js';
import { certaintyText } from '../statistics.js';
import {
  commonChoice,
  FLEET_TARGET,
  failedCells,
  headline,
  type Recommendation,
  recommend,
  requirementOf,
} from './analyze.js';
import { aggregate, hasOffered, measureOf, type Point, scoreOf, worstGroup } from './points.js';

const MOST_GROUPS = 3;

/** A recommendation in one line: `Best at SLO 10 ms: 5 ms, 363.8 req/s, 7.0× the default (10 ms)`. Empty for null. */
export function finding(recommendation: Recommendation | null): string {
  if (recommendation === null) return '';
  const { best, choice, conditions, tied, ranking, improvement, default: usual } = recommendation;
  const where = Object.keys(conditions).length === 0 ? '' : ` at ${valuesLabel(conditions)}`;
  if (ranking === 'price') return `Cheapest${where}: ${choiceLabel(choice)}, ${paidText(best)}`;
  return [
    `Best${where}: ${choiceLabel(choice)}`,
    best.groups.length > 0 ? servedGroups(best) : `${formatRate(best.goodputRps?.mean ?? null)} req/s`,
    ...(usual === null || usual === best || improvement === null
      ? []
      : [`${formatFactor(improvement)} the default (${choiceLabel(usual.choice)})`]),
    ...(tied.length === 0 ? [] : [`ties with ${tied.length} more`]),
  ].join(', ');
}

/** Meaning of the marks of recommendations in a chart: `best at each SLO`, `cheapest at each SLO`. */
export function bestOf(recommendations: readonly Recommendation[]): string {
  const isCheapest = recommendations.some(({ ranking }) => ranking === 'price');
  const conditions = Object.keys(recommendations[0]?.conditions ?? {}).map(keyLabel);
  return `${isCheapest ? 'cheapest' : 'best'}${conditions.length === 0 ? '' : ` at each ${listed(conditions)}`}`;
}

/** `3.85 per hour`, or `16.2 GPU-hours` without prices. */
function paidText({ cost, gpuHours }: Pick<Point, 'cost' | 'gpuHours'>): string {
  return cost === null ? `${round3(gpuHours ?? 0)} GPU-hours` : `${priceText(cost.perHour)} per hour`;
}

/** `29.1 % of interactive, 100 % of batch in time`; of many groups only the worst-served one. */
export function servedGroups(point: Pick<Point, 'groups'>): string {
  const shown = point.groups.length <= MOST_GROUPS ? point.groups.filter(hasOffered) : [worstGroup(point)];
  const shares = shown.flatMap((group) =>
    group === null ? [] : [`${formatPercent(group.attainment.mean)} of ${group.name}`],
  );
  if (shares.length === 0) return 'nothing, as nothing was offered';
  return `${shares.join(', ')}${point.groups.length <= MOST_GROUPS ? '' : ' (the worst group)'} in time`;
}

/** Finding of a chart of goodput. For groups a warning: their sum hides who is served. */
export function goodputFinding(recommendation: Recommendation | null, points: readonly Point[]): string {
  if (points.some(({ weighted }) => weighted !== null))
    return 'Each request counts as much as its class weighs';
  if (points.some(({ groups }) => groups.length > 1)) return 'Sum of all groups, which hides who is served';
  const highest = points.reduce<Point | null>((most, point) => {
    return most === null || scoreOf(point) > scoreOf(most) ? point : most;
  }, null);
  if (recommendation !== null || highest === null) return finding(recommendation);
  return `Highest: ${formatRate(scoreOf(highest))} req/s at ${valuesLabel(highest.values)}`;
}

/**
 * Values of the chosen keys: `5 ms`, `escapement (auto)`, `fifo (GPUs 4)`. A key is named if its value is not enough:
 * for plain numbers, and several values of one unit. Numbers of GPUs of kinds are a fleet: `1 × v100 + 11 × t4`.
 */
export function choiceLabel(choice: Readonly<Record<string, string>>): string {
  const { 'policy.kind': kind, ...settings } = choice;
  const { fleet, others } = takeFleet(settings);
  const entries = Object.entries(others);
  const unitOf = (value: string) => parseQuantity(value)?.unit ?? 'name';
  const named = entries.map(([key, value]) => {
    const alone = entries.filter(([, other]) => unitOf(other) === unitOf(value)).length === 1;
    return alone && unitOf(value) !== '' ? valueLabel(value) : `${keyLabel(key)} ${valueLabel(value)}`;
  });
  const options = [...(fleet === null ? [] : [fleet]), ...named].join(', ');
  if (kind === undefined) return options;
  return options === '' ? kind : `${kind} (${options})`;
}

/** Conclusion of a sweep: the choice to deploy in one line, and facts about it, a line each. */
interface Verdict {
  readonly title: string;
  readonly lines: readonly string[];
  /** Flags of `simulate`, `run` and `serve` that choose it; null if there is nothing to choose. */
  readonly flags: string | null;
}

/** Conclusion of a sweep, from the same recommendations as its table and charts. */
export function verdict(results: SweepResults): Verdict {
  const points = aggregate(results);
  const certainty = certaintyText(
    results.seeds.length,
    points.map(({ attainment }) => attainment),
  );
  const lines = [failedLine(results), certainty].filter((line) => line !== '');
  const without = (title: string): Verdict => ({ title, lines, flags: null });
  if (points.length === 0) return without('No run finished');
  if (points.every(({ attainment }) => attainment === null)) return without('No request was offered');
  if (points.every(({ attainment }) => (attainment?.mean ?? 0) === 0))
    return without('No request was answered in time');
  const recommendations = recommend(results);
  const top = headline(recommendations);
  if (top === null) return without(`${plural(points.length, 'combination')}, and nothing to choose`);
  const common = commonChoice(results, recommendations);
  const choice = common?.choice ?? top.choice;
  const point = common?.points.find((one) => one !== null) ?? top.best;
  const flags = setFlags(settingsOf(results, point.cells[0]!)).join(' ');
  if (top.ranking !== 'score') {
    const isOne = recommendations.length > 1 ? common !== null : top.ranking === 'price';
    const missing = recommendations.filter(({ ranking }) => ranking === 'missed');
    const some = missing.length > 0 && missing.length < recommendations.length;
    const places = listed(missing.map(({ conditions }) => valuesLabel(conditions)));
    return {
      title: cheapest(results, recommendations),
      lines: [...(some ? [`No fleet reaches ${fleetTarget(results)} at ${places}`] : []), ...lines],
      flags: isOne ? flags : null,
    };
  }
  const meets = requirementOf(results);
  const required = (results.required ?? []).join(' and ');
  if (!points.some(meets)) return without(`No choice meets ${required}`);
  const missed = recommendations.filter((_, i) => {
    const chosen = common === null ? top.best : common.points[i];
    return chosen == null || !meets(chosen);
  });
  const isDefault = recommendations.some(
    ({ default: usual }) => JSON.stringify(usual?.choice) === JSON.stringify(choice),
  );
  return {
    title: `${isDefault ? 'Keep' : 'Deploy'} ${valuesLabel(choice, ' = ')}`,
    lines: [
      ...(common === null ? [] : [everywhere(common.worstShare, recommendations)]),
      ...(missed.length === 0
        ? []
        : [`It misses ${required} at ${missed.map(({ conditions }) => valuesLabel(conditions)).join('; ')}`]),
      ...lines,
    ],
    flags,
  };
}

/** `At most 2.0 % below the highest goodput at every SLO`. */
function everywhere(worstShare: number, recommendations: readonly Recommendation[]): string {
  const keys = Object.keys(recommendations[0]?.conditions ?? {});
  const [{ best }] = recommendations as [Recommendation];
  const measure = measureOf(best);
  const where = `at every ${keys.length === 1 ? keyLabel(keys[0]!) : 'condition'}`;
  if (worstShare === 1) return `The highest ${measure} ${where}`;
  // Rounded up, as a limit must be; not for the last bits of a quotient.
  const lost = Math.ceil(1000 * (1 - worstShare) - 1e-9) / 1000;
  return `At most ${formatPercent(lost)} below the highest ${measure} ${where}`;
}

/** `Cheapest with 99 % in time: 11 × t4, 3.85 per hour`, for each condition if they have different ones. */
function cheapest(results: SweepResults, recommendations: readonly Recommendation[]): string {
  const target = fleetTarget(results);
  const meeting = recommendations.filter(({ ranking }) => ranking === 'price');
  if (meeting.length === 0) return `No fleet reaches ${target}`;
  const texts = new Map<string, string[]>();
  for (const one of meeting) {
    const text = `${choiceLabel(one.choice)}, ${paidText(one.best)}`;
    texts.set(text, [...(texts.get(text) ?? []), valuesLabel(one.conditions)]);
  }
  const places = (all: readonly string[]) => {
    return all.length === recommendations.length ? '' : ` at ${listed(all)}`;
  };
  return `Cheapest with ${target}: ${[...texts].map(([text, all]) => `${text}${places(all)}`).join('; ')}`;
}

/** Requirement on a fleet. */
function fleetTarget({ required }: SweepResults): string {
  return (required ?? [`${Math.round(100 * FLEET_TARGET)} % in time`]).join(' and ');
}

function failedLine(results: SweepResults): string {
  const failed = failedCells(results).length;
  return failed === 0
    ? ''
    : `${failed} of ${plural(results.cells.length, 'run')} failed and ${failed === 1 ? 'is' : 'are'} left out`;
}

/** Everything chosen for the cell: also keys with one value in this sweep, shared settings, and the policy. */
function settingsOf({ overrides = [] }: SweepResults, { values, result }: FinishedCell): string[] {
  const given = overrides.map((override): [string, string] => {
    const split = override.indexOf('=');
    return [override.slice(0, split).trim(), override.slice(split + 1).trim()];
  });
  const plugins = result.plugin === undefined ? [] : given.filter(([key]) => key === 'plugins');
  const chosen = [...given, ...Object.entries(values)].filter(([key]) =>
    /^(policy|cluster|scaler)\./.test(key),
  );
  const policy = chosen.some(([key]) => key.startsWith('policy.'))
    ? { 'policy.kind': result.summary.policy }
    : {};
  const settings = { ...Object.fromEntries(plugins), ...policy, ...Object.fromEntries(chosen) };
  return Object.entries(settings).map(([key, value]) => `${key}=${value}`);
}
