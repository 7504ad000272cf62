import { ABORT, type Action, INFER, LANE_EXEC, type Lane, UNLOAD } from '../../src/core/action.js';
import type { WorkerOptions } from '../../src/core/worker.js';

type Stage = 'input' | 'exec' | 'weights';

interface Waiting {
  readonly action: Action;
  readonly stage: Stage;
  readonly earliestNs: number;
  readonly latestNs: number;
}

/** Weights on the GPU; others that come later in their place are another object. */
interface Weights {
  isThere: boolean;
}

/** The worker's rules as their description reads: one list of what waits, searched whenever a lane is free. */
export class LiteralWorker {
  private waiting: Waiting[] = [];
  private readonly running = new Map<Stage, { action: Action; latestNs: number; weights?: Weights }>();
  private readonly outputs: Action[] = [];
  private readonly aborts: Action[] = [];
  private readonly held = new Map<number, Weights>();

  constructor(private readonly options: WorkerOptions) {}

  get freePages(): number {
    const { models, pages } = this.options;
    return [...this.held.keys()].reduce((free, model) => free - models[model]!.pages, pages);
  }

  isPresent(model: number): boolean {
    return this.held.get(model)?.isThere ?? false;
  }

  receive(action: Action, earliestNs: number, latestNs: number): void {
    const stage = action.kind !== INFER ? 'weights' : this.options.device.copies ? 'input' : 'exec';
    if (action.kind === ABORT) this.aborts.push(action);
    else this.waiting.push({ action, stage, earliestNs, latestNs });
  }

  dropWaiting(): void {
    this.waiting = [];
  }

  copiedIn(): void {
    const { action, latestNs } = this.take('input');
    this.waiting.push({ action, stage: 'exec', earliestNs: 0, latestNs });
  }

  copiedOut(nowNs: number): void {
    this.options.sendResult(this.outputs.shift()!, nowNs);
    if (this.outputs.length > 0) this.options.device.startOutput(this.outputs[0]!, nowNs);
  }

  finished(lane: Lane, nowNs: number, clock: number, status: number): void {
    const { action, weights } = this.take(lane === LANE_EXEC ? 'exec' : 'weights');
    const isSame = this.held.get(action.model) === weights;
    Object.assign(action, { status, beginNs: Math.min(action.beginNs, nowNs), endNs: nowNs });
    if (lane === LANE_EXEC) {
      action.clock = clock;
      if (status === 0 && !isSame) action.status = 84;
      if (status === 0 && this.options.device.copies) {
        this.outputs.push(action);
        if (this.outputs.length === 1) this.options.device.startOutput(action, nowNs);
        return;
      }
    } else if (status === 0) weights!.isThere = true;
    else this.held.delete(action.model);
    this.options.sendResult(action, nowNs);
  }

  step(nowNs: number): void {
    const { oneLane, device } = this.options;
    for (const action of this.aborts.splice(0)) {
      for (const stage of ['input', 'exec'] as const)
        for (const each of this.inLine(stage).filter((one) => one.action.kind === INFER)) {
          this.remove(each);
          this.answer(each.action, 97, nowNs);
        }
      if (this.running.has('exec')) device.abort?.(nowNs);
      this.answer(action, 0, nowNs);
    }
    if (oneLane) this.advance(nowNs, 'exec', 'weights');
    else {
      this.advance(nowNs, 'exec');
      this.advance(nowNs, 'weights');
    }
    this.advance(nowNs, 'input');
  }

  /** One lane: what is first in line of these stages may begin while nothing of them runs. */
  private advance(nowNs: number, ...stages: Stage[]): void {
    for (;;) {
      const [first] = this.inLine(...stages);
      const isBusy = stages.some((stage) => this.running.has(stage));
      if (isBusy || first === undefined || first.earliestNs > nowNs) return;
      this.remove(first);
      this.begin(first, nowNs);
    }
  }

  private begin({ action, stage, latestNs }: Waiting, nowNs: number): void {
    const { device, models } = this.options;
    const { kind, model } = action;
    if (kind === UNLOAD) {
      this.held.delete(model);
      device.unload(model);
      this.answer(action, 0, nowNs);
    } else if (nowNs > latestNs) this.answer(action, kind === INFER ? 81 : 51, nowNs);
    else if (stage === 'input') {
      this.running.set(stage, { action, latestNs });
      device.startInput(action, nowNs);
    } else if (stage === 'exec') {
      if (!this.isPresent(model)) {
        this.answer(action, 82, nowNs);
        return;
      }
      this.running.set(stage, { action, latestNs, weights: this.held.get(model)! });
      action.beginNs = nowNs;
      device.startExec(action, nowNs);
    } else {
      this.held.delete(model);
      if (models[model]!.pages > this.freePages) {
        this.answer(action, 53, nowNs);
        return;
      }
      const weights = { isThere: false };
      this.held.set(model, weights);
      this.running.set(stage, { action, latestNs, weights });
      action.beginNs = nowNs;
      device.startLoad(action, nowNs);
    }
  }

  /** By earliest start; of equal ones who came first. */
  private inLine(...stages: Stage[]): Waiting[] {
    return this.waiting
      .filter(({ stage }) => stages.includes(stage))
      .sort((a, b) => a.earliestNs - b.earliestNs);
  }

  private remove(one: Waiting): void {
    this.waiting.splice(this.waiting.indexOf(one), 1);
  }

  private take(stage: Stage) {
    const one = this.running.get(stage)!;
    this.running.delete(stage);
    return one;
  }

  private answer(action: Action, status: number, nowNs: number): void {
    this.options.sendResult(Object.assign(action, { status, beginNs: nowNs, endNs: nowNs, clock: 1 }), nowNs);
  }
}
