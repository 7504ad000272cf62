import { expect, it, test } from 'vitest';
import { profileFileName, settingFlags } from '../../src/config/onnx-model.js';
import { DEFAULT_SESSION, type OrtDeviceSpec, type SessionSettings } from '../../src/live/device.js';

const CPU: OrtDeviceSpec = { kind: 'cpu', adapter: 0, session: DEFAULT_SESSION };
const named = (session: Partial<SessionSettings>, device: Partial<OrtDeviceSpec> = {}) =>
  profileFileName({ ...CPU, ...device, session: { ...DEFAULT_SESSION, ...session } });

it.each([
  ['profile.cpu.json', {}, {}],
  ['profile.cpu-4.json', { intraOpThreads: 4 }, {}],
  ['profile.cpu-2-inter3.json', { intraOpThreads: 2, interOpThreads: 3 }, {}],
  ['profile.cpu-3-on2+3~4.json', { intraOpThreads: 3, affinity: '2;3-4' }, {}],
  ['profile.cpu-noarena-nopattern.json', { arena: false, memoryPattern: false }, {}],
  ['profile.webgpu.json', { intraOpThreads: 4 }, { kind: 'webgpu' }],
  ['profile.webgpu-lazyRelease.json', { storageBufferCache: 'lazyRelease' }, { kind: 'webgpu' }],
  ['profile.cuda-1.json', { arena: false, storageBufferCache: 'simple' }, { kind: 'cuda', adapter: 1 }],
  ['profile.cuda-nopattern.json', { memoryPattern: false }, { kind: 'cuda' }],
] as const)('%s is the profile of these settings only', (name, session, device) => {
  expect(named(session, device)).toBe(name);
});

test('settings that do not change how long an INFER takes share a profile', () => {
  expect(named({ laneThreads: 1 })).toBe(named({}));
});

test('the command that measures names what is not the default', () => {
  expect(settingFlags(DEFAULT_SESSION)).toBe('');
  expect(settingFlags({ ...DEFAULT_SESSION, intraOpThreads: 2, affinity: '2', arena: false })).toBe(
    " --set 'runtime.intraOpThreads=2' --set 'runtime.affinity=2' --set 'runtime.arena=false'",
  );
});
