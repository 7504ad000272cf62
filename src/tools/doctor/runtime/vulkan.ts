import type { Provider } from '../../../live/device.js';
import type { Check, Fix } from '../check.js';
import type { Host } from '../host.js';
import { advise, checked, type Question, skipped } from '../verdict.js';

/** Loaded by webgpu by this name. */
const LOADER = 'libvulkan.so.1';
const LIBRARY_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/usr/local/lib',
];
/** Where the loader looks for drivers (https://github.com/KhronosGroup/Vulkan-Loader, LoaderDriverInterface.md). */
const DRIVER_FOLDERS = ['/etc/vulkan/icd.d', '/usr/local/share/vulkan/icd.d', '/usr/share/vulkan/icd.d'];
/** Drivers that compute on the CPU. */
const SOFTWARE = /lvp|lavapipe|llvmpipe|swiftshader/i;

/** What webgpu finds to run on: Linux only, elsewhere it does not go through Vulkan. */
export function vulkanCheck(host: Host, device: Provider): Check {
  const needed = device === 'webgpu';
  const question: Question = {
    id: 'runtime.vulkan',
    title: 'Vulkan driver',
    requiredFor: [],
    wanted: 'a GPU driver',
    why: 'webgpu runs models through it. A software driver computes on the CPU, more slowly than the cpu provider.',
  };
  if (host.platform !== 'linux') return skipped(question, `webgpu does not use Vulkan on ${host.platform}`);
  const drivers = driverNames(host);
  const hardware = drivers.some((name) => !SOFTWARE.test(name)) && hasGpu(host);
  const found = [hasLoader(host) ? null : `no ${LOADER}`, describe(drivers, hardware)]
    .filter((part) => part !== null)
    .join('; ');
  const ok = hasLoader(host) && hardware;
  const fix = hasLoader(host) && !hasGpu(host) ? NO_GPU : INSTALL;
  return ok || needed ? checked(question, ok, found, fix) : skipped(question, found);
}

const INSTALL: Fix = {
  commands: ['apt-get install -y libvulkan1 mesa-vulkan-drivers'],
  asUser: false,
  lostAtReboot: false,
  note: "for NVIDIA the Vulkan driver comes with NVIDIA's own",
};

const NO_GPU = advise('use a machine with a GPU: the kernel shows none in /dev/dri');

function describe(drivers: readonly string[], hardware: boolean): string {
  if (drivers.length === 0) return 'no driver';
  const names = drivers.map((name) => (SOFTWARE.test(name) ? `${name} (software)` : name)).join(', ');
  return hardware || drivers.every((name) => SOFTWARE.test(name)) ? names : `${names}, but no GPU`;
}

function hasLoader({ env, list }: Host): boolean {
  const own = (env.LD_LIBRARY_PATH ?? '').split(':').filter((folder) => folder !== '');
  return [...own, ...LIBRARY_FOLDERS].some((folder) => list(folder).includes(LOADER));
}

/** Libraries that the drivers' manifests name, without folder and ending. */
function driverNames(host: Host): string[] {
  const { env } = host;
  const chosen = env.VK_DRIVER_FILES ?? env.VK_ICD_FILENAMES;
  const files =
    chosen === undefined
      ? DRIVER_FOLDERS.flatMap((folder) => host.list(folder).map((name) => `${folder}/${name}`))
      : chosen.split(':');
  return files
    .filter((file) => file.endsWith('.json'))
    .map((file) => /"library_path"\s*:\s*"([^"]+)"/.exec(host.read(file) ?? '')?.[1])
    .filter((library) => library !== undefined)
    .map((library) => library.replace(/^.*\//, '').replace(/^lib|\.so.*$/g, ''));
}

/** Whether the kernel offers any GPU: Mesa's drivers are installed together, wanted or not. */
function hasGpu({ list }: Host): boolean {
  return (
    list('/dev/dri').some((name) => name.startsWith('renderD')) ||
    list('/dev').some((name) => name === 'nvidia0' || name === 'dxg')
  );
}
