import { expect, it } from 'vitest';
import type { Provider } from '../../../../src/live/device.js';
import { find, MAC, type Recorded, read } from '../hosts.js';

function vulkan(recorded: Recorded, device: Provider = 'webgpu') {
  return find(read(recorded, { device }), 'runtime.vulkan');
}

const LOADER = { '/usr/lib/x86_64-linux-gnu/libvulkan.so.1': '' };
const GPU = { '/dev/dri/renderD128': '' };

function drivers(...libraries: string[]): Record<string, string> {
  return Object.fromEntries(
    libraries.map((library) => [
      `/usr/share/vulkan/icd.d/${library}.json`,
      JSON.stringify({ ICD: { api_version: '1.3.0', library_path: `/usr/lib/${library}.so.1` } }),
    ]),
  );
}

it.each<[string, Recorded, string, string]>([
  ['nothing', {}, 'failed', 'no libvulkan.so.1; no driver'],
  ['a loader', { files: LOADER }, 'failed', 'no driver'],
  [
    'a GPU and Mesa',
    { files: { ...LOADER, ...GPU, ...drivers('libvulkan_intel', 'libvulkan_lvp') } },
    'ok',
    'vulkan_intel, vulkan_lvp (software)',
  ],
  [
    'Mesa without a GPU',
    { files: { ...LOADER, ...drivers('libvulkan_intel', 'libvulkan_lvp') } },
    'failed',
    'vulkan_intel, vulkan_lvp (software), but no GPU',
  ],
  [
    'a driver in software that the environment chose, next to a GPU',
    {
      files: {
        '/opt/lib/libvulkan.so.1': '',
        ...GPU,
        ...drivers('libvulkan_intel'),
        '/opt/vk.json': '{"ICD": {"library_path": "./libvk_swiftshader.so", "api_version": "1.0.5"}}',
      },
      env: { VK_ICD_FILENAMES: '/opt/vk.json', LD_LIBRARY_PATH: ':/opt/lib' },
    },
    'failed',
    'vk_swiftshader (software)',
  ],
])('with %s', (_, recorded, status, found) => {
  expect(vulkan(recorded)).toMatchObject({ status, found });
  // Of no importance to other devices.
  expect(vulkan(recorded, 'cpu')).toMatchObject({ status: status === 'ok' ? 'ok' : 'skipped', found });
});

it('advises to install drivers, but not where no GPU is', () => {
  const fix = (files: Record<string, string>) => vulkan({ files }).fix;
  expect(fix(GPU)?.commands).toEqual(['apt-get install -y libvulkan1 mesa-vulkan-drivers']);
  expect(fix(LOADER)?.commands).toEqual([]);
});

it('is skipped where webgpu does not use Vulkan', () => {
  expect(vulkan(MAC).status).toBe('skipped');
});
