import { describe, expect, it } from 'vitest';
import { GIB } from '../../../../src/base/units.js';
import type { Check } from '../../../../src/tools/doctor/check.js';
import { gpuChecks, throttleReasons } from '../../../../src/tools/doctor/gpu/gpu-checks.js';
import type { RunOutcome } from '../../../../src/tools/doctor/gpu/nvidia-smi.js';
import { always, GENERATIONS, recorded } from './recorded.js';

const WISHES = { cacheBytes: null, cudaWanted: false };

describe('GPUs of several driver generations', () => {
  it('535: an A100 set up as it should be next to one divided into MIG instances', async () => {
    const checks = await checksOf('535-a100', 16 * GIB);
    expect(failuresOf(checks, 'gpu.0.')).toEqual([]);
    expect(lines(checks)).toContain(
      'ok gpu.0.clocks-locked: 1410 MHz while idle → nvidia-smi -i 0 -lgc 1410,1410',
    );
    expect(lines(checks)).toContain('skipped gpu.1.memory: divided into MIG instances');
    expect(failuresOf(checks, 'gpu.1.')).toEqual([
      'failed gpu.1.compute-mode: Default → nvidia-smi -i 1 -c EXCLUSIVE_PROCESS',
      'failed gpu.1.mig: Enabled → nvidia-smi -i 1 -mig 0',
      'failed gpu.1.application-clocks: memory 1215 MHz, graphics 1095 MHz → nvidia-smi -i 1 -ac 1215,1410',
      'failed gpu.1.clocks-locked: 210 MHz while idle → nvidia-smi -i 1 -lgc 1410,1410',
    ]);
  });

  it('550: an H100 in use and too hot', async () => {
    const checks = await checksOf('550-h100', 40 * GIB);
    expect(failuresOf(checks, 'gpu.')).toEqual([
      'failed gpu.0.compute-mode: Default → nvidia-smi -i 0 -c EXCLUSIVE_PROCESS',
      'failed gpu.0.throttle: hardware slowdown, software thermal slowdown, hardware thermal slowdown',
      'failed gpu.0.memory: 9.18GiB free of 79.65GiB',
      'failed gpu.0.processes: 4182 /usr/bin/node',
    ]);
    expect(lines(checks)).toContain(
      'skipped gpu.0.clocks-locked: 1275 MHz, but the GPU is in use: check again when it is idle',
    );
  });

  it('580: an H200 as it comes', async () => {
    const checks = await checksOf('580-h200', 100 * GIB);
    expect(failuresOf(checks, 'gpu.')).toEqual([
      'failed gpu.0.compute-mode: Default → nvidia-smi -i 0 -c EXCLUSIVE_PROCESS',
      'failed gpu.0.clocks-locked: 345 MHz while idle → nvidia-smi -i 0 -lgc 1980,1980',
    ]);
    expect(find(checks, 'gpu.0.clocks-locked').requiredFor).toEqual([]);
  });

  it('595: a consumer GPU without ECC, whose application clocks are gone: locking them is required', async () => {
    const checks = await checksOf('595-rtx', 8 * GIB);
    expect(lines(checks).slice(1)).toEqual([
      'failed gpu.0.persistence: Disabled → nvidia-smi -i 0 -pm 1',
      'failed gpu.0.compute-mode: Default → nvidia-smi -i 0 -c EXCLUSIVE_PROCESS',
      'skipped gpu.0.application-clocks: cannot be set (nvidia-smi says: Requested functionality has been ' +
        'deprecated): lock the clocks instead',
      'failed gpu.0.clocks-locked: 465 MHz while idle → nvidia-smi -i 0 -lgc 3090,3090',
      'ok gpu.0.throttle: idle',
      'skipped gpu.0.ecc: nvidia-smi says: N/A',
      'ok gpu.0.memory: 15.24GiB free of 15.93GiB',
      'ok gpu.0.processes: none',
    ]);
    expect(find(checks, 'gpu.0.clocks-locked').requiredFor).toEqual(['worker']);
  });

  it.each(GENERATIONS)('%s: fixes what failed, and says what a reboot undoes', async (generation) => {
    for (const check of await checksOf(generation, null)) {
      if (check.status === 'skipped') expect(check.fix).toBeNull();
      if (check.fix === null || check.fix.commands.length === 0) continue;
      expect(check.fix.lostAtReboot).toBe(!check.id.endsWith('.mig'));
    }
  });
});

it('knows which settings that are well a reboot would undo, and which are as the GPU came', async () => {
  const lost = async (generation: (typeof GENERATIONS)[number], gpu: number) =>
    (await checksOf(generation, null))
      .filter(({ id, status, fix }) => id.startsWith(`gpu.${gpu}.`) && status === 'ok' && fix !== null)
      .map(({ id }) => id.slice(6));
  expect(await lost('535-a100', 0)).toEqual([
    'persistence',
    'compute-mode',
    'application-clocks',
    'clocks-locked',
  ]);
  expect(await lost('580-h200', 0)).toEqual(['persistence']);
});

describe('memory', () => {
  it('is only reported where no weights cache is configured', async () => {
    const { status, found } = find(await checksOf('580-h200', null), 'gpu.0.memory');
    expect([status, found]).toEqual([
      'skipped',
      '139.81GiB free of 140.4GiB; no weights cache is configured',
    ]);
  });
});

describe('what no command fixes', () => {
  it('is reported in words', async () => {
    const noteOf = (checks: readonly Check[], id: string) => find(checks, id).fix?.note;
    const corrupt = await changed(['Enabled, 0, 0,', 'Enabled, 12, 2,']);
    expect(lines([find(corrupt, 'gpu.0.ecc')])).toEqual([
      'failed gpu.0.ecc: on, 12 corrected and 2 uncorrected errors since the driver was loaded',
    ]);
    expect(noteOf(corrupt, 'gpu.0.ecc')).toMatch(/^reboot, .* replace/);
    expect(noteOf(await checksOf('550-h100', null), 'gpu.0.throttle')).toMatch(/cooling/);
    const unknown = {
      kind: 'failed',
      status: 2,
      message: 'Field "compute_cap" is not a valid field to query.',
    };
    const outdated = await gpuChecks({ ...WISHES, run: always(unknown as RunOutcome) });
    expect(noteOf(outdated, 'gpu.driver')).toBe('update the driver to 535 or newer');
    const message = 'Failed to initialize NVML: Driver/library version mismatch';
    const old = await gpuChecks({ ...WISHES, run: always({ kind: 'failed', status: 18, message }) });
    expect(noteOf(old, 'gpu.driver')).toMatch(/^reboot: the driver was updated/);
  });
});

it('sees clocks below the highest, old generations, caps of power and other processes', async () => {
  const low = await changed(['1980, 3201, 1980, 3201,', '1312, 3201, 1312, 3201,']);
  expect(failuresOf(low, 'gpu.0.application')).toEqual([
    'failed gpu.0.application-clocks: memory 3201 MHz, graphics 1312 MHz → nvidia-smi -i 0 -ac 3201,1980',
  ]);
  const pascal = await changed([' 9.0,', ' 6.1,']);
  expect(find(pascal, 'gpu.0.clocks-locked').found).toBe('needs a GPU of the Volta generation or newer');
  const capped = await changed([IDLE, '0x0000000000000004'], ['700.00, 700.00', '500.00, 700.00']);
  expect(failuresOf(capped, 'gpu.0.throttle')).toEqual([
    'failed gpu.0.throttle: software power cap → nvidia-smi -i 0 -pl 700',
  ]);
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
  it('is nothing to worry about where there is none and none is wanted', async () => {
    const [check] = await gpuChecks({ ...WISHES, run: always({ kind: 'missing' }) });
    expect(lines([check as Check])).toEqual([
      'skipped gpu.driver: no nvidia-smi: this machine has no NVIDIA driver',
    ]);
  });

  it('is fixed by a restart where it hangs', async () => {
    const [check] = await gpuChecks({ ...WISHES, run: always({ kind: 'timed-out', limitMs: 5000 }) });
    expect(check?.fix?.note).toMatch(/^reboot/);
  });

  it.each([
    [{ kind: 'missing' }, 'no nvidia-smi: this machine has no NVIDIA driver'],
    [{ kind: 'timed-out', limitMs: 5000 }, 'nvidia-smi did not answer within 5 s'],
    [
      { kind: 'failed', status: 18, message: 'Failed to initialize NVML: Driver/library version mismatch' },
      'nvidia-smi failed: Failed to initialize NVML: Driver/library version mismatch (exit status 18)',
    ],
    [{ kind: 'failed', status: null, message: 'spawn EACCES' }, 'nvidia-smi failed: spawn EACCES'],
    [{ kind: 'failed', status: 1, message: '' }, 'nvidia-smi failed: no message (exit status 1)'],
    [{ kind: 'ok', stdout: 'No devices were found\n' }, 'a driver, but no GPU'],
    [{ kind: 'ok', stdout: '' }, 'nvidia-smi printed nothing'],
    [
      { kind: 'ok', stdout: '\n<html><body>502</body></html>\n' },
      'nvidia-smi printed: <html><body>502</body></html>',
    ],
    [{ kind: 'ok', stdout: '\u0000\u001b[2J\u0007junk\n' }, 'nvidia-smi printed: ??[2J?junk'],
    [{ kind: 'ok', stdout: '0, GPU-1, Tesla T4\n' }, 'nvidia-smi printed: 0, GPU-1, Tesla T4'],
  ] as const)('is one failed check where CUDA is wanted: %j', async (outcome, found) => {
    const checks = await gpuChecks({ cacheBytes: GIB, cudaWanted: true, run: always(outcome) });
    expect(lines(checks)).toEqual([`failed gpu.driver: ${found}`]);
    expect(checks[0]?.requiredFor).toEqual(['worker']);
  });

  it('because it is not loaded can be loaded', async () => {
    const message = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
    const [check] = await gpuChecks({ ...WISHES, run: always({ kind: 'failed', status: 9, message }) });
    expect(lines([check as Check])).toEqual([
      `failed gpu.driver: nvidia-smi failed: ${message} (exit status 9) → modprobe nvidia`,
    ]);
  });

  it('to one question only costs the checks that need it', async () => {
    const { run } = recorded('580-h200');
    const checks = await gpuChecks({
      ...WISHES,
      run: (args) =>
        args[0]?.startsWith('--query-gpu') ? run(args) : always({ kind: 'timed-out', limitMs: 5000 })(args),
    });
    const notReported = checks.filter(({ status }) => status === 'skipped').map(({ id }) => id);
    expect(notReported).toEqual([
      'gpu.0.application-clocks',
      'gpu.0.clocks-locked',
      'gpu.0.memory',
      'gpu.0.processes',
    ]);
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
  const { status, found } = find(await changed([IDLE, mask]), 'gpu.0.throttle');
  return [status, found];
}

/** The mask of an idle GPU, as recorded. */
const IDLE = '0x0000000000000001';

/** Checks of the recorded H200 with other texts in nvidia-smi's answers. */
async function changed(...changes: readonly (readonly [string, string])[]): Promise<Check[]> {
  const { run } = recorded('580-h200');
  return gpuChecks({
    ...WISHES,
    run: async (args) => {
      const outcome = await run(args);
      if (outcome.kind !== 'ok') return outcome;
      const stdout = changes.reduce((text, [from, to]) => text.replace(from, to), outcome.stdout);
      return { kind: 'ok', stdout };
    },
  });
}

function find(checks: readonly Check[], id: string): Check {
  const check = checks.find((one) => one.id === id);
  if (check === undefined) throw new Error(`no check ${id}`);
  return check;
}

function failuresOf(checks: readonly Check[], prefix: string): string[] {
  return lines(checks.filter(({ id, status }) => id.startsWith(prefix) && status === 'failed'));
}

/** `status id: found → commands` of each. */
function lines(checks: readonly Check[]): string[] {
  return checks.map(({ status, id, found, fix }) =>
    [`${status} ${id}: ${found}`, ...(fix?.commands ?? [])].join(' → '),
  );
}
