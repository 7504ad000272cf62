import type { BitMatrix } from '../../base/bit-matrix.js';
import { BitSet } from '../../base/bit-set.js';
import { NS_PER_MS } from '../../base/units.js';
import { Calendar } from '../../core/calendar.js';
import type { Cluster } from '../../core/cluster.js';
import type { LaneForecast } from './lane-forecast.js';

const NEVER = Number.POSITIVE_INFINITY;
/** Time for which a GPU that refused at once is sent nothing. */
const REST_NS = NS_PER_MS;

/**
 * GPUs that may be sent an INFER, because their lane should be free within schedule_ahead. Only those with changes are
 * looked at.
 */
export class OpenLanes {
  /** GPUs by state: may be sent an INFER; worth a look. */
  private readonly open: BitSet;
  private readonly changed: BitSet;
  private readonly opening: Calendar;
  private turn = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly forecasts: readonly LaneForecast[],
    private readonly tuned: { readonly scheduleAheadNs: number },
  ) {
    this.open = new BitSet(cluster.gpus);
    this.changed = new BitSet(cluster.gpus);
    this.opening = new Calendar(cluster.gpus);
    this.updateAll(0);
  }

  /** Time at which the next lane opens if no result arrives first; Infinity: never. */
  get nextOpeningNs(): number {
    return this.opening.nextNs;
  }

  isOpen(gpu: number): boolean {
    return this.open.has(gpu);
  }

  /** Marks the GPU as worth a look if it is open. */
  look(gpu: number): void {
    if (this.open.has(gpu)) this.changed.add(gpu);
  }

  /** Marks the open GPUs on which a model is warm as worth a look. */
  lookWhere(warm: BitMatrix, model: number): void {
    const { open, changed } = this;
    for (let word = 0; word < warm.words; word++)
      changed.include(word, warm.word(model, word) & open.word(word));
  }

  /** Number of GPUs worth a look now. */
  advance(nowNs: number): number {
    const { opening } = this;
    for (let gpu = opening.due(nowNs); gpu >= 0; gpu = opening.due(nowNs)) {
      opening.set(gpu, NEVER);
      this.open.add(gpu);
      this.changed.add(gpu);
    }
    return this.changed.count;
  }

  /** Next GPU that is worth a look, idle ones first; there must be one. */
  next(): number {
    const { changed, turn } = this;
    const { idleExec } = this.cluster.lanes;
    let gpu = changed.nextCommon(idleExec, turn);
    if (gpu < 0) gpu = changed.nextCommon(idleExec, 0);
    if (gpu < 0) gpu = changed.nextCyclic(turn);
    changed.delete(gpu);
    return gpu;
  }

  /** Call when the GPU was sent an INFER: others are next. */
  sent(gpu: number, nowNs: number): void {
    this.turn = gpu + 1 === this.cluster.gpus ? 0 : gpu + 1;
    this.update(gpu, nowNs);
  }

  /** Pauses a GPU that refused at once: its clock may be ahead, and it would refuse again. */
  rest(gpu: number, nowNs: number): void {
    this.open.delete(gpu);
    this.opening.set(gpu, nowNs + REST_NS);
  }

  /** Call when the GPU's forecast has changed: updates whether, or when, it may be sent another INFER. */
  update(gpu: number, nowNs: number): void {
    const aheadNs = this.tuned.scheduleAheadNs;
    const forecast = this.forecasts[gpu];
    const { isClosed } = this.cluster.exec[gpu];
    const isIdle = forecast.length === 0;
    const atNs = isIdle ? 0 : Math.ceil(forecast.plannedFreeNs - aheadNs);
    const isOpen = !isClosed && (isIdle || (aheadNs > 0 && atNs <= nowNs));
    if (isOpen) {
      this.open.add(gpu);
      this.changed.add(gpu);
    } else this.open.delete(gpu);
    this.opening.set(gpu, isOpen || isClosed || aheadNs === 0 ? NEVER : atNs);
  }

  /** Call when schedule_ahead has changed. */
  updateAll(nowNs: number): void {
    for (let gpu = 0; gpu < this.cluster.gpus; gpu++) this.update(gpu, nowNs);
  }
}
