import { describe, expect, it } from 'vitest';
import { GIB } from '../../../../src/base/units.js';
import type { Check } from '../../../../src/tools/doctor/check.js';
import { gpuChecks, throttleReasons } from '../../../../src/tools/doctor/gpu/gpu-checks.js';
import { always, type GENERATIONS, recorded } from './recorded.js';

const WISHES = { cacheBytes: null, cudaWanted: false };

describe('GPUs of several driver generations', () => {
  it('535: an A100 set up as it should be next to one divided into MIG instances', async () => {
    const checks = await checksOf('535-a100', 16 * GIB);
    expect(lines(checks)).toEqual([
      'ok gpu.driver: driver 535.183.01, 2 × NVIDIA A100-SXM4-40GB',
      'ok gpu.persistence: Enabled',
      'failed gpu.compute-mode: GPU 0: Exclusive_Process; GPU 1: Default → nvidia-smi -i 1 -c EXCLUSIVE_PROCESS',
      'failed gpu.clocks-locked: GPU 0: 1410 of at most 1410 MHz; GPU 1: 210 of at most 1410 MHz → nvidia-smi -i 1 -lgc 1410,1410',
      'ok gpu.throttle: idle',
      'ok gpu.memory: GPU 0: 39.39GiB free of 40GiB; GPU 1: divided into MIG instances',
      'ok gpu.processes: none',
    ]);
    // Its application clock is 1095 MHz, so models would run slower than measured.
    expect(find(checks, 'gpu.clocks-locked').requiredFor).toEqual(['worker']);
  });

  it('595: a consumer GPU, whose application clocks are gone: locking them is required', async () => {
    const checks = await checksOf('595-rtx', 8 * GIB);
    expect(failuresOf(checks)).toEqual([
      'failed gpu.persistence: Disabled → nvidia-smi -i 0 -pm 1',
      'failed gpu.compute-mode: Default → nvidia-smi -i 0 -c EXCLUSIVE_PROCESS',
      'failed gpu.clocks-locked: 465 of at most 3090 MHz → nvidia-smi -i 0 -lgc 3090,3090',
    ]);
    expect(find(checks, 'gpu.clocks-locked').requiredFor).toEqual(['worker']);
  });
});

describe('throttle reasons', () => {
  it('are the bits in words', () => {
    expect(throttleReasons(0n)).toEqual([]);
    expect(throttleReasons(0x1ffn)).toEqual([
      'idle',
      'applications clocks setting',
      'software power cap',
      'hardware slowdown',
      'sync boost',
      'software thermal slowdown',
      'hardware thermal slowdown',
      'hardware power brake',
      'display clock setting',
    ]);
    expect(throttleReasons(0x8000000000000001n)).toEqual(['idle', 'unknown (0x8000000000000000)']);
  });

  it('that are not known yet are no harmless ones', async () => {
    expect(await throttleOf('0x0000000000000400')).toEqual(['failed', 'unknown (0x400)']);
    expect(await throttleOf('0x0000000000000003')).toEqual(['ok', 'idle, applications clocks setting']);
    expect(await throttleOf('[N/A]')).toEqual(['skipped', 'nvidia-smi says: N/A']);
    expect(await throttleOf('Active')).toEqual(['skipped', 'nvidia-smi says: Active']);
  });
});

describe('a driver that does not answer', () => {
  it.each([
    [{ kind: 'timed-out', limitMs: 5000 }, /^reboot/],
    [
      { kind: 'failed', status: 2, message: 'Field "compute_cap" is not a valid field to query.' },
      /^update the driver to 535 or newer$/,
    ],
    [
      { kind: 'failed', status: 18, message: 'Failed to initialize NVML: Driver/library version mismatch' },
      /^reboot: the driver was updated/,
    ],
  ] as const)('is fixed as the answer says: %j', async (outcome, note) => {
    const [check] = await gpuChecks({ ...WISHES, run: always(outcome) });
    expect(check?.fix?.note).toMatch(note);
  });

  it.each([
    [{ kind: 'missing' }, 'no nvidia-smi: this machine has no NVIDIA driver'],
    [{ kind: 'timed-out', limitMs: 5000 }, 'nvidia-smi did not answer within 5 s'],
    [
      { kind: 'failed', status: 18, message: 'Failed to initialize NVML: Driver/library version mismatch' },
      'nvidia-smi failed: Failed to initialize NVML: Driver/library version mismatch (exit status 18)',
    ],
    [{ kind: 'ok', stdout: 'No devices were found\n' }, 'a driver, but no GPU'],
    [{ kind: 'ok', stdout: '\u0000\u001b[2J\u0007junk\n' }, 'nvidia-smi printed: ??[2J?junk'],
  ] as const)('is one failed check where CUDA is wanted: %j', async (outcome, found) => {
    const checks = await gpuChecks({ cacheBytes: GIB, cudaWanted: true, run: always(outcome) });
    expect(lines(checks)).toEqual([`failed gpu.driver: ${found}`]);
    expect(checks[0]?.requiredFor).toEqual(['worker']);
  });

  it('to one question only costs the checks that need it', async () => {
    const { run } = recorded('580-h200');
    const checks = await gpuChecks({
      ...WISHES,
      run: (args) =>
        args[0]?.startsWith('--query-gpu') ? run(args) : always({ kind: 'timed-out', limitMs: 5000 })(args),
    });
    const notReported = checks.filter(({ status }) => status === 'skipped').map(({ id }) => id);
    expect(notReported).toEqual(['gpu.clocks-locked', 'gpu.processes']);
  });
});

async function checksOf(
  generation: (typeof GENERATIONS)[number],
  cacheBytes: number | null,
): Promise<Check[]> {
  return gpuChecks({ run: recorded(generation).run, cacheBytes, cudaWanted: true });
}

/** The check of a GPU whose mask of reasons is that. */
async function throttleOf(mask: string): Promise<[string, string]> {
  const { status, found } = find(await changed(IDLE, mask), 'gpu.throttle');
  return [status, found];
}

/** The mask of an idle GPU, as recorded. */
const IDLE = '0x0000000000000001';

/** Checks of recorded GPUs with another text in nvidia-smi's answers. */
async function changed(
  from: string,
  to: string,
  generation: (typeof GENERATIONS)[number] = '580-h200',
): Promise<Check[]> {
  const { run } = recorded(generation);
  return gpuChecks({
    ...WISHES,
    run: async (args) => {
      const outcome = await run(args);
      return outcome.kind === 'ok' ? { kind: 'ok', stdout: outcome.stdout.replace(from, to) } : outcome;
    },
  });
}

function find(checks: readonly Check[], id: string): Check {
  const check = checks.find((one) => one.id === id);
  if (check === undefined) throw new Error(`no check ${id}`);
  return check;
}

function failuresOf(checks: readonly Check[]): string[] {
  return lines(checks.filter(({ status }) => status === 'failed'));
}

/** `status id: found → commands` of each. */
function lines(checks: readonly Check[]): string[] {
  return checks.map(({ status, id, found, fix }) =>
    [`${status} ${id}: ${found}`, ...(fix?.commands ?? [])].join(' → '),
  );
}
