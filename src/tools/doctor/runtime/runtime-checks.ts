import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Provider } from '../../../live/device.js';
import { quoted } from '../../../report/reproduce.js';
import { advise, asRoot, type Check, type Fix, judge, ROLES, type Row } from '../check.js';
import type { Machine } from '../host.js';
import type { Probe } from './probe.js';

const ONNXRUNTIME_NODE = 'onnxruntime-node';
const MODULES = `${sep}node_modules${sep}`;
const CHECKOUT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/[\\/]$/, '');

/** Oldest release on which escapement is tested. */
const NODE_WANTED = [20, 19] as const;

export const NODE: Row<Machine> = {
  id: 'runtime.node',
  title: 'Node',
  requiredFor: ROLES,
  wanted: `${NODE_WANTED.join('.')} or newer`,
  why: 'Escapement is not tested on older versions.',
  read: ({ host }) => {
    const [major = 0, minor = 0] = host.nodeVersion.split('.').map(Number);
    return {
      ok: major > NODE_WANTED[0] || (major === NODE_WANTED[0] && minor >= NODE_WANTED[1]),
      found: host.nodeVersion,
      fix: advise('install a newer version from https://nodejs.org'),
    };
  },
};

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
      fix: asUser(installCommand()),
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

const VULKAN = asRoot(
  ['apt-get install -y libvulkan1 mesa-vulkan-drivers'],
  "for NVIDIA the Vulkan driver comes with NVIDIA's own",
);

const FIXES: Readonly<Record<Provider, Fix>> = {
  cpu: advise('part of onnxruntime, see above'),
  webgpu: VULKAN,
  cuda: asUser(
    cudaCommand(),
    'needs Linux x64 with CUDA 12 and cuDNN 9, which have to be installed separately',
  ),
  dml: advise('available on Windows only'),
  coreml: advise('available on macOS only'),
};

function asUser(command: string, note?: string): Fix {
  return { ...asRoot([command], note), asUser: true };
}

/**
 * Command that installs onnxruntime where escapement finds it, without its install script: that script only downloads
 * the CUDA libraries, and fails without a network. `modulePath` is a file of this package.
 */
export function installCommand(modulePath = fileURLToPath(import.meta.url)): string {
  const at = modulePath.indexOf(MODULES);
  if (at < 0) return `npm --prefix ${quoted(CHECKOUT)} ci`;
  const folder = modulePath.slice(0, at);
  // A global installation has no package.json above it.
  const where = existsSync(join(folder, 'package.json')) ? `--prefix ${quoted(folder)}` : '--global';
  return `npm ${where} install --ignore-scripts ${ONNXRUNTIME_NODE}`;
}

/**
 * Command that downloads the libraries of onnxruntime's CUDA provider: its install script. Not through npm, which runs
 * it only if the project allows that, and reports success if it does not.
 */
function cudaCommand(): string {
  try {
    const script = createRequire(import.meta.url).resolve(`${ONNXRUNTIME_NODE}/script/install.js`);
    return `ONNXRUNTIME_NODE_INSTALL=cuda12 node ${quoted(script)}`;
  } catch {
    return installCommand();
  }
}
