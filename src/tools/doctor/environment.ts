import type { Check, Fix } from './check.js';
import type { Host } from './host.js';
import { checked, type Question, skipped } from './verdict.js';

/** The largest block that glibc takes from a heap that it shares between threads; larger ones are mapped. */
const MMAP_THRESHOLD = 131_072;
const OTHER_ALLOCATORS = /jemalloc|tcmalloc|mimalloc/;

/** Variables that must be set before the process starts. `cudaWanted`: it is to run on CUDA, or could. */
export function environmentChecks(host: Host, cudaWanted: boolean): Check[] {
  return [allocator(host), cudaCache(host, cudaWanted), cudaJit(host, cudaWanted)];
}

/** An NVIDIA driver is loaded. */
export function hasCudaDriver(host: Host): boolean {
  return host.read('/proc/driver/nvidia/version') !== null;
}

function allocator(host: Host): Check {
  const question: Question = {
    id: 'environment.allocator',
    title: 'Allocator returns memory',
    requiredFor: ['worker'],
    wanted: `MALLOC_MMAP_THRESHOLD_=${MMAP_THRESHOLD} MALLOC_TRIM_THRESHOLD_=0`,
    why: "glibc otherwise keeps what an unloaded model took, and the process grows until the machine's memory is gone.",
  };
  const { LD_PRELOAD = '', MALLOC_MMAP_THRESHOLD_: mmap, MALLOC_TRIM_THRESHOLD_: trim } = host.env;
  if (!host.isGlibc) return skipped(question, 'a glibc setting, and this system does not use glibc');
  const other = OTHER_ALLOCATORS.exec(LD_PRELOAD)?.[0];
  if (other !== undefined) return skipped(question, `${other} is preloaded and has its own settings`);
  const ok = mmap !== undefined && Number(mmap) <= MMAP_THRESHOLD && trim !== undefined && Number(trim) === 0;
  const found =
    mmap === undefined && trim === undefined
      ? 'neither is set'
      : `${assignment('MALLOC_MMAP_THRESHOLD_', mmap)} ${assignment('MALLOC_TRIM_THRESHOLD_', trim)}`;
  return checked(question, ok, found, inShell(`export ${question.wanted}`));
}

function cudaCache(host: Host, cudaWanted: boolean): Check {
  const question: Question = {
    id: 'environment.cuda-cache',
    title: 'CUDA does not cache compiled kernels on disk',
    requiredFor: [],
    wanted: 'CUDA_CACHE_DISABLE=1',
    why: 'Otherwise the first runs of a model depend on what other processes left in ~/.nv.',
  };
  if (!cudaWanted) return skipped(question, NO_CUDA);
  const { CUDA_CACHE_DISABLE: value } = host.env;
  const fix = inShell('export CUDA_CACHE_DISABLE=1');
  return checked(question, value === '1', assignment('CUDA_CACHE_DISABLE', value), fix);
}

function cudaJit(host: Host, cudaWanted: boolean): Check {
  const question: Question = {
    id: 'environment.cuda-jit',
    title: 'CUDA uses precompiled kernels',
    requiredFor: ['worker'],
    wanted: 'CUDA_FORCE_PTX_JIT is not set',
    why: 'If it is set, the driver recompiles each kernel at its first use, in the middle of a LOAD or INFER.',
  };
  if (!cudaWanted) return skipped(question, NO_CUDA);
  const { CUDA_FORCE_PTX_JIT: value } = host.env;
  const ok = value === undefined || value === '' || value === '0';
  return checked(question, ok, assignment('CUDA_FORCE_PTX_JIT', value), inShell('unset CUDA_FORCE_PTX_JIT'));
}

const NO_CUDA = 'no NVIDIA driver is loaded, and --device is not cuda';

function assignment(name: string, value: string | undefined): string {
  return value === undefined ? `${name} is not set` : `${name}=${value}`;
}

function inShell(command: string): Fix {
  return { commands: [command], asUser: true, lostAtReboot: true };
}
