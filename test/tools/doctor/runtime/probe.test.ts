import { expect, it } from 'vitest';
import { probeProvider } from '../../../../src/tools/doctor/runtime/probe.js';

it('runs a model on the CPU', async () => {
  expect(await probeProvider('cpu')).toEqual({
    outcome: 'runs',
    provider: 'cpu',
    onnxruntime: expect.stringMatching(/^\d+\.\d+\.\d+/),
    tookMs: expect.any(Number),
  });
});

it('runs a model on webgpu or says why not', async () => {
  const probe = await probeProvider('webgpu');
  if (probe.outcome === 'fails') expect(probe.reason).toMatch(/\S/);
  expect(probe.provider).toBe('webgpu');
});

it('gives up on a provider that does not answer', async () => {
  expect(await probeProvider('cpu', 1)).toEqual({
    outcome: 'fails',
    provider: 'cpu',
    reason: 'hangs: no answer in 0.001 s',
  });
});
