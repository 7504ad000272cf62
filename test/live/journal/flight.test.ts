import { describe, expect, it } from 'vitest';
import {
  type Action,
  STATUS_INFER_TOO_LATE,
  STATUS_OK,
  STATUS_WORKER_LOST,
} from '../../../src/core/action.js';
import { Controller } from '../../../src/core/controller.js';
import { FlightRecorder } from '../../../src/live/journal/flight-recorder.js';
import type { JournalHeader } from '../../../src/live/journal/journal-header.js';
import { JournalWriter } from '../../../src/live/journal/journal-writer.js';
import { OutcomeList } from '../../../src/live/journal/outcome-list.js';
import { replayJournal } from '../../../src/live/journal/replay.js';
import { explain, flightText } from '../../../src/record/flight/explain.js';
import type { Flight } from '../../../src/record/flight/flight.js';
import { createPolicy, MS } from '../../sim/fixtures.js';
import { header, type Journaled, journaled, journalPath, record, replayPolicy } from './fixtures.js';

/** A controller on which a test plays the world, while a journal is written. */
class Scene {
  readonly sent: Action[] = [];
  readonly controller: Journaled;
  private readonly path = journalPath();
  private readonly journal: JournalWriter;

  constructor(head: JournalHeader) {
    this.journal = new JournalWriter(this.path, head, () => {});
    const made = new Controller({
      cluster: head,
      defaultSloNs: head.defaultSloNs,
      admission: head.admission,
      missedWindow: head.missedWindow,
      createPolicy: createPolicy(head.policy.kind, head.policy.options),
      port: { send: (action) => this.sent.push(action), answer: () => {} },
    });
    this.controller = journaled(made, this.journal);
  }

  /** A request for a model comes, and time passes. */
  offer(sloMs: number, { model = 0, stepMs = 0 } = {}): void {
    this.controller.offer(model, 0, sloMs * MS, 0);
    this.controller.step(stepMs * MS);
  }

  step(...ms: readonly number[]): void {
    for (const each of ms) this.controller.step(each * MS);
  }

  /** The first outstanding action ends at `endMs`, having run so long. */
  finish(status: number, beginMs: number, endMs: number): void {
    const action = this.sent.shift();
    if (action === undefined) throw new Error('nothing was sent');
    this.controller.result(
      Object.assign(action, { status, beginNs: beginMs * MS, endNs: endMs * MS, clock: 1 }),
    );
  }

  async flight(request: number): Promise<Flight> {
    await this.journal.close(this.controller.digest);
    const recorder = new FlightRecorder(request);
    await replayJournal(this.path, { createPolicy: replayPolicy, observer: recorder, watchers: [recorder] });
    if (recorder.flight === null) throw new Error('no such request');
    return recorder.flight;
  }
}

/** One GPU that holds model 0 at 0 ms. */
function warm(over: Partial<JournalHeader> = {}, policy = 'clockwork'): Scene {
  const scene = new Scene(header(policy, { gpus: 1, ...over }));
  scene.controller.gpuUp(0, [0]);
  scene.controller.step(0);
  return scene;
}

describe('the flight of a request', () => {
  it('that was in time', async () => {
    const scene = warm();
    scene.controller.offer(0, 10 * MS, 25 * MS, 3);
    scene.controller.step(10 * MS);
    scene.finish(STATUS_OK, 11, 14);
    scene.controller.step(14.2 * MS);
    const flight = await scene.flight(0);
    expect(flight).toMatchObject({
      request: 0,
      model: 'resnet50-0',
      user: 3,
      deadlineNs: 35 * MS,
      dueNs: expect.any(Number),
      known: [{ atNs: 10 * MS, queued: 0, gpus: [{ gpu: 0, warm: true, execFreeNs: 11 * MS }] }],
      actions: [{ kind: 'INFER', gpu: 0, batchSize: 1, count: 1, expectedStartNs: 11 * MS }],
      answer: { outcome: 'ok', latencyNs: 4.2 * MS },
    });
    expect(explain(flight)).toEqual(['answered 20.8 ms before its deadline']);
    expect(flightText(flight)).toBe(
      `request 0 for resnet50-0, user 3
         +0 ms  arrived 0.01 s into the run, SLO 25 ms
         +0 ms  queued behind 0; GPU 0 warm, EXEC booked until +1 ms
         +0 ms  INFER 0 sent to GPU 0, batch 1 with 1 request: may start from +0 ms to +11 ms, expected at +1 ms for 2.73 ms
         +1 ms  INFER 0 began
         +4 ms  INFER 0 ended after 3 ms; its result came at +4.2 ms
       +4.2 ms  answered: ok
why
  answered 20.8 ms before its deadline
`,
    );
  });

  it('of a trace', async () => {
    const scene = warm();
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    scene.controller.offer(0, 0, 25 * MS, 3);
    scene.controller.offer(0, 0, 25 * MS, 3, trace);
    scene.controller.step(0);
    const flight = await scene.flight(1);
    expect(flight.trace).toBe(trace);
    expect(flightText(flight)).toContain(`request 1 for resnet50-0, user 3, trace ${trace}\n`);
    expect(await scene.flight(0)).not.toHaveProperty('trace');
  });

  it.each<[string, () => Scene, (scene: Scene) => void, string[]]>([
    [
      'was late because its INFER took longer than predicted and the result was slow to come',
      warm,
      (scene) => {
        scene.offer(15);
        scene.finish(STATUS_OK, 3, 14);
        scene.step(16);
      },
      [
        'answered 1 ms after its deadline',
        'INFER began 2 ms later than expected',
        'INFER took 8.27 ms longer than predicted: 11 ms instead of 2.73 ms',
        'its result reached the controller 2 ms after INFER had ended',
      ],
    ],
    [
      'found no GPU with its model',
      warm,
      (scene) => {
        scene.offer(15, { model: 1 });
        scene.step(15);
      },
      ['given up 0 ms before its deadline', 'waited 15 ms in the queue; no GPU held its model'],
    ],
    [
      'was refused on arrival',
      () => warm({ admission: 'predict' }),
      (scene) => scene.offer(3),
      ['refused 3 ms before its deadline', 'an answer was expected after 3.73 ms, and its SLO is 3 ms'],
    ],
    [
      'reached the controller when it was too late',
      () => warm({}, 'escapement'),
      (scene) => scene.offer(25, { stepMs: 24 }),
      [
        'refused 1 ms before its deadline',
        '24 ms passed until the scheduler had it, while its body was received and decoded',
      ],
    ],
    [
      'came when every GPU was gone',
      warm,
      (scene) => {
        scene.controller.gpuDown(0);
        scene.offer(15);
        scene.step(15);
      },
      ['given up 0 ms before its deadline', 'waited 15 ms in the queue; no GPU was connected'],
    ],
    [
      'missed its window',
      warm,
      (scene) => {
        scene.offer(25);
        scene.finish(STATUS_INFER_TOO_LATE, 13, 13);
        scene.step(13);
      },
      ['failed 12 ms before its deadline', 'INFER 0 on GPU 0 failed: too late'],
    ],
    [
      'missed its window and was then given up',
      () => warm({ missedWindow: 'retry' }),
      (scene) => {
        scene.offer(25);
        scene.finish(STATUS_INFER_TOO_LATE, 13, 13);
        scene.controller.gpuDown(0);
        scene.step(13, 20, 24, 25);
      },
      ['given up 5 ms before its deadline', 'INFER 0 on GPU 0 failed: too late'],
    ],
  ])('that %s', async (_, start, happens, reasons) => {
    const scene = start();
    happens(scene);
    expect(explain(await scene.flight(0))).toEqual(reasons);
  });

  it('whose worker was lost, and which was served by another', async () => {
    const scene = new Scene(header('clockwork'));
    scene.controller.gpuUp(0, [0]);
    scene.controller.gpuUp(1, [0]);
    scene.controller.offer(0, 0, 25 * MS, 0);
    scene.controller.step(0);
    const lost = scene.sent[0]?.gpu as number;
    scene.finish(STATUS_WORKER_LOST, 5, 5);
    scene.controller.gpuDown(lost);
    scene.controller.step(5 * MS);
    scene.finish(STATUS_OK, 6, 40);
    scene.controller.step(40 * MS);
    const flight = await scene.flight(0);
    expect(flight.known).toHaveLength(2);
    expect(flight.actions.map(({ gpu, result }) => [gpu, result?.status])).toEqual([
      [lost, 'worker_lost'],
      [1 - lost, 'ok'],
    ]);
    expect(explain(flight)).toContain(`INFER 0 on GPU ${lost} failed: worker lost`);
  });

  it('is complete for every request of a busy run', async () => {
    const { path } = await record(header('clockwork', { admission: 'predict' }));
    const missed = new OutcomeList(10_000);
    await replayJournal(path, { createPolicy: replayPolicy, observer: missed, watchers: [missed] });
    expect(new Set(missed.missed.map(({ outcome }) => outcome)).size).toBeGreaterThanOrEqual(3);
    for (const { request, outcome, latencyNs } of missed.missed.slice(0, 12)) {
      const recorder = new FlightRecorder(request);
      await replayJournal(path, { createPolicy: replayPolicy, observer: recorder, watchers: [recorder] });
      expect(recorder.flight?.answer).toMatchObject({ outcome, latencyNs });
      expect(flightText(recorder.flight as Flight)).not.toMatch(/undefined|NaN|null|Infinity/);
    }
  });
});
