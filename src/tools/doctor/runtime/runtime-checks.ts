import { createRequire } from 'node:module';
import type { Provider } from '../../../live/device.js';
import { quoted } from '../../../report/reproduce.js';
import { advise, asRoot, asUser, type Check, type Fix, judge, type Row } from '../check.js';
import type { Probe } from './probe.js';

/** Checks of onnxruntime and its providers from their trials; `device` is the required one. */
export function providerChecks(probes: readonly Probe[], device: Provider): Check[] {
  return [
    ...judge([ONNXRUNTIME], probes),
    ...probes.flatMap((probe) => judge([providerRow(probe, device)], probe)),
  ];
}

const ONNXRUNTIME: Row<readonly Probe[]> = {
  id: 'runtime.onnxruntime',
  title: 'onnxruntime',
  requiredFor: ['worker'],
  wanted: 'runs a model',
  why: 'Without it, only simulated devices can be served.',
  read: (probes) => {
    const works = probes.find((probe) => probe.outcome === 'runs');
    if (works !== undefined) return { ok: true, found: works.onnxruntime };
    const onCpu = probes.find(({ provider }) => provider === 'cpu');
    return {
      ok: false,
      found: onCpu?.outcome === 'fails' ? onCpu.reason : 'runs nowhere',
      fix: INSTALL,
    };
  },
};

function providerRow({ provider }: Probe, device: Provider): Row<Probe> {
  const isNeeded = provider === device;
  return {
    id: `runtime.provider.${provider}`,
    title: `Provider ${provider}`,
    requiredFor: isNeeded ? ['worker'] : [],
    wanted: 'runs a model',
    why: `Required by --device ${provider}.`,
    read: (probe) => {
      if (probe.outcome === 'runs')
        return { ok: true, found: `runs a model (${Math.round(probe.tookMs)} ms)` };
      // No machine needs all of them.
      return isNeeded ? { ok: false, found: probe.reason, fix: FIXES[provider] } : probe.reason;
    },
  };
}

// Not as a command: in another folder, it would change another project.
const INSTALL = advise(
  'where escapement is installed: npm install --ignore-scripts onnxruntime-node, with --global if it is global; in a checkout: npm ci',
);

const FIXES: Readonly<Record<Provider, Fix>> = {
  cpu: advise('part of onnxruntime, see above'),
  webgpu: asRoot(
    ['apt-get install -y libvulkan1 mesa-vulkan-drivers'],
    "for NVIDIA the Vulkan driver comes with NVIDIA's own",
  ),
  cuda: cudaFix(),
  dml: advise('available on Windows only'),
  coreml: advise('available on macOS only'),
};

/** Not through npm, which runs the script only if the project allows it, and reports success if it does not. */
function cudaFix(): Fix {
  try {
    const script = createRequire(import.meta.url).resolve('onnxruntime-node/script/install.js');
    return asUser(
      `ONNXRUNTIME_NODE_INSTALL=cuda12 node ${quoted(script)}`,
      'needs Linux x64 with CUDA 12 and cuDNN 9, which have to be installed separately',
    );
  } catch {
    return INSTALL;
  }
}
