import { describe, expect, it } from 'vitest';
import { Bans } from '../../../../src/live/frontend/grpc/bans.js';

const reason = (bans: Bans, nowMs: number, client = 'a') => bans.refusalOf(client, nowMs)?.message ?? null;

/** After a flood at each of these times. */
function after(...floodsMs: readonly number[]): Bans {
  const bans = new Bans();
  for (const atMs of floodsMs) bans.add('a', atMs);
  return bans;
}

describe('a client', () => {
  it('comes in after one or two floods', () => {
    expect(reason(new Bans(), 0)).toBe(null);
    expect(reason(after(100), 100)).toBe(null);
    expect(reason(after(100, 100), 100)).toBe(null);
  });

  it('is kept out for 10 s by the third within 10 s, and no other is', () => {
    const bans = after(0, 5000, 9999);
    const message = 'connections from this address were closed for floods: try again in';
    expect(bans.refusalOf('a', 9999)).toMatchObject({ kind: 'flood', message: `${message} 10 s` });
    expect(reason(bans, 19_998)).toBe(`${message} 1 s`);
    expect(reason(bans, 19_999)).toBe(null);
    expect(reason(bans, 9999, 'b')).toBe(null);
  });

  it('comes in when three floods took longer', () => {
    expect(reason(after(0, 5000, 10_000), 10_000)).toBe(null);
    expect(reason(after(0, 11_000, 22_000, 33_000, 44_000), 44_000)).toBe(null);
    // The first of these is too old, the last three are not.
    expect(reason(after(0, 9000, 10_000, 11_000), 11_000)).not.toBe(null);
  });

  it('is kept out for longer by what its open connections do', () => {
    expect(reason(after(0, 0, 0, 6000), 15_999)).not.toBe(null);
    expect(reason(after(0, 0, 0, 6000), 16_000)).toBe(null);
  });
});

describe('looks', () => {
  it('forget neither a ban nor floods that still count', () => {
    const bans = after(0, 0);
    bans.look(9999);
    bans.add('a', 9999);
    expect(reason(bans, 9999)).not.toBe(null);
    bans.look(19_998);
    expect(reason(bans, 19_998)).not.toBe(null);
  });

  it('forget what is over, so that it holds no memory', () => {
    const bans = after(0, 0, 0);
    bans.add('b', 5000);
    const { clients } = bans as unknown as { clients: Map<string, unknown> };
    bans.look(14_999);
    expect([...clients.keys()]).toEqual(['b']);
    bans.look(15_000);
    expect(clients.size).toBe(0);
  });
});
