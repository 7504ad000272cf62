import { EscapementError } from '../../base/errors.js';
import { Column } from '../../base/grown.js';
import type { Random } from '../../base/random/streams.js';
import { NS_PER_S } from '../../base/units.js';
import { BaseSource } from '../../workload/source.js';

/** Limit that memory sets: a request takes 28 bytes. */
const MOST_ARRIVALS = 50_000_000;

/** Longest time from the first request to the last: 104 days. */
const MOST_NS = Number.MAX_SAFE_INTEGER;

/** Class and tenant of requests; undefined: the log has none. */
export interface Section {
  readonly class?: string | undefined;
  readonly tenant?: string | undefined;
}

interface ImportedRequest {
  /** Since whatever the log counts from. */
  readonly timeNs: bigint;
  readonly model: string;
  readonly sloNs: number;
  /** 0: none. */
  readonly length: number;
  readonly section: Section;
}

/** Requests of logs, in columns. */
export class ImportedArrivals {
  /** Names of the models, in order of their first request; number of requests of each. */
  readonly models: string[] = [];
  readonly counts: number[] = [];

  private readonly timeNs = new Column(Float64Array);
  private readonly sloNs = new Column(Float64Array);
  private readonly model = new Column(Int32Array);
  private readonly length = new Column(Int32Array);
  private readonly section = new Column(Int32Array);
  private readonly modelIds = new Map<string, number>();
  private readonly sections = new Map<string, { readonly id: number; readonly section: Section }>();
  private baseNs: bigint | null = null;

  get count(): number {
    return this.timeNs.length;
  }

  /** Throws `E_TRACE_VALUE` for more requests than fit into memory. */
  add({ timeNs, model, sloNs, length, section }: ImportedRequest): void {
    if (this.count >= MOST_ARRIVALS)
      throw new EscapementError(
        'E_TRACE_VALUE',
        `more than ${MOST_ARRIVALS / 1e6} million requests: import a part`,
      );
    this.baseNs ??= timeNs;
    this.timeNs.push(Number(timeNs - this.baseNs));
    this.sloNs.push(sloNs);
    this.model.push(this.modelId(model));
    this.length.push(length);
    this.section.push(this.sectionId(section));
  }

  /** Moves each request by a random time within `rangeNs`, for logs that round theirs down to it. */
  spread(random: Random, rangeNs = NS_PER_S): void {
    const times = this.timeNs.values;
    for (let i = 0; i < this.count; i++) times[i] = times[i]! + Math.floor(random() * rangeNs);
  }

  /**
   * Requests in order of time, the first of all at 0, by class and tenant; the time from the first to the last; and
   * the number of those left out as too long before the last.
   */
  finish() {
    const times = this.timeNs.values;
    const all = Int32Array.from({ length: this.count }, (_, i) => i);
    if (all.some((row) => row > 0 && times[row]! < times[row - 1]!))
      all.sort((a, b) => times[a]! - times[b]! || a - b);
    const lastNs = times[all[all.length - 1]!]!;
    const early = all.findIndex((row) => lastNs - times[row]! <= MOST_NS);
    const order = all.subarray(early);
    const firstNs = times[order[0]!]!;
    for (const row of all.subarray(0, early)) this.counts[this.model.values[row]!]!--;
    const columns = {
      timeNs: times,
      sloNs: this.sloNs.values,
      model: this.model.values,
      length: this.length.values,
    };
    const sources = [...this.sections.values()].map(({ id, section }) => {
      const own = this.sections.size === 1 ? order : order.filter((row) => this.section.values[row] === id);
      return { section, source: new ImportedSource(columns, own, firstNs) };
    });
    return { early, spanNs: lastNs - firstNs, sources };
  }

  private modelId(name: string): number {
    let id = this.modelIds.get(name);
    if (id === undefined) {
      id = this.models.push(name) - 1;
      this.modelIds.set(name, id);
      this.counts.push(0);
    }
    this.counts[id]!++;
    return id;
  }

  private sectionId(section: Section): number {
    const key = `${section.class ?? ''}\n${section.tenant ?? ''}`;
    const known = this.sections.get(key);
    if (known !== undefined) return known.id;
    this.sections.set(key, { id: this.sections.size, section });
    return this.sections.size - 1;
  }
}

interface Columns {
  readonly timeNs: Float64Array;
  readonly sloNs: Float64Array;
  readonly model: Int32Array;
  readonly length: Int32Array;
}

class ImportedSource extends BaseSource {
  readonly hasLengths: boolean;
  private next = 0;

  constructor(
    private readonly columns: Columns,
    private readonly order: Int32Array,
    private readonly firstNs: number,
  ) {
    super(0);
    this.hasLengths = order.some((row) => columns.length[row]! > 0);
    this.advance();
  }

  override advance(): void {
    const row = this.order[this.next++];
    if (row === undefined) {
      this.timeNs = Number.POSITIVE_INFINITY;
      return;
    }
    const { timeNs, sloNs, model, length } = this.columns;
    this.timeNs = timeNs[row]! - this.firstNs;
    this.sloNs = sloNs[row]!;
    this.model = model[row]!;
    this.length = length[row]!;
  }
}
