import type { Provider } from '../../live/device.js';
import { type Check, type Mend, ROLES } from '../check.js';
import type { Host } from '../host.js';
import { advise, judged, type Question, skipped } from '../verdict.js';
import type { Probe } from './probe.js';
import { rebuildCommand } from './rebuild.js';

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
    why: 'Escapement is not tested on older ones.',
  };
  const ok = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  return judged(question, ok, nodeVersion, advise('install a newer one from https://nodejs.org'));
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
    why: 'Nothing but simulated devices can be served without it.',
  };
  const works = probes.find((probe) => probe.outcome === 'runs');
  if (works !== undefined) return judged(question, true, works.onnxruntime);
  const reason = probes.find(({ provider }) => provider === 'cpu');
  return judged(question, false, reason?.outcome === 'fails' ? reason.reason : 'runs nowhere', {
    commands: [rebuildCommand()],
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
    why: `Models cannot run on --device ${provider} otherwise.`,
  };
  if (probe.outcome === 'runs')
    return judged(question, true, `runs a model (${Math.round(probe.tookMs)} ms)`);
  // Nobody needs all of them.
  return needed ? judged(question, false, probe.reason, MENDS[provider]) : skipped(question, probe.reason);
}

const MENDS: Readonly<Record<Provider, Mend>> = {
  cpu: advise('it comes with onnxruntime, see above'),
  webgpu: {
    commands: ['apt-get install -y libvulkan1 mesa-vulkan-drivers'],
    asUser: false,
    lostAtReboot: false,
    note: "for NVIDIA the Vulkan driver comes with NVIDIA's own",
  },
  cuda: {
    commands: [rebuildCommand('ONNXRUNTIME_NODE_INSTALL=cuda12')],
    asUser: true,
    lostAtReboot: false,
    note: 'on Linux x64 with CUDA 12 and cuDNN 9, which are not part of it',
  },
  dml: advise('it is there on Windows only'),
  coreml: advise('it is there on macOS only'),
};
