import type { Latencies } from './latencies.js';

/** A stream of requests for one model with one SLO. */
export interface SessionLoad {
  readonly session: number;
  readonly model: number;
  readonly sloNs: number;
  readonly ratePerNs: number;
}

/** Duty cycle of one GPU: each session's batch in turn. */
export interface PackedGpu {
  readonly turns: readonly { readonly load: SessionLoad; readonly batch: number }[];
}

interface PackingRoom {
  readonly latencies: Latencies;
  /** Page limit of each GPU, in descending order, and pages of each model. */
  readonly gpuPages: readonly number[];
  readonly modelPages: readonly number[];
}

/** A session's load, or a part of it, as it would run on a GPU of its own. */
interface Part {
  readonly load: SessionLoad;
  readonly ratePerNs: number;
  readonly batch: number;
  readonly dutyNs: number;
  /**
   * Share of a GPU that it needs to be in time, and the share that it uses, which is less for a session with a low
   * rate.
   */
  readonly occupancy: number;
  readonly usage: number;
}

interface Bin {
  readonly parts: Part[];
  dutyNs: number;
  /** Total time of the batches in one duty cycle. */
  busyNs: number;
  /** Sum over the parts. */
  usage: number;
  freePages: number;
  /** True if its batches take longer than a duty cycle. */
  isOverfull: boolean;
}

/** Granularity of ordering by occupancy, so that the order is stable while rates fluctuate. */
const OCCUPANCY_STEP = 0.05;
/** Rounding tolerance, too small to matter: 4.0000001 requests are 4. */
const ROUNDING = 1e-6;

/**
 * Squishy bin packing (Nexus, SOSP 2019, §6.1). A session first gets whole GPUs at the largest batch B with 2·ℓ(B) ≤
 * SLO. Its remaining load would run alone in a duty cycle d, gathering b = d·rate requests so that d + ℓ(b) ≤ SLO; such
 * parts are merged, in descending order of occupancy ℓ(b)/d, each into the GPU that it fills best: the duty cycle
 * becomes the shorter one, batches shrink with it, and Σ ℓ(b) must not exceed it. A part too large for any duty cycle
 * gets a GPU to itself.
 *
 * The paper adds GPUs as needed. If there are no more, the rest is put on the least loaded GPU, whose cycle then takes
 * longer than planned, and whose batches are as large as B. Sessions that fit into no GPU's memory are left out.
 */
export function pack(loads: readonly SessionLoad[], room: PackingRoom): PackedGpu[] {
  const bins: Bin[] = [];
  const parts = loads.map((load) => alone(load, saturate(load, room, bins), room.latencies));
  parts.sort((a, b) => rank(b) - rank(a) || a.load.session - b.load.session);
  const rest: Part[] = [];
  for (const part of parts) {
    if (part.ratePerNs <= ROUNDING * part.load.ratePerNs || merge(part, room, bins)) continue;
    if (unusedGpus(part.load, room, bins) > 0) open(part, room, bins);
    else rest.push(part);
  }
  for (const part of rest) squeeze(part, room, bins);
  return bins.map((bin) => ({
    turns: bin.parts.map((part) => ({ load: part.load, batch: plannedBatch(part, bin, room.latencies) })),
  }));
}

/** Gives the session as many GPUs as it can keep busy; returns the remaining rate. */
function saturate(load: SessionLoad, room: PackingRoom, bins: Bin[]): number {
  const { latencies } = room;
  const batch = latencies.saturating(load.model, load.sloNs);
  const mostPerNs = batch / latencies.execNs(load.model, batch);
  const count = Math.min(Math.floor(load.ratePerNs / mostPerNs), unusedGpus(load, room, bins));
  for (let i = 0; i < count; i++) open(wholeGpu(load, mostPerNs, latencies), room, bins);
  return load.ratePerNs - count * mostPerNs;
}

/** Number of GPUs without a bin that have the memory for the load. */
function unusedGpus(
  { model }: SessionLoad,
  { gpuPages, modelPages }: PackingRoom,
  bins: readonly Bin[],
): number {
  return Math.max(0, gpuPages.filter((pages) => pages >= modelPages[model]).length - bins.length);
}

/** A part that runs the largest batches back to back. */
function wholeGpu(load: SessionLoad, ratePerNs: number, latencies: Latencies): Part {
  const batch = latencies.saturating(load.model, load.sloNs);
  const dutyNs = latencies.execNs(load.model, batch);
  return { load, ratePerNs, batch, dutyNs, occupancy: 1, usage: (ratePerNs * dutyNs) / batch };
}

function alone(load: SessionLoad, ratePerNs: number, latencies: Latencies): Part {
  const batch = latencies.gathering(load.model, load.sloNs, ratePerNs);
  const execNs = latencies.execNs(load.model, batch);
  // A slow session's single request does not wait for another: its GPU only has to visit it often enough.
  const dutyNs = Math.min(batch / ratePerNs, load.sloNs - execNs);
  if (dutyNs < execNs) return wholeGpu(load, ratePerNs, latencies);
  const usage = (ratePerNs * execNs) / batch;
  return { load, ratePerNs, batch, dutyNs, occupancy: execNs / dutyNs, usage };
}

function rank(part: Part): number {
  return Math.round(part.occupancy / OCCUPANCY_STEP);
}

/** Opens the next GPU for the part. */
function open(part: Part, room: PackingRoom, bins: Bin[]): void {
  const bin: Bin = {
    parts: [],
    dutyNs: part.dutyNs,
    busyNs: room.latencies.execNs(part.load.model, part.batch),
    usage: 0,
    freePages: room.gpuPages[bins.length],
    isOverfull: false,
  };
  bins.push(bin);
  add(part, bin, room);
}

/** Merges the part into the GPU that is fullest with it; false if it fits none. */
function merge(part: Part, room: PackingRoom, bins: readonly Bin[]): boolean {
  let best: Bin | null = null;
  let bestBusyNs = 0;
  let bestOccupancy = 0;
  for (const bin of bins) {
    if (newPages(part, bin, room) > bin.freePages) continue;
    const dutyNs = Math.min(bin.dutyNs, part.dutyNs);
    const busyNs = busyWithNs(part, bin, dutyNs, room.latencies);
    if (busyNs > dutyNs || busyNs / dutyNs <= bestOccupancy) continue;
    best = bin;
    bestBusyNs = busyNs;
    bestOccupancy = busyNs / dutyNs;
  }
  if (best === null) return false;
  best.dutyNs = Math.min(best.dutyNs, part.dutyNs);
  best.busyNs = bestBusyNs;
  add(part, best, room);
  return true;
}

/** Adds the part to the least loaded GPU that lacks it and has the memory. */
function squeeze(part: Part, room: PackingRoom, bins: readonly Bin[]): void {
  let best: Bin | null = null;
  for (const bin of bins) {
    if (best !== null && bin.usage >= best.usage) continue;
    const hasIt = bin.parts.some(({ load }) => load.session === part.load.session);
    if (!hasIt && newPages(part, bin, room) <= bin.freePages) best = bin;
  }
  if (best === null) return;
  best.isOverfull = true;
  add(part, best, room);
}

function add(part: Part, bin: Bin, room: PackingRoom): void {
  bin.freePages -= newPages(part, bin, room);
  bin.usage += part.usage;
  bin.parts.push(part);
}

/** Pages that the part adds to the bin. */
function newPages(part: Part, bin: Bin, room: PackingRoom): number {
  const isThere = bin.parts.some(({ load }) => load.model === part.load.model);
  return isThere ? 0 : room.modelPages[part.load.model];
}

/** Total time of the batches in a duty cycle of `dutyNs`, including the part's. */
function busyWithNs(part: Part, bin: Bin, dutyNs: number, latencies: Latencies): number {
  let busyNs = batchNs(part, dutyNs, latencies);
  if (dutyNs === bin.dutyNs) return busyNs + bin.busyNs;
  for (const other of bin.parts) busyNs += batchNs(other, dutyNs, latencies);
  return busyNs;
}

function batchNs(part: Part, dutyNs: number, latencies: Latencies): number {
  return latencies.execNs(part.load.model, arrivalsIn(part, dutyNs));
}

function arrivalsIn({ ratePerNs }: Part, dutyNs: number): number {
  return Math.max(1, Math.ceil(dutyNs * ratePerNs - ROUNDING));
}

/**
 * Requests of a turn. If the cycle takes longer than planned, no session can rely on its turn: each then takes as many
 * as possible.
 */
function plannedBatch(part: Part, bin: Bin, latencies: Latencies): number {
  const { load } = part;
  if (bin.isOverfull) return latencies.saturating(load.model, load.sloNs);
  return latencies.sizeFor(load.model, arrivalsIn(part, bin.dutyNs));
}
