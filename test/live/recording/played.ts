import { expect } from 'vitest';
import { REAL_TIME } from '../../../src/base/world/real-time.js';
import type { Action } from '../../../src/core/action.js';
import { RequestTable } from '../../../src/core/request.js';
import type { ResultMessage } from '../../../src/live/messages.js';
import { ControllerRecorder } from '../../../src/live/recording/controller-recorder.js';
import { ServerRecorder, type WrittenRecording } from '../../../src/live/recording/server-recorder.js';
import { recordingPath } from './fixtures.js';
import { type ReadTrace, readTrace } from './trace-reader.js';

/** A controller played by the test, and what is recorded of it. */
export class Played {
  nowNs = 0;
  readonly table = new RequestTable();
  readonly said: string[] = [];
  readonly path = recordingPath();
  readonly recorder = new ControllerRecorder(() => this.table.size);
  readonly recordings = new ServerRecorder({
    recorder: this.recorder,
    clock: { nowNs: () => this.nowNs, time: REAL_TIME },
    models: () => ['one', 'two'],
    gpus: () => ['GPU 0 (worker local, cpu)', 'GPU 1 (worker far:1, cpu)'],
    facts: () => ({ host: 'here' }),
    newPath: () => this.path,
    events: {
      started: () => this.said.push('started'),
      written: ({ events }) => this.said.push(`written ${events > 0}`),
      failed: (error) => this.said.push(`failed: ${error.message}`),
    },
  });

  step(nowNs: number, tookNs: number): void {
    this.recorder.stepped(nowNs, tookNs);
  }

  ran(action: Action, over: Partial<ResultMessage> = {}): void {
    const { id, gpu, status, beginNs, endNs } = action;
    const nothing = { copyInNs: 0, copyOutNs: 0, outputs: [], error: '' };
    this.recorder.ran(action, { id, gpu, status, beginNs, endNs, ...nothing, ...over });
  }

  /** Stops, and reads what was written. */
  async stop(atNs: number): Promise<ReadTrace & { readonly written: WrittenRecording }> {
    this.nowNs = atNs;
    const written = await this.recordings.stop();
    expect(written).toMatchObject({ file: this.path });
    return { ...readTrace(this.path), written: written as WrittenRecording };
  }
}

export function record(): Played {
  const played = new Played();
  played.recordings.start();
  return played;
}
