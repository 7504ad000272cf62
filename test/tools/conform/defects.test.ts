import { describe, expect, it } from 'vitest';
import { checkChosen, conform } from '../../../src/tools/conform/conform.js';
import { endpointAt, OPTIONS } from './endpoint.js';
import { openSmallGrpcServer } from './small-grpc-server.js';
import { openSmallServer } from './small-server.js';

const examine = async (defect?: string, only: readonly string[] = []) =>
  conform(endpointAt(await openSmallServer(defect), null), { ...OPTIONS, only });

/** What is wrong with a server, and the cases that must find it. */
const DEFECTS: readonly (readonly [defect: string, cases: readonly string[]])[] = [
  ['no-id', ['http.infer-id', 'robustness.at-once']],
  ['wrong-id', ['http.infer-id', 'robustness.at-once']],
  ['no-name', ['http.infer']],
  ['flat-only', ['http.infer-nested']],
  ['all-outputs', ['http.infer-outputs']],
  ['plain-errors', ['errors.bad-json', 'errors.unknown-model']],
  ['any-datatype', ['errors.unknown-datatype', 'errors.no-datatype']],
  ['any-length', ['errors.short-data', 'errors.long-data']],
  ['any-model', ['errors.unknown-model-ready', 'errors.unknown-model-metadata']],
  ['any-version', ['errors.unknown-version', 'errors.unknown-version-metadata']],
  ['never-binary', ['binary.output', 'binary.all-outputs', 'binary.both-ways']],
  ['big-endian', ['binary.output', 'binary.all-outputs', 'binary.both-ways']],
  ['spare-bytes', ['binary.error-long']],
  ['counts-nothing', ['statistics.counts']],
  ['batch-text', ['statistics.model']],
  ['config-types', ['configuration.model']],
  ['loads-anything', ['repository.load-unknown']],
  ['unload-does-nothing', ['repository.unload-load']],
  ['lowest-classes', ['classification.http']],
];

describe('a small server', () => {
  it('conforms', async () => {
    const { failed, cases, totals } = await examine();
    const reasons = cases
      .filter(({ result }) => result === 'fail')
      .map(({ id, reason }) => `${id}: ${reason}`);
    expect(failed, reasons.join('\n')).toEqual([]);
    expect(totals.pass).toBeGreaterThan(100);
  });

  it.each(DEFECTS)('does not with the defect %s, and the right cases say so', async (defect, wanted) => {
    // With their whole groups, where those are quick.
    const only = wanted.map((id) => (id.startsWith('robustness.') ? id : id.split('.')[0]!));
    const { failed } = await examine(defect, only);
    expect(failed).toEqual(expect.arrayContaining([...wanted]));
    // Neighbours may stumble over the same defect, but not everything does.
    expect(failed.length).toBeLessThan(30);
  });

  it.each([
    ['any-shape', 'errors.fixed-size'],
    ['all-outputs', 'errors.unknown-output'],
    ['any-datatype', 'errors.wrong-datatype'],
  ])('that accepts what the specification leaves open is advised not to: %s', async (defect, id) => {
    expect((await examine(defect, ['errors'])).advised).toContain(id);
  });

  it.each([
    ['any-priority', ['senders.unknown-priority']],
    ['no-reason', ['senders.unknown-priority']],
    ['wants-tenant', ['senders.unknown-tenant']],
    ['no-retry', ['senders.rate']],
    ['forbids', ['senders.rate']],
    ['', []],
  ])('that does not know who asks is advised to: %s', async (defect, wanted) => {
    const report = await conform(endpointAt(await openSmallServer(defect), null), {
      ...OPTIONS,
      only: ['senders'],
      senders: { priorities: [1, 2], tenantHeader: 'x-tenant', limitedTenant: 'small' },
    });
    expect([report.failed, report.advised]).toEqual([[], wanted]);
    expect(report.totals.skipped, 'without gRPC').toBe(2);
  });

  it.each([
    ['limits', 'skipped'],
    ['busy', 'fail'],
  ])('that refuses one of many requests at once: %s is %s', async (defect, wanted) => {
    const { cases } = await examine(defect, ['robustness.at-once']);
    expect(cases.find(({ id }) => id === 'robustness.at-once')?.result).toBe(wanted);
  });

  it('whose priorities and tenants are not known is not asked with any', async () => {
    const { cases } = await examine('', ['senders']);
    const reasonOf = (id: string) => cases.find((each) => each.id === id)?.reason;
    expect(reasonOf('senders.priority')).toBe('no --priority NUMBER');
    expect(reasonOf('senders.rate')).toBe('no --limited-tenant NAME');
  });

  it('that has an extension without announcing it promises nothing', async () => {
    const { failed, advised } = await examine('announces-nothing config-types', [
      'configuration',
      'statistics',
    ]);
    expect(failed).toEqual([]);
    expect(advised).toEqual([]);
    const { advised: counted } = await examine('announces-nothing counts-nothing', ['statistics']);
    expect(counted).toEqual(['statistics.counts']);
  });

  it('that blames itself for mistakes of clients is advised not to', async () => {
    const { failed, advised } = await examine('blames-itself', ['errors']);
    expect(failed).toEqual([]);
    expect(advised).toContain('errors.status');
  });

  it('is not blamed for mistakes that its model leaves no room for', async () => {
    const { cases } = await examine('any-shape free-sizes', ['errors']);
    const result = (id: string) => cases.find((each) => each.id === id)?.result;
    expect(result('errors.fixed-size')).toBe('skipped');
    expect(result('errors.status')).toBe('pass');
    const { cases: scalars } = await examine('scalars', ['errors.rank', 'errors.overflow-shape']);
    expect(scalars.map((each) => each.result)).toEqual(['pass', 'skipped']);
  });

  it('that describes itself wrongly is no server of the protocol', async () => {
    await expect(examine('no-list')).rejects.toThrow('"extensions" is "none", not a list of texts');
  });
});

/** The same over gRPC, next to an HTTP server that is right. */
const GRPC_DEFECTS: typeof DEFECTS = [
  ['', []],
  ['ready', ['grpc.unknown-model-ready']],
  ['metadata', ['grpc.model-metadata']],
  ['id', ['grpc.infer-id', 'grpc.infer-id-text']],
  ['raw-count', ['grpc.error-raw-count']],
  ['both', ['grpc.error-both-contents']],
  ['raw-size', ['grpc.error-raw-size']],
  ['wrong-sum', ['grpc.infer-raw', 'grpc.infer-typed', 'grpc.infer-outputs']],
];

describe('without gRPC', () => {
  const isRefused = (only: readonly string[]) => {
    try {
      checkChosen(only, null);
      return false;
    } catch (error) {
      expect(error).toMatchObject({ code: 'E_USAGE' });
      return true;
    }
  };

  it('a choice of nothing but its cases is refused, and exactly that', async () => {
    const { cases } = await examine();
    const skipped = cases.filter(({ reason }) => reason === 'no --grpc HOST:PORT').map(({ id }) => id);
    expect(skipped.length).toBeGreaterThan(30);
    expect(cases.map(({ id }) => id).filter((id) => isRefused([id]))).toEqual(skipped);
    expect(isRefused(['grpc', 'statistics.grpc'])).toBe(true);
    expect(isRefused(['grpc', 'http.live'])).toBe(false);
    expect(isRefused([])).toBe(false);
    expect(() => checkChosen(['grpc'], '127.0.0.1:1')).not.toThrow();
  });
});

describe('a small gRPC server', () => {
  const examineGrpc = async (defect: string) => {
    const endpoint = endpointAt(await openSmallServer(), await openSmallGrpcServer(defect));
    return conform(endpoint, { ...OPTIONS, only: ['grpc'] });
  };

  it.each(GRPC_DEFECTS)('fails with the defect "%s" exactly the right cases', async (defect, wanted) => {
    expect((await examineGrpc(defect)).failed).toEqual(wanted);
  });

  it('that takes any priority is advised not to', async () => {
    const port = await openSmallServer();
    const only = ['senders.grpc-unknown-priority'];
    const examined = async (defect: string) =>
      conform(endpointAt(port, await openSmallGrpcServer(defect)), { ...OPTIONS, only });
    expect((await examined('priority')).advised).toEqual(only);
    expect((await examined('')).advised).toEqual([]);
  });

  it.each([
    ['', 'pass'],
    // What batches on GPUs may change, and what they may not.
    ['off-by 0.005', 'pass'],
    ['off-by 0.02', 'fail'],
    ['inputs-of-another', 'fail'],
    ['constant', 'skipped'],
  ])('with the defect "%s" answers requests on a stream: %s', async (defect, result) => {
    const endpoint = endpointAt(await openSmallServer(defect), await openSmallGrpcServer(defect));
    const { cases } = await conform(endpoint, { ...OPTIONS, only: ['grpc.stream'] });
    expect(cases.map(({ id, result: got }) => [id, got])).toEqual([['grpc.stream', result]]);
    if (defect.startsWith('off-by') && result === 'fail')
      expect(cases[0]!.reason).toMatch(
        /^output "double" .* is .* and .*, more than 1 % of the largest apart$/,
      );
  });

  it('that confuses the order of a stream is advised not to', async () => {
    expect((await examineGrpc('order')).advised).toContain('grpc.stream-order');
    expect((await examineGrpc('')).advised).toEqual([]);
  });
});
