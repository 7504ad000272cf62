import { describe, expect, it } from 'vitest';
import { DEFAULT_SESSION, type OrtDeviceSpec, type SessionSettings } from '../../../src/live/device.js';
import { openSession, sessionOptions } from '../../../src/live/ort/open-session.js';
import { smallestModel } from '../../../src/live/ort/warm-up.js';

const LEVEL = { level: 'disabled' } as const;

function device(session: Partial<SessionSettings>, kind: OrtDeviceSpec['kind'] = 'cpu'): OrtDeviceSpec {
  return { kind, adapter: 0, session: { ...DEFAULT_SESSION, ...session } };
}

describe('settings in the words of onnxruntime', () => {
  it('are one thread, with arena and memory pattern, by default', () => {
    expect(sessionOptions(device({}), LEVEL)).toEqual({
      executionProviders: ['cpu'],
      executionMode: 'sequential',
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      enableCpuMemArena: true,
      enableMemPattern: true,
      graphOptimizationLevel: 'disabled',
      logSeverityLevel: 4,
      extra: { session: {} },
    });
  });

  it.each([
    [{ intraOpThreads: 3 }, { intraOpNumThreads: 3, executionMode: 'sequential' }],
    [{ interOpThreads: 2 }, { interOpNumThreads: 2, executionMode: 'parallel' }],
    [{ arena: false }, { enableCpuMemArena: false }],
    [{ memoryPattern: false }, { enableMemPattern: false }],
  ])('%j', (session, options) => {
    expect(sessionOptions(device(session), LEVEL)).toMatchObject(options);
  });

  it('reach the provider that they are for', () => {
    expect(sessionOptions(device({ storageBufferCache: 'simple' }, 'webgpu'), LEVEL)).toMatchObject({
      executionProviders: [{ name: 'webgpu', storageBufferCacheMode: 'simple' }],
      extra: { session: { disable_cpu_ep_fallback: '1' } },
    });
    expect(sessionOptions({ ...device({}, 'cuda'), adapter: 2 }, LEVEL)).toMatchObject({
      executionProviders: [{ name: 'cuda', deviceId: 2 }],
      extra: { session: { disable_cpu_ep_fallback: '1', use_device_allocator_for_initializers: '1' } },
    });
  });
});

describe('onnxruntime', () => {
  const opened = async (session: Partial<SessionSettings>) =>
    (await openSession(smallestModel(), device(session), LEVEL)).release();

  it('takes all of them', async () => {
    const all = { intraOpThreads: 2, interOpThreads: 2, arena: false, memoryPattern: false };
    await expect(opened(all)).resolves.toBeUndefined();
  });
});
