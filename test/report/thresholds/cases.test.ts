import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseThreshold } from '../../../src/record/threshold.js';
import {
  junitXml,
  sweepCases,
  type ThresholdCase,
  thresholdLines,
} from '../../../src/report/thresholds/cases.js';
import { sweepFixture } from '../fixtures.js';

const FAILED = 'policy.scheduleAhead=5ms slo=10ms seed=1';
const SWEEP = sweepFixture({ seeds: [1], failed: [FAILED] });
const THRESHOLDS = ['goodputRps>0', 'executedP99<=10ms', 'p99<1h'].map((text) => parseThreshold(text));
const CASES = sweepCases(THRESHOLDS, SWEEP);

/** A threshold that is met, with other fields as given. */
function one(fields: Partial<ThresholdCase>): ThresholdCase {
  return { ...{ run: '', threshold: 'p99<1s', ok: true, actual: 94, measured: '94 ms' }, ...fields };
}

describe('thresholds of a sweep', () => {
  it('are held against each cell; one that failed meets none', () => {
    expect(CASES).toHaveLength(3 * SWEEP.cells.length);
    expect(CASES.filter(({ run }) => run === FAILED).map(({ ok }) => ok)).toEqual([false, false, false]);
    const [goodput, executed] = THRESHOLDS.map(({ text }) =>
      CASES.filter(({ threshold }) => threshold === text),
    );
    expect(goodput?.filter(({ ok }) => !ok).map(({ run }) => run)).toEqual([FAILED]);
    expect(executed?.find(({ run }) => run.includes('slo=500ms'))).toMatchObject({ ok: false });
    expect(executed?.find(({ run }) => run.includes('slo=10ms'))).toMatchObject({ ok: true });
  });
});

describe('thresholds in a terminal', () => {
  it('have a line each, and one for each cell that misses it', () => {
    const cases = [
      one({ run: 'a' }),
      one({ run: 'b', ok: false, measured: '2 s' }),
      one({ run: 'c', ok: false, error: 'E: x' }),
    ];
    expect(thresholdLines([...cases, one({ run: 'a', threshold: 'ok>1' })])).toEqual([
      '✗ p99<1s: missed in 2 of 3 runs',
      '✗ p99<1s: 2 s with b',
      '✗ p99<1s: failed (E: x) with c',
      '✓ ok>1: in all 1 runs',
    ]);
    expect(thresholdLines([one({}), one({ ok: false, measured: 'never' })])).toEqual([
      '✓ p99<1s: 94 ms',
      '✗ p99<1s: never',
    ]);
  });
});

describe('JUnit XML', () => {
  it('has a test case for each threshold and run, a failure for a miss and an error for a failed run', () => {
    const elements = readXml(junitXml({ command: 'sweep', name: 'a & b', cases: CASES }));
    const tests = String(CASES.length);
    const failures = String(CASES.filter(({ ok, error }) => !ok && error === undefined).length);
    expect(elements[1]).toEqual({
      tag: 'testsuite',
      attributes: { name: 'escapement sweep: a & b', tests, failures, errors: '3' },
    });
    const count = (tag: string) => String(elements.filter((element) => element.tag === tag).length);
    expect([count('testcase'), count('failure'), count('error')]).toEqual([tests, failures, '3']);
    expect(elements.find(({ tag }) => tag === 'error')?.attributes.message).toMatch(/^E_MODEL_TOO_LARGE: /);
  });

  it('is well-formed whatever names and messages hold, and gives them back', () => {
    const special = fc.constantFrom('<', '>', '&', '"', "'", ']]>', '\n', '\t', '\u0001', '\ud800', '\uffff');
    const unit = fc.oneof(special, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }));
    const text = fc.string({ unit, maxLength: 30 });
    fc.assert(
      fc.property(text, text, fc.boolean(), (name, measured, ok) => {
        const xml = junitXml({ command: 'simulate', name, cases: [one({ ok, measured })] });
        const [, suite] = readXml(xml);
        const held = [...name].map((char) => (isXml(char.codePointAt(0)!) ? char : '\ufffd')).join('');
        expect(suite?.attributes.name).toBe(`escapement simulate: ${held}`);
      }),
    );
  });
});

/** The attributes and texts of an XML document, unescaped. Throws where it is not well-formed. */
function readXml(text: string): { tag: string; attributes: Record<string, string> }[] {
  const found: { tag: string; attributes: Record<string, string> }[] = [];
  const open: string[] = [];
  const body = text.replace('<?xml version="1.0" encoding="UTF-8"?>', '');
  const token = /<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>|([^<]+)/gy;
  while (token.lastIndex < body.length) {
    const [, close, tag, attributes, empty, words] = token.exec(body) ?? [];
    if (words !== undefined) {
      unescaped(words);
      continue;
    }
    if (tag === undefined) throw new Error(`not well-formed: ${body}`);
    if (close === '/') expect(open.pop()).toBe(tag);
    else {
      const pairs = [...(attributes ?? '').matchAll(/ ([a-z]+)="([^"]*)"/g)];
      found.push({
        tag,
        attributes: Object.fromEntries(pairs.map(([, name, value]) => [name, unescaped(value!)])),
      });
      if (empty !== '/') open.push(tag);
    }
  }
  expect(open).toEqual([]);
  return found;
}

function unescaped(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
  const rest = text.replace(/&(?:(amp|lt|gt|quot|apos)|#(\d+));/g, '');
  expect(rest).not.toContain('&');
  return text.replace(
    /&(?:(amp|lt|gt|quot|apos)|#(\d+));/g,
    (_, name, code) => named[name] ?? String.fromCharCode(code),
  );
}

/** The production Char of XML 1.0. */
function isXml(code: number): boolean {
  const inPlane = code >= 0x20 && code < 0xfffe && (code < 0xd800 || code > 0xdfff);
  return [0x9, 0xa, 0xd].includes(code) || inPlane || code > 0xffff;
}
