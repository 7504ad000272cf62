import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { formatHeader } from '../../../src/live/journal/journal-header.js';
import { CAUSE_LABELS, type Cause } from '../../../src/record/causes.js';
import { header, journalPath, type Recording, record } from '../../live/journal/fixtures.js';
import { MS } from '../../sim/fixtures.js';
import { runCli } from '../run-cli.js';

describe('escapement replay', () => {
  let recording: Recording;
  let whole: string;
  beforeAll(async () => {
    recording = await record(header('clockwork', { admission: 'predict' }));
    whole = readFileSync(recording.path, 'utf8');
  });

  /** A copy of the journal with other content. */
  const changed = (name: string, text: string) => {
    const path = `${recording.path}.${name}`;
    writeFileSync(path, text);
    return path;
  };

  it('lists late requests, and shows the course of one', async () => {
    const list = await runCli(['replay', recording.path, '--late', '--limit', '3', '--json']);
    expect(list.status).toBe(0);
    const facts = JSON.parse(list.stdout);
    expect(facts).toMatchObject({ digest: recording.digest, truncated: false, requests: recording.requests });
    expect(facts.late).toHaveLength(3);
    expect(Object.keys(facts.outcomes)).toEqual(['ok', 'late', 'timeout', 'rejected', 'error', 'cancelled']);
    const [{ request, model, outcome, cause }] = facts.late;
    const failed = Object.values<number>(facts.failures).reduce((sum, count) => sum + count, 0);
    expect(failed).toBe(facts.requests - facts.outcomes.ok);
    expect(facts.failures[cause]).toBeGreaterThan(0);

    const text = await runCli(['replay', recording.path, '--late', '--limit', '3']);
    expect(text.stdout).toMatch(new RegExp(`^ +${request} +${model} +${CAUSE_LABELS[cause as Cause]} `, 'm'));
    expect(text.stdout).toMatch(/^request +model +cause +arrival s +latency ms +SLO ms$/m);
    expect(text.stdout).toMatch(/^and \d+ more; a higher --limit shows them$/m);

    const story = await runCli(['replay', recording.path, '--request', String(request)]);
    expect(story.stdout).toContain(`\nrequest ${request} for ${model}, user `);
    expect(story.stdout).toMatch(new RegExp(`answered: ${outcome}\n(?:[^]*\n)?why\n {2}\\S`));

    const json = await runCli(['replay', recording.path, '--request', String(request), '--json']);
    const { flight } = JSON.parse(json.stdout);
    expect(flight).toMatchObject({ request, model, answer: { outcome } });
    expect(flight.why.length).toBeGreaterThan(0);
  });

  it('shows the course of a request of a pipeline over its steps', async () => {
    const step = (id: string, after: number[]) => ({ id, model: 0, after, least: 1, mean: 1, budget: 1 });
    const chain = { name: 'chain', split: 'equal', steps: [step('detect', []), step('name', [0])] };
    const offer = `f 0 0 ${200 * MS} 0 0 0 2 1`;
    const lines = [whole.split('\n')[0], `l 0 ${JSON.stringify(chain)}`, 's 0', offer, 's 0'];
    const path = changed('pipeline', [...lines, 's 9000000000', ''].join('\n'));
    const { stdout } = await runCli(['replay', path, '--request', '0']);
    const began = ' began: request \\d, to end by .100 ms\n.*';
    const ended = ' ended: request 1, \\w+\n[^]* answered: \\w+\nwhy\n';
    const story = `request 0 for pipeline chain\n.*arrived .*\n(?:.*detect${began}){2}detect${ended}`;
    expect(stdout).toMatch(new RegExp(`${story} {2}request 1 of detect failed\n {2}\\S`));
    const open = changed('open', [...lines, ''].join('\n'));
    expect((await runCli(['replay', open, '--request', '0'])).stdout).toContain('the journal ends before');
    // Of requests without an answer it claims nothing.
    expect((await runCli(['replay', open, '--late'])).stdout).toContain('\nno request was answered\n');
  });

  describe('of tenants', () => {
    /** Acme may send one request. It sends one that takes 24 of its 25 ms to decode, and another. */
    const path = journalPath('tenants.journal');
    const others = { name: 'others', rateRps: Number.POSITIVE_INFINITY, burst: 1, share: 1 };
    const acme = { name: 'acme', rateRps: 0.001, burst: 1, share: 1 };
    const ns = (ms: number) => ms * MS;
    const lines = [
      formatHeader(header('escapement', { gpus: 1, tenants: [others, acme] })),
      ...['u 0 0 0', 's 0'],
      ...[`o 0 ${ns(100)} ${ns(25)} 0`, `s ${ns(100)}`],
      ...[`r 0 0 ${ns(100)} ${ns(103)} 1`, `s ${ns(103)}`],
      ...[`o 0 ${ns(200)} ${ns(25)} 0 0 1`, `s ${ns(224)}`],
      ...[`o 0 ${ns(300)} ${ns(25)} 0 0 1`, `s ${ns(300)}`],
    ];
    writeFileSync(path, `${lines.join('\n')}\n`);

    it.each([
      [['--cause', 'overRate'], [2]],
      [
        ['--tenant', 'acme'],
        [1, 2],
      ],
      [
        ['--model', 'resnet50-0'],
        [1, 2],
      ],
      [['--tenant', 'others'], []],
    ])('lists those that %j picks', async (args, wanted) => {
      const { stdout } = await runCli(['replay', path, '--json', ...args]);
      expect(JSON.parse(stdout).late.map(({ request }: { request: number }) => request)).toEqual(wanted);
      const text = (await runCli(['replay', path, ...args])).stdout;
      if (wanted.length === 0) expect(text).toContain('\nno matching request failed\n');
      else expect(text.includes('and 1 more; a higher --limit shows them')).toBe(args.includes('--limit'));
    });

    it('does not call the time of decoding a time in the queue', async () => {
      const { stdout } = await runCli(['replay', path, '--request', '1']);
      expect(stdout).toContain('+24 ms  queued behind');
    });
  });

  describe('--timeline', () => {
    interface Event {
      readonly name: string;
      readonly ph: string;
      readonly ts: number;
      readonly dur: number;
      readonly cat: string;
      readonly id: number;
      readonly pid: number;
      readonly tid: number;
      readonly args: Readonly<Record<string, unknown>>;
    }

    const timelineOf = async (path: string, ...args: string[]) => {
      const file = `${path}.json`;
      const { status, stdout, stderr } = await runCli(['replay', path, '--timeline', file, ...args]);
      expect([status, stderr]).toEqual([0, '']);
      const events: Event[] = JSON.parse(readFileSync(file, 'utf8')).traceEvents;
      const ran = events.filter(({ ph }) => ph === 'X');
      const asked = events.filter(({ ph, cat }) => ph === 'b' && cat === 'request').length;
      expect(stdout).toMatch(new RegExp(`json: ${ran.length} actions? and ${asked} requests?\\n$`));
      const ends = new Map(
        events.flatMap(({ ph, cat, id, ts }) => (ph === 'e' ? [[`${cat} ${id}`, ts]] : [])),
      );
      const spans = events.flatMap((event) =>
        event.ph === 'b' ? [{ ...event, end: ends.get(`${event.cat} ${event.id}`)! }] : [],
      );
      return { names: events.filter(({ name }) => name.endsWith('_name')), ran, spans };
    };

    it('shows an action with its window, and requests with their traces', async () => {
      const path = journalPath('traced.journal');
      const lines = [
        formatHeader(header('escapement', { gpus: 1 })),
        ...['u 0 0 0', 's 0'],
        ...[`o 0 ${100 * MS} ${25 * MS} 0`, 'w 00-1-2-01', `s ${100 * MS}`],
        ...[`r 0 0 ${100 * MS} ${103 * MS} 1`, `s ${104 * MS}`],
        ...[`o 1 ${200 * MS} ${MS} 0`, `s ${202 * MS}`],
      ];
      writeFileSync(path, `${lines.join('\n')}\n`);
      const { names, ran, spans } = await timelineOf(path);
      expect(names.map(({ args }) => args.name)).toEqual([
        ...['controller', 'requests', 'GPU 0', 'EXEC', 'WEIGHTS'],
      ]);
      expect(ran.map(({ name, ts, dur }) => [name, ts, dur])).toEqual([['resnet50-0 ×1', 100_000, 3_000]]);
      expect(spans.map(({ name, ts, end }) => [name, ts, end])).toEqual([
        ['EXEC window', 100_000, expect.any(Number)],
        ['request ok', 100_000, 104_000],
        ['request rejected', 200_000, 202_000],
      ]);
      const shared = { sloMs: 25, cold: false, action: 0, traceparent: '00-1-2-01' };
      expect(spans[1]!.args).toEqual({ model: 'resnet50-0', outcome: 'ok', ...shared });
      expect(spans[2]!.args).toEqual({ model: 'resnet50-1', outcome: 'rejected', sloMs: 1, cold: true });
    });

    it('refuses a part that ends before it begins', async () => {
      const part = ['--timeline', `${recording.path}.none`, '--from', '2s', '--to', '2s'];
      const { status, stderr } = await runCli(['replay', recording.path, ...part]);
      expect([status, stderr]).toEqual([2, 'escapement: E_USAGE: --to: must be later than --from\n']);
    });

    it('shows all that overlaps a part of the run, in lanes that do one thing at a time', async () => {
      const facts = JSON.parse((await runCli(['replay', recording.path, '--json'])).stdout);
      const whole = await timelineOf(recording.path);
      const part = await timelineOf(recording.path, '--from', '500ms', '--to', '700ms');
      const requests = whole.spans.filter(({ cat }) => cat === 'request');
      expect(requests).toHaveLength(facts.requests - facts.unanswered);
      for (const [outcome, count] of Object.entries(facts.outcomes))
        expect(
          requests.filter(({ args }) => args.outcome === outcome),
          outcome,
        ).toHaveLength(Number(count));
      const overlaps = (begin: number, end: number) => end >= 500_000 && begin < 700_000;
      expect(part.ran).toEqual(whole.ran.filter(({ ts, dur }) => overlaps(ts, ts + dur)));
      expect(part.spans.filter(({ cat }) => cat === 'request')).toEqual(
        requests.filter(({ ts, end }) => overlaps(ts, end)),
      );
      expect(part.ran.length).toBeGreaterThan(20);
      const windows = new Map(whole.spans.map((span) => [`${span.cat} ${span.id}`, span]));
      const free = new Map<number, number>();
      for (const { tid, ts, dur, cat, id, args } of whole.ran.toSorted((a, b) => a.ts - b.ts)) {
        expect(ts).toBeGreaterThanOrEqual((free.get(tid) ?? 0) - 0.001);
        free.set(tid, ts + dur);
        expect([cat, id, args.batch]).not.toContain(null);
      }
      for (const { args, ts, end } of requests.filter(({ args: { action } }) => action !== undefined)) {
        const window = windows.get(`EXEC window ${args.action}`)!;
        expect(window.ts).toBeGreaterThanOrEqual(ts);
        expect(window.ts).toBeLessThan(end);
      }
    });

    it('needs a file for its part, and leaves none if the journal is not one', async () => {
      const path = changed('other', 'nothing\n');
      expect((await runCli(['replay', recording.path, '--from', '1s'])).status).toBe(2);
      expect((await runCli(['replay', path, '--timeline', `${path}.json`])).status).toBeGreaterThan(0);
      expect(existsSync(`${path}.json`)).toBe(false);
    });
  });

  it('exits with 47 if the replay diverges from the recording', async () => {
    const digest = recording.digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    const path = changed('differs', whole.replace(recording.digest, digest));
    const { status, stdout, stderr } = await runCli(['replay', path]);
    expect(status).toBe(47);
    expect(stdout).toContain(`recorded  ${digest}, DIFFERENT\n`);
    expect(stderr).toBe(
      `escapement: E_REPLAY_DIFFERS: ${path}: the replay diverged from the recording: digest ${recording.digest}, recorded ${digest}; the journal is damaged or edited, or was written by another version of escapement\n`,
    );
  });

  it('refuses a journal of a policy that it does not know', async () => {
    const path = changed('policy', whole.replace('"kind":"clockwork"', '"kind":"later"'));
    const { status, stderr } = await runCli(['replay', path]);
    expect(status).toBe(12);
    expect(stderr).toContain('no policy is called later');
  });
});
