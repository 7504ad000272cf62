import { describe, expect, it } from 'vitest';
import { percentilesOf } from '../../src/record/figures.js';
import { checkThreshold, parseThreshold, refuseUnknownParts } from '../../src/record/threshold.js';
import { SUMMARY } from './fixtures.js';

const check = (text: string, summary = SUMMARY) => checkThreshold(parseThreshold(text), summary);

function senderFigures(name: string, goodputRps: number) {
  const requests = { offered: 100, ok: 80, late: 0, timeout: 0, rejected: 20, error: 0 };
  const latency = { mean: 6, p50: 5, p90: 9, p95: 9.5, p99: 99, p999: 99.9, p9999: 100, max: 100 };
  const latencies = { offeredLatencyMs: latency, executedLatencyMs: latency };
  const rates = { offeredRps: goodputRps * 1.25, goodputRps, attainment: 0.8 };
  return { key: name, weight: 1, share: 0, gpuShare: 1, requests, ...rates, ...latencies };
}

describe('thresholds', () => {
  it.each([
    ['p95<100ms', true],
    ['p95<94ms', false],
    ['p95 <= 0.094s', true],
    ['attainment>=0.95', true],
    ['goodputRps>47', true],
    ['goodputRps>48/s', false],
    ['timeout<=2.5%', true],
    ['timeout<26', true],
    ['execUtilization<80%', false],
    ['worstModelAttainment>=50%', true],
    ['modelsBelow50<1', true],
    // 2 of the 12 that were judged.
    ['modelsBelow90<16%', false],
    ['modelsBelow90<17%', true],
    ['timedOutCold<=1%', true],
  ])('%s is %s', (text, ok) => {
    expect(check(text).ok).toBe(ok);
  });

  it('fail where there is nothing to measure', () => {
    const none = { ...SUMMARY.executedLatencyMs, p99: null };
    expect(check('executedP99<1h', { ...SUMMARY, executedLatencyMs: none })).toMatchObject({
      ok: false,
      actual: null,
    });
    const empty = { offered: 0, ok: 0, late: 0, timeout: 0, rejected: 0, error: 0 };
    expect(check('timeout<1%', { ...SUMMARY, requests: empty }).ok).toBe(false);
    const { failures: _, ...ofClient } = SUMMARY;
    expect(check('workerLost<1', ofClient).ok).toBe(false);
    expect(check('p99<1h', { ...SUMMARY, requests: empty })).toMatchObject({ ok: false, actual: null });
  });

  it.each([
    'offered<1',
    'goodputRps<1',
    'attainment>=0',
    'p99<1h',
    'modelsBelow50<1',
    'rareModelsAttainment>=0',
    'execUtilization<1',
  ])('%s fails in the same words where nothing was offered', (text) => {
    const requests = { offered: 0, ok: 0, late: 0, timeout: 0, rejected: 0, error: 0 };
    const result = check(text, { ...SUMMARY, requests, attainment: 0, goodputRps: 0 });
    expect(result).toEqual({
      threshold: text,
      ok: false,
      actual: null,
      measured: 'no requests were offered',
    });
  });

  it.each(['worstModelAttainment>=0', 'modelsBelow50<1', 'modelsBelow90<=100%'])(
    '%s is unknown where most requests are of models that were not judged',
    (text) => {
      const rare = (offered: number, models = 303) => ({ models, offered, attainment: 0.4 });
      const starved = { ...SUMMARY, modelsBelow90: 0, modelsAssessed: 2 };
      expect(check(text, { ...starved, rareModels: rare(500) })).toMatchObject({ ok: true });
      expect(check(text, { ...starved, rareModels: rare(501) })).toMatchObject({
        ok: false,
        actual: null,
        measured: 'cannot tell: only 2 of 305 models had 20 requests',
      });
      const none = { ...starved, worstModel: null, modelsAssessed: 0, rareModels: rare(36, 5) };
      expect(check(text, none)).toMatchObject({
        ok: false,
        measured: 'cannot tell: no model had 20 requests',
      });
    },
  );

  it('on a latency fail where it falls on a request that was not answered in time', () => {
    expect(check('executedP99<1h').ok).toBe(true);
    expect(check('p99<1h')).toEqual({
      threshold: 'p99<1h',
      ok: false,
      actual: Number.POSITIVE_INFINITY,
      measured: 'never: 5 % of the requests were not answered in time',
    });
  });

  it('take any percentile of either reading, which the run must be asked for', () => {
    const percentiles = [
      { percentile: 12.5, offeredMs: 20, executedMs: 30 },
      { percentile: 99.95, offeredMs: null, executedMs: 107 },
    ];
    const summary = { ...SUMMARY, percentiles };
    expect(check('p12.5<=20ms', summary).ok).toBe(true);
    expect(check('executedP12.5<=20ms', summary)).toMatchObject({ ok: false, actual: 30 });
    expect(check('p99.95<1h', summary)).toMatchObject({ ok: false, actual: Number.POSITIVE_INFINITY });
    expect(check('executedP99.95<108ms', summary).ok).toBe(true);
    expect(() => check('p12.4<1s', summary)).toThrow(/asked for its percentile 12\.4/);
    const texts = ['executedP99.95<1s', 'p7<1s', 'p99<1s', 'p99.90<1s', 'timeout<1%', 'p99.95<1s', 'p999<1s'];
    expect(percentilesOf(texts.map((text) => parseThreshold(text).metric))).toEqual([7, 99.95]);
  });

  it('hold for one class or tenant', () => {
    const by = { model: [], class: [senderFigures('gold', 40)], tenant: [senderFigures('a.b', 10)] };
    const summary = { ...SUMMARY, by };
    expect(check('class.gold.goodputRps>30', summary)).toMatchObject({ ok: true, actual: 40 });
    expect(check('tenant.a.b.goodputRps>30', summary)).toMatchObject({ ok: false, actual: 10 });
    expect(check('tenant.a.b.p99.9<1s', summary)).toMatchObject({ actual: 99.9 });
    expect(check('tenant.a.b.executedP50<1s', summary)).toMatchObject({ actual: 5 });
    expect(check('tenant.a.b.rejected<10%', summary)).toMatchObject({ ok: false, actual: 0.2 });
    expect(check('tenant.gold.ok>1', summary).measured).toBe('the run has no tenant gold');
    const { executedLatencyMs, ...others } = senderFigures('gold', 0);
    const none = { attainment: null, requests: { ...SUMMARY.requests, offered: 0, ok: 0 } };
    const silent = { ...others, ...none, executedLatencyMs: { ...executedLatencyMs, p99: null } };
    for (const threshold of [
      'class.gold.attainment<1%',
      'class.gold.executedP99<1s',
      'class.gold.rejected<5',
    ])
      expect(check(threshold, { ...SUMMARY, by: { model: [], class: [silent] } })).toMatchObject({
        ...{ ok: false, actual: null, measured: 'the class gold had no requests' },
      });
  });

  it.each([
    ['class.gold.ok>1', null],
    ['ok>1', null],
    ['class.acme.ok>1', 'no class is called acme; the experiment has gold'],
    ['tenant.gold.ok>1', 'the experiment has no tenants'],
    ['model.resnet.ok>1', 'no model is called resnet; did you mean resnet50?'],
    ['kind.t4.execUtilization<1', 'the experiment has no kinds of GPUs'],
  ])('%s: what an experiment without the part has instead is %s', (text, problem) => {
    const none = { group: [], tenant: [], length: [], pipeline: [], step: [], kind: [] };
    const names = { ...none, class: ['gold'], model: ['resnet50'] };
    const check = () => refuseUnknownParts([parseThreshold(text)], [names], 'threshold');
    if (problem === null) expect(check).not.toThrow();
    else expect(check).toThrow(problem);
  });

  it.each([
    ['q98<100ms', /unknown figure q98; write for example p99, attainment, .*slos-in-ci\.md lists all/],
    ['goodput>5', /unknown figure goodput; did you mean goodputRps or weightedGoodputRps\?/],
    ['utilization<80%', /unknown figure utilization; did you mean execUtilization or weightsUtilization\?/],
    ['class.gold.goodput>5', /unknown figure class\.gold\.goodput; did you mean goodputRps\?/],
    [
      'class.gold.speed>5',
      /a class has p50, p90, p95, p99, p99\.9, p99\.99, executedP50, .*attainment, .*gpuShare/,
    ],
    ['tenant.acme.speed>5%', /a tenant has p50, .*attainment, .*overRate, overShare/],
    [
      'class.gold.execUtilization<50%',
      /unknown figure class.gold.execUtilization; a class has p50, .*gpuShare$/,
    ],
    ['executedP999<100ms', /executedP999: a percentile is above 0/],
    ['p101<100ms', /p101: a percentile is above 0 and at most 100/],
    ['executedP0.0<100ms', /executedP0\.0: a percentile is above 0/],
    ['ok<1e400', /the limit is too large/],
    ['p50<1e308h', /the limit is too large/],
    ['attainment>=101%', /a share is at most 100%/],
    ['p99<100', /a latency needs a unit: ns, us, ms, s, m, h/],
    ['goodputRps>5%', /cannot have the unit %/],
    ['attainment>=99', /did you mean 99%/],
    ['p99=100ms', /must be FIGURE/],
    ['p99<fast', /must be FIGURE/],
    ['toString<1', /unknown figure toString/],
  ])('%s is a usage error', (text, message) => {
    expect(() => parseThreshold(text)).toThrow(
      expect.objectContaining({ code: 'E_USAGE', message: expect.stringMatching(message) }),
    );
  });
});
