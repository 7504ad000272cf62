import type { Provider } from '../../../live/device.js';
import { type Check, type Fix, ROLES } from '../check.js';
import type { Host } from '../host.js';
import { advise, checked, type Question, skipped } from '../verdict.js';
import { cudaCommand, installCommand } from './install-command.js';
import type { Probe } from './probe.js';

/** Oldest release that escapement is tested on. */
const NODE_WANTED = [20, 19] as const;

/** Whether Node is new enough. */
export function nodeCheck({ nodeVersion }: Host): Check {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const [wantedMajor, wantedMinor] = NODE_WANTED;
  const question: Question = {
    id: 'runtime.node',
    title: 'Node',
    requiredFor: ROLES,
    wanted: `${NODE_WANTED.join('.')} or newer`,
    why: 'Escapement is not tested on older versions.',
  };
  const ok = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  return checked(question, ok, nodeVersion, advise('install a newer version from https://nodejs.org'));
}

/** Whether onnxruntime works, and with which providers; `device` is the one that is needed. */
export function providerChecks(probes: readonly Probe[], device: Provider): Check[] {
  return [onnxruntimeCheck(probes), ...probes.map((probe) => providerCheck(probe, device))];
}

function onnxruntimeCheck(probes: readonly Probe[]): Check {
  const question: Question = {
    id: 'runtime.onnxruntime',
    title: 'onnxruntime',
    requiredFor: ['worker'],
    wanted: 'runs a model',
    why: 'Without it, only simulated devices can be served.',
  };
  const works = probes.find((probe) => probe.outcome === 'runs');
  if (works !== undefined) return checked(question, true, works.onnxruntime);
  const reason = probes.find(({ provider }) => provider === 'cpu');
  return checked(question, false, reason?.outcome === 'fails' ? reason.reason : 'runs nowhere', {
    commands: [installCommand()],
    asUser: true,
    lostAtReboot: false,
  });
}

function providerCheck(probe: Probe, device: Provider): Check {
  const { provider } = probe;
  const needed = provider === device;
  const question: Question = {
    id: `runtime.provider.${provider}`,
    title: `Provider ${provider}`,
    requiredFor: needed ? ['worker'] : [],
    wanted: 'runs a model',
    why: `Required by --device ${provider}.`,
  };
  if (probe.outcome === 'runs')
    return checked(question, true, `runs a model (${Math.round(probe.tookMs)} ms)`);
  // No machine needs all of them.
  return needed ? checked(question, false, probe.reason, FIXES[provider]) : skipped(question, probe.reason);
}

const FIXES: Readonly<Record<Provider, Fix>> = {
  cpu: advise('part of onnxruntime, see above'),
  webgpu: {
    commands: ['apt-get install -y libvulkan1 mesa-vulkan-drivers'],
    asUser: false,
    lostAtReboot: false,
    note: "for NVIDIA the Vulkan driver comes with NVIDIA's own",
  },
  cuda: {
    commands: [cudaCommand()],
    asUser: true,
    lostAtReboot: false,
    note: 'needs Linux x64 with CUDA 12 and cuDNN 9, which have to be installed separately',
  },
  dml: advise('available on Windows only'),
  coreml: advise('available on macOS only'),
};
