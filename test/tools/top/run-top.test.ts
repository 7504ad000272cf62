import { describe, expect, it, vi } from 'vitest';
import { runTop } from '../../../src/tools/top/run-top.js';
import { FakeTerminal } from './fake-terminal.js';
import { clusterStatus } from './fixtures.js';
import { statusServer } from './status-server.js';

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HANDLED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGCONT', 'exit'] as const;

const OFTEN = { interval: 5 };

const listeners = () => HANDLED.map((event) => process.listenerCount(event));

/** Top on a terminal of 80×24, looking five hundred times a second. */
function started(url: string, terminal = new FakeTerminal(80, 24)) {
  const { input, output } = terminal;
  const ended = runTop({ url, intervalMs: 2, token: null, trust: {}, input, output });
  const shows = (text: string) => expect.poll(() => terminal.lines.join('\n'), OFTEN).toContain(text);
  return { terminal, ended, shows };
}

describe('top on a terminal', () => {
  it('takes the screen, shows what is new, obeys keys and leaves the terminal as it was', async () => {
    let offeredRps = 100;
    const { url } = await statusServer(() => {
      return { status: 200, body: JSON.stringify({ ...clusterStatus(1, 30), offeredRps }) };
    });
    const before = listeners();
    const { terminal, ended, shows } = started(url);
    await shows('offered 100/s');
    expect(terminal.lines).toHaveLength(24);
    expect(terminal.written.startsWith(ENTER)).toBe(true);
    expect(terminal.raw).toEqual([true]);
    offeredRps = 555;
    await shows('offered 555/s');
    terminal.resize(60, 15);
    await expect.poll(() => terminal.lines, OFTEN).toHaveLength(15);
    terminal.type('\u0003');
    await ended;
    expect(terminal.written.endsWith(LEAVE)).toBe(true);
    expect(terminal.raw).toEqual([true, false]);
    expect(listeners()).toEqual(before);
  });

  it('says that the controller has gone, and goes on when it is back', async () => {
    const answer = () => ({ status: 200, body: JSON.stringify(clusterStatus(1, 1)) });
    const { url, port, close } = await statusServer(answer);
    const { terminal, ended, shows } = started(url);
    await shows('ready');
    await close();
    await shows('NO ANSWER FOR 0 S, TRYING AGAIN');
    await statusServer(answer, port);
    await expect.poll(() => terminal.lines[0], OFTEN).toMatch(/^ready: /);
    terminal.type('q');
    await ended;
  });

  it('leaves the terminal as it was at SIGTERM', async () => {
    const body = JSON.stringify(clusterStatus(1, 1));
    const { url } = await statusServer(() => ({ status: 200, body }));
    const { terminal, ended, shows } = started(url);
    await shows('ready');
    process.emit('SIGTERM');
    await ended;
    expect(terminal.written.endsWith(LEAVE)).toBe(true);
  });

  it.each([
    ['SIGHUP tells', () => process.emit('SIGHUP')],
    ['its input ends', ({ input }: FakeTerminal) => input.emit('end')],
    ['its input fails', ({ input }: FakeTerminal) => input.emit('error', new Error('EIO'))],
  ])('ends by SIGHUP where the terminal has gone, as %s', async (_, hangUp) => {
    // The process would not outlive it.
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    try {
      const body = JSON.stringify(clusterStatus(1, 1));
      const { url } = await statusServer(() => ({ status: 200, body }));
      const before = listeners();
      const { terminal, ended, shows } = started(url);
      await shows('ready');
      hangUp(terminal);
      await ended;
      expect(kill.mock.calls).toEqual([[process.pid, 'SIGHUP']]);
      // Without a listener the signal does what it does by default.
      expect(listeners()).toEqual(before);
      expect(terminal.written.endsWith(LEAVE)).toBe(true);
    } finally {
      kill.mockRestore();
    }
  });

  it('leaves the terminal as it was after a mistake of its own', async () => {
    const body = JSON.stringify(clusterStatus(1, 1));
    const { url } = await statusServer(() => ({ status: 200, body }));
    const { terminal, ended, shows } = started(url);
    await shows('ready');
    Object.defineProperty(terminal.output, 'columns', {
      get: () => {
        throw new Error('a mistake');
      },
    });
    await expect(ended).rejects.toThrow('a mistake');
    expect(terminal.written.endsWith(LEAVE)).toBe(true);
  });

  it('does not touch the terminal where there is no controller', async () => {
    const { url, close } = await statusServer(() => ({ status: 200, body: '' }));
    await close();
    const { terminal, ended } = started(url);
    await expect(ended).rejects.toMatchObject({ code: 'E_SERVER' });
    expect([terminal.written, terminal.raw]).toEqual(['', []]);
  });
});
