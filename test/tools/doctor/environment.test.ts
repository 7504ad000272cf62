import { describe, expect, it } from 'vitest';
import { CONTAINER, find, LAPTOP, MAC, read, SERVER, statuses } from './hosts.js';

function check(id: string, env: Record<string, string>) {
  return find(read({ env }, { device: 'cuda' }), `environment.${id}`);
}

it('finds nothing to fix on a server', () => {
  expect(new Set(Object.values(statuses(read(SERVER), 'environment.')))).toEqual(new Set(['ok']));
});

it('leaves CUDA out where there is none, and glibc where there is another library', () => {
  expect(statuses(read(LAPTOP), 'environment.')).toEqual({
    'environment.allocator': 'failed',
    'environment.cuda-cache': 'skipped',
    'environment.cuda-jit': 'skipped',
  });
  for (const host of [CONTAINER, MAC]) {
    expect(find(read(host), 'environment.allocator').status).toBe('skipped');
  }
});

describe('the allocator', () => {
  it.each<[Record<string, string>, string, string]>([
    [{}, 'failed', 'neither is set'],
    [
      { MALLOC_MMAP_THRESHOLD_: '131072' },
      'failed',
      'MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_ is not set',
    ],
    [
      { MALLOC_MMAP_THRESHOLD_: '33554432', MALLOC_TRIM_THRESHOLD_: '0' },
      'failed',
      'MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=0',
    ],
    [
      { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '0' },
      'ok',
      'MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=0',
    ],
    [
      { LD_PRELOAD: '/usr/lib/libjemalloc.so.2' },
      'skipped',
      'jemalloc is preloaded and has its own settings',
    ],
  ])('with %j is %s', (env, status, found) => {
    expect(check('allocator', env)).toMatchObject({ status, found });
  });
});

it.each<[string, Record<string, string>, string]>([
  ['cuda-cache', {}, 'failed'],
  ['cuda-cache', { CUDA_CACHE_DISABLE: '0' }, 'failed'],
  ['cuda-cache', { CUDA_CACHE_DISABLE: '1' }, 'ok'],
  ['cuda-jit', {}, 'ok'],
  ['cuda-jit', { CUDA_FORCE_PTX_JIT: '0' }, 'ok'],
  ['cuda-jit', { CUDA_FORCE_PTX_JIT: '1' }, 'failed'],
])('%s with %j is %s', (id, env, status) => {
  expect(check(id, env).status).toBe(status);
});

it('fixes variables in the shell of the user', () => {
  expect(check('cuda-jit', { CUDA_FORCE_PTX_JIT: '1' }).fix).toEqual({
    commands: ['unset CUDA_FORCE_PTX_JIT'],
    asUser: true,
    lostAtReboot: true,
  });
});
