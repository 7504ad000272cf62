import { describe, expect, it } from 'vitest';
import { ExecLine } from '../../../../src/live/worker/executor/protocol.js';

describe('ExecLine', () => {
  it('hands one INFER over and its end back, each once', () => {
    const executor = new ExecLine();
    const host = new ExecLine(executor.buffer);
    expect([host.asked, executor.takeEnd()]).toEqual([-1, null]);
    executor.ask(2 ** 40);
    expect([host.asked, executor.takeEnd()]).toEqual([2 ** 40, null]);
    const end = { status: 81, beginNs: 2 ** 52 + 1, endNs: 2 ** 52 + 2, copyInNs: 3, copyOutNs: 2 ** 40 };
    host.end(end);
    expect(host.asked).toBe(-1);
    expect(executor.takeEnd()).toEqual(end);
    expect([host.asked, executor.takeEnd()]).toEqual([-1, null]);
  });
});
