import { deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  packAddress,
  type Setup,
  setupFromJson,
  setupToJson,
  unpackAddress,
} from '../../../src/play/share/address.js';
import { rejection } from '../../config/failure.js';

const SETUP: Setup = {
  file: 'experiment.yaml',
  text: 'models: { kind: zoo, varieties: 3 }\nworkload: { kind: poisson, rate: 300/s, duration: 1s }\n',
  overrides: ['slo=25ms'],
  lanes: [['policy.kind=edf'], []],
  files: {},
};

/** An address of version 1 that was shared once: it has to stay readable. */
const SHARED_ADDRESS =
  '1.RY7LCsIwEEV_Zbjr4BM3A35J7SKYEQbTTMnE-ij9d1EXbi_nHO6MSaqrFfA24KJZwJDHKFUHKW31jENGQJNHA2OwJNmZZrpqSUwvs0BTrCpNxZn2tJzK3eo1W0x_bDR1txKoxiZM-81m7YHSrcamVpi2_vEQYJPUqkkc3MGzHXeHwdEH5Fi-Y4fRsp6fq0_4KOmCPnR9_3vu4HlZ3g';

const json = (changes: object) => JSON.stringify({ ...JSON.parse(setupToJson(SETUP)), ...changes });
const packed = (text: string) => `1.${deflateRawSync(text).toString('base64url')}`;

describe('an address', () => {
  it('holds a whole setup, with files as text or bytes', async () => {
    const bytes = new Uint8Array(gzipSync('arrival_ns,model_id,slo_ns\n'));
    for (const setup of [
      SETUP,
      { ...SETUP, files: { 'traces/a.csv.gz': bytes, 'profile.json': '{}' }, digests: ['0123456789abcdef'] },
    ])
      expect(await unpackAddress(await packAddress(setup))).toEqual(setup);
  });

  it('is short where the experiment is', async () => {
    expect((await packAddress(SETUP)).length).toBeLessThan(300);
  });

  it('holds any text', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.string(), async (text, override) => {
        const setup = { ...SETUP, text, overrides: [override], files: { [`f${override}`]: text } };
        expect(await unpackAddress(await packAddress(setup))).toEqual(setup);
      }),
    ));

  it('is refused with one line where it is not what the page made', async () => {
    const whole = await packAddress(SETUP);
    for (const [address, message] of [
      ['2.abc', 'was not made by this page, or by a later version of it'],
      ['1.%%%', 'is damaged: copy it again, whole'],
      [whole.slice(0, -10), 'is damaged or holds too much: copy it again, whole'],
      [packed('{'), 'is damaged: copy it again, whole'],
      [packed('[]'), 'holds no experiment'],
      [packed(json({ version: 7 })), 'is of version 7, this page reads version 1'],
      [packed(json({ text: 1 })), 'holds no experiment'],
      [packed(json({ lanes: [] })), 'lanes must be one or two lists of texts'],
      [packed(json({ lanes: [[], [], []] })), 'lanes must be one or two lists of texts'],
      [packed(json({ overrides: [1] })), 'overrides must be a list of texts'],
      [packed(json({ files: { a: 1 } })), 'each of its files must be a text or bytes'],
      [packed(json({ files: { a: { base64: '%' } } })), 'each of its files must be a text or bytes'],
      [packed(json({ digests: 'x' })), 'digests must be a list of texts'],
      [packed('x'.repeat(5_000_000)), 'is damaged or holds too much: copy it again, whole'],
    ] as const)
      expect(await rejection(unpackAddress(address)), address.slice(0, 40)).toMatchObject({
        code: 'E_CONFIG_VALUE',
        message: `the address: ${message}`,
      });
  });

  it('survives any text', () =>
    fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        for (const address of [text, `1.${text}`, packed(text)])
          expect((await rejection(unpackAddress(address))).code).toBe('E_CONFIG_VALUE');
      }),
    ));

  it('of earlier pages stays readable', async () => {
    expect(await unpackAddress(SHARED_ADDRESS)).toEqual(SETUP);
  });
});

describe('the JSON of a setup', () => {
  it('is the same for the same files in another order', () => {
    const [a, b] = ['a', 'b'];
    expect(setupToJson({ ...SETUP, files: { a, b } })).toBe(setupToJson({ ...SETUP, files: { b, a } }));
    expect(setupFromJson(setupToJson(SETUP), 'the page')).toEqual(SETUP);
  });
});
