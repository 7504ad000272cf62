import { type Action, type ActionKind, LANE_EXEC, LANE_WEIGHTS, STATUS_OK } from '../../src/core/action.js';
import type { ModelSpec } from '../../src/core/model.js';
import { Worker } from '../../src/core/worker.js';
import { action, models } from './fixtures.js';

export interface Started {
  readonly what: 'input' | 'exec' | 'output' | 'load' | 'unload' | 'abort';
  /** Of the action; the model for an unload, −1 for an abort. */
  readonly id: number;
  readonly nowNs: number;
}

/** A worker of 6 pages with 4 models of 2 pages, whose device and controller are the test. */
export class WorkerHarness {
  readonly worker: Worker;
  readonly started: Started[] = [];
  /** What came back, as [id, status, beginNs, endNs]. */
  readonly results: number[][] = [];

  constructor(copies = false, specs: readonly ModelSpec[] = models(4)) {
    const note = (what: Started['what']) => (subject: Action, nowNs: number) => {
      this.started.push({ what, id: subject.id, nowNs });
    };
    this.worker = new Worker({
      models: specs,
      pages: 6,
      device: {
        copies,
        startInput: note('input'),
        startExec: note('exec'),
        startOutput: note('output'),
        startLoad: note('load'),
        unload: (model) => this.started.push({ what: 'unload', id: model, nowNs: -1 }),
        abort: (nowNs) => this.started.push({ what: 'abort', id: -1, nowNs }),
      },
      sendResult: ({ id, status, beginNs, endNs }) => this.results.push([id, status, beginNs, endNs]),
    });
  }

  send(id: number, kind: ActionKind, model: number, window: readonly [number, number], nowNs: number): void {
    this.worker.receive(action(id, kind, model), window[0], window[1]);
    this.worker.step(nowNs);
  }

  endExec(nowNs: number, clock = 1, status = STATUS_OK): void {
    this.worker.finished(LANE_EXEC, nowNs, clock, status);
    this.worker.step(nowNs);
  }

  endLoad(nowNs: number, status = STATUS_OK): void {
    this.worker.finished(LANE_WEIGHTS, nowNs, 1, status);
    this.worker.step(nowNs);
  }

  endInput(nowNs: number): void {
    this.worker.copiedIn();
    this.worker.step(nowNs);
  }

  endOutput(nowNs: number): void {
    this.worker.copiedOut(nowNs);
    this.worker.step(nowNs);
  }
}
