import { describe, expect, it } from 'vitest';
import { runTop } from '../../../src/tools/top/run-top.js';
import { FakeTerminal } from './fake-terminal.js';
import { clusterStatus } from './fixtures.js';
import { statusServer } from './status-server.js';

const OFTEN = { interval: 5 };

/** Top on a terminal of 80×24, looking five hundred times a second. */
function started(url: string, terminal = new FakeTerminal(80, 24)) {
  const quit = new AbortController();
  const { output } = terminal;
  const ended = runTop({ url, intervalMs: 2, access: {}, output, quit: quit.signal });
  const shows = (text: string) => expect.poll(() => terminal.lines.join('\n'), OFTEN).toContain(text);
  return { terminal, ended, shows, quit };
}

describe('top on a terminal', () => {
  it('shows what is new, on as many rows as there are, until it is stopped', async () => {
    let offeredRps = 100;
    const { url } = await statusServer(() => {
      return { status: 200, body: JSON.stringify({ ...clusterStatus(1, 30), offeredRps }) };
    });
    const { terminal, ended, shows, quit } = started(url);
    await shows('offered 100/s');
    expect(terminal.lines).toHaveLength(23);
    offeredRps = 555;
    await shows('offered 555/s');
    terminal.resize(60, 15);
    await expect.poll(() => terminal.lines, OFTEN).toHaveLength(14);
    expect(Math.max(...terminal.lines.map(({ length }) => length))).toBe(60);
    quit.abort();
    await ended;
  });

  it('says that the controller has gone, and goes on when it is back', async () => {
    const answer = () => ({ status: 200, body: JSON.stringify(clusterStatus(1, 1)) });
    const { url, port, close } = await statusServer(answer);
    const { terminal, ended, shows, quit } = started(url);
    await shows('ready');
    await close();
    await shows('NO ANSWER FOR 0 S, TRYING AGAIN');
    await statusServer(answer, port);
    await expect.poll(() => terminal.lines[0], OFTEN).toMatch(/^ready: /);
    quit.abort();
    await ended;
  });
});
