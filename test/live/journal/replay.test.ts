import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Action, STATUS_OK, STATUS_WORKER_LOST } from '../../../src/core/action.js';
import { Controller } from '../../../src/core/controller.js';
import { OUTCOME_CANCELLED } from '../../../src/core/request.js';
import { JournalWriter } from '../../../src/live/journal/journal-writer.js';
import { OutcomeList } from '../../../src/live/journal/outcome-list.js';
import { replayJournal } from '../../../src/live/journal/replay.js';
import { POLICIES } from '../../../src/policies/registry.js';
import { createPolicy, MS } from '../../sim/fixtures.js';
import { header, journaled, journalPath, record, replayPolicy } from './fixtures.js';

const replay = (path: string) => replayJournal(path, { createPolicy: replayPolicy });

describe('a journal', () => {
  it.each([
    ...POLICIES.map(({ kind }) => [kind, {}] as const),
    ['clockwork', { oneLane: true }],
    ['fifo', { admission: 'predict' }],
    ['clockwork', { admission: 'predict', gpus: 3 }],
  ] as const)('replays to the same decisions under %s with %o', async (kind, over) => {
    const live = new OutcomeList(10_000);
    const patienceOf = (nth: number) => (nth % 5 === 0 ? 3 * MS : Number.POSITIVE_INFINITY);
    const recording = await record(header(kind, over), { outcomes: live, patienceOf });
    const offline = new OutcomeList(10_000);
    const result = await replayJournal(recording.path, {
      createPolicy: replayPolicy,
      observer: offline,
      watchers: [offline],
    });
    expect(result).toMatchObject({
      digest: recording.digest,
      recordedDigest: recording.digest,
      requests: recording.requests,
      truncated: false,
    });
    expect(offline.counts).toEqual(live.counts);
    expect(offline.counts[OUTCOME_CANCELLED]).toBeGreaterThan(0);
    expect(offline.failures).toEqual(live.failures);
    // Nothing is decoded in a simulation. The live list does not see when the policy gets its requests.
    expect(offline.missed).toEqual(live.missed.map((one) => ({ ...one, decodingNs: 0 })));
  });

  it('tells decisions apart: other settings lead to another digest', async () => {
    const { path, digest } = await record(header('clockwork'));
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('"maxBatch":8', '"maxBatch":4'));
    await expect(replay(path).then((result) => result.digest)).rejects.toMatchObject({
      code: 'E_REPLAY_DIFFERS',
      place: { file: path, line: expect.any(Number) },
    });
    expect(digest).toMatch(/^[0-9a-f]{16}$/);
  });

  it('replays from memory too, in parts that end anywhere', async () => {
    const { path, digest, requests } = await record(header('edf'));
    const text = readFileSync(path, 'utf8').match(/.{1,1000}/gs) ?? [];
    const result = await replayJournal('nowhere', { createPolicy: replayPolicy, text });
    expect(result).toMatchObject({ digest, recordedDigest: digest, requests });
    const cutOff = replayJournal('nowhere', { createPolicy: replayPolicy, text: ['{'] });
    await expect(cutOff).rejects.toMatchObject({ code: 'E_JOURNAL', place: { file: 'nowhere' } });
  });

  it('is packed when its name ends in .gz', async () => {
    const path = journalPath('run.journal.gz');
    const { digest } = await record(header('fifo'), { path });
    expect(await replay(path)).toMatchObject({ digest, recordedDigest: digest });
    const packed = readFileSync(path);
    expect(gunzipSync(packed).length).toBeGreaterThan(packed.length * 2);
  });

  it('replays GPUs that go down and come back with what they held', async () => {
    const path = journalPath();
    const head = header('clockwork', { gpus: 2 });
    const journal = new JournalWriter(path, head, () => {});
    const sent: Action[] = [];
    const answers: number[] = [];
    const controller = new Controller({
      cluster: head,
      defaultSloNs: head.defaultSloNs,
      admission: head.admission,
      missedWindow: head.missedWindow,
      createPolicy: createPolicy('clockwork', head.policy.options),
      port: { send: (action) => sent.push(action), answer: (_slot, outcome) => answers.push(outcome) },
    });
    journaled(controller, journal);
    const finish = (status: number, endNs: number) => {
      for (const action of sent.splice(0)) {
        const { earliestNs: beginNs } = action;
        controller.result(Object.assign(action, { status, beginNs, endNs, clock: 1 }));
      }
    };
    controller.gpuDown(1);
    controller.gpuUp(0, [0, 1]);
    controller.step(0);
    for (let i = 0; i < 5; i++) controller.offer(i % 3, 1 * MS, 100 * MS, i);
    controller.step(1 * MS);
    expect(sent.length).toBeGreaterThan(2);
    finish(STATUS_WORKER_LOST, 3 * MS);
    controller.gpuDown(0);
    controller.gpuUp(1, [1]);
    controller.step(3 * MS);
    expect(sent.every(({ gpu }) => gpu === 1)).toBe(true);
    for (let nowNs = 12 * MS; sent.length > 0; nowNs += 10 * MS) {
      finish(STATUS_OK, nowNs - MS);
      controller.step(nowNs);
    }
    expect(answers).toHaveLength(5);
    await journal.close(controller.digest);
    expect(await replay(path)).toMatchObject({
      digest: controller.digest,
      recordedDigest: controller.digest,
      requests: 5,
    });
  });

  it('keeps what stood under its name before', async () => {
    const name = journalPath();
    writeFileSync(name, 'from before');
    const { path } = await record(header('fifo'), { path: name });
    expect(path).toBe(`${name}.1`);
    expect(readFileSync(name, 'utf8')).toBe('from before');
    expect(await replay(path)).toMatchObject({ truncated: false, unanswered: 0 });
  });
});

describe('a journal that was cut off', () => {
  it.each(['run.journal', 'run.journal.gz'])('replays up to where it ends (%s)', async (name) => {
    const { path, requests } = await record(header('clockwork'), { path: journalPath(name) });
    const whole = readFileSync(path);
    for (const share of [0.3, 0.5, 0.77]) {
      writeFileSync(path, whole.subarray(0, Math.floor(whole.length * share)));
      const result = await replay(path);
      expect(result).toMatchObject({ recordedDigest: null, truncated: true });
      expect(result.requests).toBeGreaterThan(0);
      expect(result.requests).toBeLessThan(requests);
    }
  });

  it('is on the disk after a flush, though it was not closed', async () => {
    const path = journalPath();
    const journal = new JournalWriter(path, header('fifo'), () => {});
    journal.offer(0, 0, 25 * MS, 7);
    journal.step(0);
    journal.flush();
    await expect.poll(async () => (await replay(path)).steps).toBe(1);
    await journal.close('0000000000000000');
  });
});

describe('a corrupt journal', () => {
  it.each([
    ['o 1 2 3', 'has 4 fields where a line "o" has 5'],
    ['o 1 2 3 x', '"x" is not a number'],
    ['o 1.5 2 3 0', '"1.5" is not a whole number'],
    ['c 0', 'no request waits in slot 0'],
    ['c 99999', 'no request waits in slot 99999'],
    ['o 6 0 25000000 0', 'model 6 takes no requests'],
    ['r 0  1 2 1', '"" is not a number'],
    ['s Infinity', '"Infinity" is not a time'],
    ['s -1', 'time runs back'],
    ['d 2', 'GPU 2 of 2'],
    ['u 0 0 9', 'model 9 of 6'],
    ['u 0 1', 'kind 1 of 1'],
    ['\u0000\u0000', 'no line begins with'],
    ['e', 'has 1 fields where a line "e" has 2'],
    ['e 0123\no 0 0 1 0', 'a line after the end'],
  ])('is refused with its line: %s', async (line, message) => {
    const path = journalPath();
    const journal = new JournalWriter(path, header('fifo'), () => {});
    journal.step(5);
    await journal.close('0000000000000000');
    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, [...lines.slice(0, 2), line, ''].join('\n'));
    await expect(replay(path)).rejects.toMatchObject({
      code: 'E_JOURNAL',
      place: { file: path, line: line.includes('\n') ? 4 : 3 },
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ['', 'has no complete header'],
    ['{"format":"escapement-jour', 'has no complete header'],
    ['hello\n', 'is not a journal of escapement'],
    ['{"format":"escapement-journal","version":2}\n', 'version 2'],
    [
      '{"format":"escapement-journal","version":5,"models":[],"spareModels":0,"spareBatch":1}\n',
      'header: gpus',
    ],
  ])('is refused if its header is %j', async (text, message) => {
    const path = journalPath();
    writeFileSync(path, text);
    await expect(replay(path)).rejects.toMatchObject({
      code: 'E_JOURNAL',
      message: expect.stringContaining(message),
    });
  });

  it('is refused by its name if there is none', async () => {
    await expect(replay(journalPath())).rejects.toMatchObject({ code: 'E_FILE_MISSING' });
  });
});
