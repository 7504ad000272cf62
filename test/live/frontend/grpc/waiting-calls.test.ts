import type { ServerHttp2Stream } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { WaitingCalls } from '../../../../src/live/frontend/grpc/waiting-calls.js';

function stream(aborted: boolean, readableLength: number): ServerHttp2Stream {
  return { destroyed: false, aborted, readableLength } as ServerHttp2Stream;
}

describe('calls that wait for their turn', () => {
  it('are counted before it, 64 at a time, if they were given up before their message came', () => {
    let gaveUp = 0;
    const begun: number[] = [];
    const calls = new WaitingCalls(() => gaveUp++);
    for (let i = 0; i < 64; i++) calls.push(stream(i !== 10, i === 20 ? 5 : 0), () => begun.push(i));
    expect(gaveUp).toBe(62);
    calls.push(stream(true, 0), () => begun.push(64));
    calls.push(stream(false, 0), () => begun.push(65));
    expect([calls.begin(2), begun, gaveUp, calls.isAny]).toEqual([2, [10, 20], 63, true]);
    expect([calls.begin(2), begun, calls.isAny]).toEqual([1, [10, 20, 65], false]);
  });
});
