import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { header, type Recording, record } from '../../live/journal/fixtures.js';
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

  it('prints what the run was, and that the digests agree', async () => {
    const { status, stdout, stderr } = await runCli(['replay', recording.path]);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('cluster   2 GPUs, 6 models, 22 pages');
    expect(stdout).toContain('policy    clockwork, admission by prediction');
    expect(stdout).toContain(`requests  ${recording.requests}\n`);
    expect(stdout).toContain(`digest    ${recording.digest}\n`);
    expect(stdout).toContain(`recorded  ${recording.digest}, the same\n`);
  });

  it('lists late requests, and shows the course of one', async () => {
    const list = await runCli(['replay', recording.path, '--late', '--limit', '3', '--json']);
    expect(list.status).toBe(0);
    const facts = JSON.parse(list.stdout);
    expect(facts).toMatchObject({ digest: recording.digest, truncated: false, requests: recording.requests });
    expect(facts.late).toHaveLength(3);
    expect(Object.keys(facts.outcomes)).toEqual(['ok', 'late', 'timeout', 'rejected', 'error']);
    const [{ request, model, outcome }] = facts.late;

    const text = await runCli(['replay', recording.path, '--late', '--limit', '3']);
    expect(text.stdout).toMatch(new RegExp(`^ +${request} +${model} +${outcome} `, 'm'));
    expect(text.stdout).toMatch(/^and \d+ more; a higher --limit shows them$/m);

    const story = await runCli(['replay', recording.path, '--request', String(request)]);
    expect(story.stdout).toContain(`\nrequest ${request} for ${model}, user `);
    expect(story.stdout).toMatch(new RegExp(`answered: ${outcome}\n(?:[^]*\n)?why\n {2}\\S`));

    const json = await runCli(['replay', recording.path, '--request', String(request), '--json']);
    const { flight } = JSON.parse(json.stdout);
    expect(flight).toMatchObject({ request, model, answer: { outcome } });
    expect(flight.why.length).toBeGreaterThan(0);
  });

  it('shows the course of each request of a trace', async () => {
    const id = '4bf92f3577b34da6a3ce929d0e0e4736';
    const wanted = [2, 5];
    let request = -1;
    const lines = whole.split('\n').flatMap((line) => {
      if (!line.startsWith('o ')) return line;
      request++;
      const trace = wanted.includes(request) ? id : id.replace('4b', '5b');
      return [line, `w 00-${trace}-00f067aa0ba902b${request % 10}-01`];
    });
    const path = changed('traced', lines.join('\n'));
    const numbers = async (...args: string[]) => {
      const { stdout, stderr } = await runCli(['replay', path, '--json', ...args]);
      expect(stderr).toBe('');
      return JSON.parse(stdout).flights.map(({ request }: { request: number }) => request);
    };
    expect(await numbers('--trace', id)).toEqual(wanted);
    expect(await numbers('--trace', `00-${id.toUpperCase()}-00f067aa0ba902b7-01`)).toEqual(wanted);
    expect(await numbers('--trace', id, '--limit', '1')).toEqual([2]);
    const { stdout } = await runCli(['replay', path, '--trace', id]);
    for (const number of wanted) expect(stdout).toContain(`\nrequest ${number} for `);
  });

  it.each([
    [['--trace', 'f'.repeat(32)], /no request of the journal belongs to it/],
    [['--trace', '123'], /must be a trace id, 32 hexadecimal digits, or a whole traceparent/],
    [['--trace', 'f'.repeat(32), '--request', '1'], /--request and --trace cannot be combined/],
  ])('says why it cannot explain %j', async (args, why) => {
    const { status, stderr } = await runCli(['replay', recording.path, ...args]);
    expect(status).toBe(2);
    expect(stderr).toMatch(why);
  });

  it('knows models that came later by their names', async () => {
    const [first, ...rest] = whole.split('\n');
    const { models, ...head } = JSON.parse(first);
    const empty = JSON.stringify({ ...head, models: [], spareModels: 6, spareBatch: 16 });
    const came = [...models.map((model: object, i: number) => `p ${i} ${JSON.stringify(model)}`), 's 0'];
    const offers = rest.filter((line) => line.startsWith('o ')).slice(0, 3);
    const path = changed('served', [empty, ...came, ...offers, 's 9000000000', ''].join('\n'));
    const { status, stdout, stderr } = await runCli(['replay', path, '--late']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('cluster   2 GPUs, 6 models, 22 pages');
    expect(stdout).toMatch(/^ +0 +resnet50-\d +(timeout|rejected) /m);
    const json = await runCli(['replay', path, '--late', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      models: 6,
      late: [{ model: expect.stringMatching(/^resnet50-/) }, {}, {}],
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

  it('replays what there is of a journal that was cut off, and says so', async () => {
    const path = changed('cut', whole.slice(0, whole.length / 2));
    const { status, stdout } = await runCli(['replay', path]);
    expect(status).toBe(0);
    expect(stdout).toContain(
      'recorded   none: the journal is incomplete, as its process was killed or still runs; replayed up to its last whole line\n',
    );
    expect(stdout).toMatch(/^no answer {2}\d+ requests at the end of the journal$/m);
  });

  it('names the line that is wrong', async () => {
    const lines = whole.split('\n');
    const path = changed('corrupt', lines.with(9, 'o 1 2').join('\n'));
    const { status, stderr } = await runCli(['replay', path]);
    expect(status).toBe(46);
    expect(stderr).toBe(
      `escapement: E_JOURNAL: ${path}:10: is malformed: has 3 fields where a line "o" has 5\n`,
    );
  });

  it('says which requests there are', async () => {
    const { status, stderr } = await runCli(['replay', recording.path, '--request', '999999']);
    expect(status).toBe(2);
    expect(stderr).toContain(`they are 0 to ${recording.requests - 1}`);
  });

  it('refuses a journal of a policy that it does not know', async () => {
    const path = changed('policy', whole.replace('"kind":"clockwork"', '"kind":"later"'));
    const { status, stderr } = await runCli(['replay', path]);
    expect(status).toBe(12);
    expect(stderr).toContain('no policy is called later');
  });
});
