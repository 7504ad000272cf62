import { DISK_FILES } from '../base/files/disk-files.js';
import { NS_PER_MINUTE, NS_PER_S } from '../base/units.js';
import type { ExactTimes } from './exact-times.js';
import { exactLengthNs } from './exact-times.js';
import { readArrivals } from './files/arrival-rows.js';
import {
  type Layout,
  type LayoutOf,
  noRows,
  openTable,
  readInvocationTable,
  readMinuteTable,
  readTimestampTable,
  type Table,
} from './files/layout.js';
import type { MinuteCounts } from './minute-counts.js';
import { type MinuteStatistics, MinuteTally, statisticsOf } from './minute-statistics.js';

/** Contents of a trace file. For an arrivals file, `functions` are its models. */
export interface TraceInfo extends MinuteStatistics {
  readonly kind: Layout['kind'];
  /** Invocations per second over the whole trace, and in its busiest minute; null if it has no length. */
  readonly meanRps: number | null;
  readonly peakRps: number | null;
  /**
   * First and last arrival, ns since the start of the trace; for counts, start of the first and end of the last minute
   * with any. Null: no arrivals.
   */
  readonly firstNs: number | null;
  readonly lastNs: number | null;
  /** Label of the first minute in a file of counts; null for the other kinds. */
  readonly firstMinute: number | null;
}

/** Recognizes a trace by its header and reads all of it. Throws the coded errors of reading it. */
export async function traceInfo(path: string): Promise<TraceInfo> {
  const table = await openTable(DISK_FILES, path);
  if (isKind(table, 'azure-2019')) return infoOfCounts(await readMinuteTable(table));
  if (isKind(table, 'azure-2021')) return infoOfTimes('azure-2021', await readInvocationTable(table));
  if (isKind(table, 'azure-llm')) return infoOfTimes('azure-llm', await readTimestampTable(table));
  return infoOfArrivals(table as Table<LayoutOf<'arrivals'>>);
}

function isKind<K extends Layout['kind']>(table: Table, kind: K): table is Table<LayoutOf<K>> {
  return table.layout.kind === kind;
}

function infoOfCounts(counts: MinuteCounts): TraceInfo {
  const { start, minutes, firstMinute } = counts;
  let first = 0;
  while (first < minutes && start[first + 1] === start[first]) first++;
  let last = minutes;
  while (last > first && start[last] === start[last - 1]) last--;
  const some = first < minutes;
  const span = {
    firstNs: some ? first * NS_PER_MINUTE : null,
    lastNs: some ? last * NS_PER_MINUTE : null,
    lengthNs: minutes * NS_PER_MINUTE,
  };
  return info('azure-2019', statisticsOf(counts), span, firstMinute);
}

function infoOfTimes(kind: Layout['kind'], trace: ExactTimes): TraceInfo {
  const minutes = new MinuteBins();
  trace.timesNs.forEach((timeNs, row) => {
    minutes.add(timeNs, trace.rank[row]);
  });
  const lastNs = trace.timesNs[trace.timesNs.length - 1];
  const lengthNs = lastNs === 0 ? 0 : exactLengthNs(trace);
  return info(kind, minutes.finish(), { firstNs: 0, lastNs, lengthNs }, null);
}

async function infoOfArrivals(table: Table<LayoutOf<'arrivals'>>): Promise<TraceInfo> {
  const minutes = new MinuteBins();
  let firstNs = -1;
  let lastNs = 0;
  await readArrivals(table, ({ length, timeNs, model }) => {
    for (let row = 0; row < length; row++) minutes.add(timeNs[row], model[row]);
    if (firstNs < 0) firstNs = timeNs[0];
    lastNs = timeNs[length - 1];
  });
  if (firstNs < 0) throw noRows(table.file);
  const lengthNs = lastNs === 0 ? 0 : lastNs + 1;
  return info('arrivals', minutes.finish(), { firstNs, lastNs, lengthNs }, null);
}

/** Sorts arrivals, which come in order of time, into minutes. */
class MinuteBins {
  private readonly tally = new MinuteTally();
  private minuteEndNs = NS_PER_MINUTE;

  add(timeNs: number, fn: number): void {
    while (timeNs >= this.minuteEndNs) {
      this.tally.endMinute();
      this.minuteEndNs += NS_PER_MINUTE;
    }
    this.tally.add(fn, 1);
  }

  finish(): MinuteStatistics {
    this.tally.endMinute();
    return this.tally.finish();
  }
}

/** Figures by the minute, which an instant does not have. */
const NO_SPAN = { peakToMean: null, activePerMinute: null, belowOnePerMinute: null, belowOnePerHour: null };

function info(
  kind: Layout['kind'],
  statistics: MinuteStatistics,
  span: Pick<TraceInfo, 'firstNs' | 'lastNs'> & { readonly lengthNs: number },
  firstMinute: number | null,
): TraceInfo {
  const { firstNs, lastNs } = span;
  const lengthS = span.lengthNs / NS_PER_S;
  const { invocations, minutes, peakToMean } = statistics;
  const peak = ((peakToMean ?? 0) * invocations) / minutes;
  return {
    kind,
    ...statistics,
    ...(lengthS === 0
      ? { ...NO_SPAN, meanRps: null, peakRps: null }
      : // A trace shorter than a minute has no complete one.
        { meanRps: invocations / lengthS, peakRps: peak / Math.min(60, lengthS) }),
    firstNs,
    lastNs,
    firstMinute,
  };
}
