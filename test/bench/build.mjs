import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/*
 * Bundles the repository's benchmarks, its swarm of experiments and its conformance test into out/bench, one file each, which import the
 * package from dist: `npm run build` comes first. A machine that only runs them needs dist, experiments, node_modules and
 * out/bench.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OUT = join(ROOT, 'out/bench');

const srcIsDist = {
  name: 'src is dist',
  setup({ onResolve }) {
    onResolve({ filter: /\/src\// }, ({ path, resolveDir }) => {
      const compiled = join(ROOT, 'dist', relative(join(ROOT, 'src'), join(resolveDir, path)));
      return { path: relative(OUT, compiled), external: true };
    });
  },
};

await build({
  entryPoints: {
    main: join(ROOT, 'test/bench/main.ts'),
    live: join(ROOT, 'test/bench/live/main.ts'),
    'hostile-child': join(ROOT, 'test/bench/live/hostile/child.ts'),
    swarm: join(ROOT, 'test/swarm/main.ts'),
    'swarm-bugs': join(ROOT, 'test/swarm/seeded-bugs/main.ts'),
    conform: join(ROOT, 'test/conform/main.ts'),
    'gpu-check': join(ROOT, 'test/bench/live/gpu-check.ts'),
  },
  outdir: OUT,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'es2023',
  sourcemap: true,
  logLevel: 'warning',
  plugins: [srcIsDist],
});
