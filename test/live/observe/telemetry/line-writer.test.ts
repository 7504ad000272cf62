import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LineWriter } from '../../../../src/live/observe/telemetry/log.js';

/** Where lines go: a pipe with room for so many bytes. */
class Pipe {
  room = Number.POSITIVE_INFINITY;
  text = '';

  take(bytes: Buffer): number {
    if (this.room === 0) throw Object.assign(new Error('no room'), { code: 'EAGAIN' });
    const taken = bytes.subarray(0, this.room);
    this.room -= taken.length;
    this.text += taken;
    return taken.length;
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }
}

function open() {
  const pipe = new Pipe();
  const writer = new LineWriter((bytes) => pipe.take(bytes));
  const dropped: number[] = [];
  writer.onDropped = (lines) => dropped.push(lines);
  return { pipe, writer, dropped };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

describe('LineWriter', () => {
  it('writes at once while there is room', () => {
    const { pipe, writer } = open();
    writer.write('one\n');
    expect(pipe.lines).toEqual(['one']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('goes on where it stopped, in order, once there is room again', () => {
    const { pipe, writer, dropped } = open();
    pipe.room = 6;
    for (const line of ['first\n', 'second\n', 'third\n']) writer.write(line);
    expect(pipe.text).toBe('first\n');
    pipe.room = 3;
    vi.advanceTimersByTime(50);
    expect(pipe.text).toBe('first\nsec');
    pipe.room = Number.POSITIVE_INFINITY;
    vi.advanceTimersByTime(50);
    expect(pipe.lines).toEqual(['first', 'second', 'third']);
    expect(dropped).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('drops what comes when a mebibyte waits, and says how many lines that were', () => {
    const { pipe, writer, dropped } = open();
    pipe.room = 10;
    const line = `${'x'.repeat(1023)}\n`;
    for (let i = 0; i < 2000; i++) writer.write(line);
    expect(pipe.text.length).toBe(10);
    pipe.room = Number.POSITIVE_INFINITY;
    vi.advanceTimersByTime(50);
    expect(pipe.lines.every((each) => each === line.trimEnd())).toBe(true);
    // Of the first, ten bytes have gone before.
    expect(pipe.lines).toHaveLength(1024);
    expect(dropped).toEqual([2000 - 1024]);
  });

  it('writes a line of any size where nothing else waits', () => {
    const { pipe, writer } = open();
    pipe.room = 5;
    writer.write(`${'x'.repeat(3_000_000)}\n`);
    pipe.room = Number.POSITIVE_INFINITY;
    vi.advanceTimersByTime(50);
    expect(pipe.lines).toEqual(['x'.repeat(3_000_000)]);
  });
});
