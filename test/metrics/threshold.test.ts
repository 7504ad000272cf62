import { describe, expect, it } from 'vitest';
import { checkThreshold, parseThreshold } from '../../src/metrics/threshold.js';
import { SUMMARY } from './fixtures.js';

const check = (text: string, summary = SUMMARY) => checkThreshold(parseThreshold(text), summary);

describe('thresholds', () => {
  it.each([
    ['p99<100ms', true],
    ['p99<94ms', false],
    ['p99<=94ms', true],
    ['p99 <= 0.094s', true],
    ['max>99500us', false],
    ['sloAttainment>=0.95', true],
    ['sloAttainment>=95.1%', false],
    ['goodputRps>47', true],
    ['goodputRps>48/s', false],
    ['timeout<=2.5%', true],
    ['timeout<2.5%', false],
    ['timeout<26', true],
    ['error<=0', true],
    ['coldStarts<1%', false],
    ['execUtilization<80%', false],
  ])('%s is %s', (text, ok) => {
    expect(check(text).ok).toBe(ok);
  });

  it('say what was measured', () => {
    expect(check('p99<90ms').text).toBe('p99<90ms: not met, p99 is 94ms');
    expect(check('timeout<3%')).toEqual({
      ok: true,
      actual: 0.025,
      text: 'timeout<3%: met, timeout is 2.5%',
    });
    expect(check('goodputRps>40').text).toBe('goodputRps>40: met, goodputRps is 47.5/s');
  });

  it('fail where there is nothing to measure', () => {
    const none = { ...SUMMARY.latencyMs, p99: null };
    expect(check('p99<1h', { ...SUMMARY, latencyMs: none })).toMatchObject({ ok: false, actual: null });
    const empty = { offered: 0, ok: 0, late: 0, timeout: 0, rejected: 0, error: 0 };
    expect(check('timeout<1%', { ...SUMMARY, requests: empty }).ok).toBe(false);
  });

  it.each([
    ['p98<100ms', /no metric p98; known are mean, p50, .*goodputRps/],
    ['p99<100', /a latency needs a unit: ns, us, ms, s, m, h/],
    ['p99<100%', /needs a unit/],
    ['goodputRps>5%', /unit % does not fit/],
    ['sloAttainment>=99', /did you mean 99%/],
    ['p99=100ms', /is not METRIC/],
    ['p99<fast', /is not METRIC/],
    ['toString<1', /no metric toString/],
  ])('%s is a usage error', (text, message) => {
    expect(() => parseThreshold(text)).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringMatching(message) }),
    );
  });
});
